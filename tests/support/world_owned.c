/* The things that a test has opened, and their end after the test. */
#include "world.h"

#include "world_private.h"

typedef struct {
    world_kind kind;
    void *thing;
} property;

/* Any thread may open and close: callbacks free locks. */
static struct {
    pthread_mutex_t lock;
    property *all;
    size_t count;
} owned = {.lock = PTHREAD_MUTEX_INITIALIZER};

void world_own(world_kind kind, void *thing) {
    pthread_mutex_lock(&owned.lock);
    owned.all = test_grow(owned.all, owned.count, sizeof *owned.all);
    owned.all[owned.count++] = (property){kind, thing};
    pthread_mutex_unlock(&owned.lock);
}

/* The caller holds the lock. */
static void remove_owned(size_t index) {
    owned.count--;
    memmove(&owned.all[index], &owned.all[index + 1], (owned.count - index) * sizeof *owned.all);
}

void world_disown(const void *thing) {
    pthread_mutex_lock(&owned.lock);
    size_t i = owned.count;
    while (i > 0 && owned.all[i - 1].thing != thing)
        i--;
    if (i > 0)
        remove_owned(i - 1);
    pthread_mutex_unlock(&owned.lock);
}

/* Takes the one that was opened last; NULL: there is none. */
static void *take_owned(world_kind kind) {
    void *thing = NULL;
    pthread_mutex_lock(&owned.lock);
    size_t i = owned.count;
    while (i > 0 && owned.all[i - 1].kind != kind)
        i--;
    if (i > 0) {
        thing = owned.all[i - 1].thing;
        remove_owned(i - 1);
    }
    pthread_mutex_unlock(&owned.lock);
    return thing;
}

/* The command is as redisFormatCommand() has made it. */
static void undo(char *command) {
    redisReply *reply = NULL;
    redisAppendFormattedCommand(probe, command, strlen(command));
    redisGetReply(probe, (void **)&reply);
    freeReplyObject(reply);
    redisFreeCommand(command);
}

static void close_owned(world_kind kind, void *thing) {
    switch (kind) {
    case WORLD_CALL:
        end_call(thing);
        break;
    case WORLD_LOCK:
        lk_lock_free(thing);
        break;
    case WORLD_CLIENT:
        lk_close(thing);
        break;
    case WORLD_INFO:
        lk_info_free(thing);
        break;
    case WORLD_REPLY:
        freeReplyObject(thing);
        break;
    case WORLD_TEXT:
        free(thing);
        break;
    case WORLD_UNDO:
        undo(thing);
        break;
    case WORLD_PROXY:
        proxy_stop(thing);
        break;
    case WORLD_FAKE:
        fake_server_stop(thing);
        break;
    case WORLD_CONNECTION:
        redisFree(thing);
        break;
    case WORLD_SERVER:
        test_server_stop(thing);
        break;
    case WORLD_KINDS:
        break;
    }
}

static void close_kind(world_kind kind) {
    for (void *thing; (thing = take_owned(kind));)
        close_owned(kind, thing);
}

static bool owns_any(world_kind kind) {
    bool found = false;
    for (size_t i = 0; i < owned.count; i++)
        found = found || owned.all[i].kind == kind;
    return found;
}

/* Ends what a failed test has done to the server and the network. */
static void end_harm(void) {
    if (server) /* it may not have started */
        kill(test_server_pid(server), SIGCONT);
    for (size_t i = 0; i < owned.count; i++) {
        if (owned.all[i].kind == WORLD_PROXY) {
            proxy_refuse(owned.all[i].thing, false);
            proxy_resume(owned.all[i].thing, PROXY_ALL, PROXY_BOTH);
        }
    }
}

static void (*before_closing)(void), (*after_closing)(void);

void run_before_closing(void (*run)(void)) {
    before_closing = run;
}

void run_after_closing(void (*run)(void)) {
    after_closing = run;
}

static void run_once(void (**run)(void)) {
    void (*now)(void) = *run;
    *run = NULL;
    if (now)
        now();
}

/* Calls run on only when a test has failed: closing the clients ends them. */
__attribute__((noinline)) static void close_all_owned(void) {
    end_harm();
    run_once(&before_closing);
    if (owns_any(WORLD_CALL))
        close_kind(WORLD_CLIENT);
    for (world_kind kind = 0; kind < WORLD_KINDS; kind++)
        close_kind(kind);
    actor_kill_all();
    run_once(&after_closing);
    free(owned.all);
    owned.all = NULL;
}

HAS_ROOM int world_close(void **state) {
    volatile char room[ROOM_FOR_CMOCKA + ROOM_FOR_TEST];
    (void)state;
    room[0] = 0;
    close_all_owned();
    return room[0];
}

char *world_print(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    world_own(WORLD_TEXT, text);
    return text;
}
