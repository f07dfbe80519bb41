/*
 * `redis+sentinel://`: one server, the master that the sentinels name. It is another server after a
 * failover. A thread, the listener, listens to all sentinels: the one that leads the failover knows
 * first. A sentinel that is silent delays neither the listener nor a dialer.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/resp.h"
#include "topology/sentinel_ask.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    CONNECT_MS = 1000,
    PAUSE_MS = 1000,    /* before a sentinel is tried again, or the sentinels are asked again */
    QUIET_MS = 5000,    /* without news, the listener makes sure that the sentinels are there */
    OTHERS_MS = 100,    /* how long a dialer waits for the last ones when enough have answered */
    JUST_TOLD_MS = 1000 /* so soon after the listener's news, a dialer need not ask */
};

typedef struct sentinels sentinels;

/*
 *         ear_open              ear_opened
 *   DOWN ──────────▶ OPENING ──────────────▶ UP
 *    ▲                  │ cannot connect      │ ear_close
 *    └──────────────────┴─────────────────────┘
 */
typedef enum { EAR_DOWN, EAR_OPENING, EAR_UP } ear_state;

/* A connection to one sentinel. */
typedef struct {
    const sentinels *all;
    const lki_endpoint *sentinel;
    ear_state state;
    /* While it opens, a thread has `talk`: the listener must not wait for a dead machine. */
    pthread_t opener;
    atomic_bool is_tried; /* the opener has ended */
    bool is_connected;    /* and `talk` is a connection */
    lki_talk talk;
    bool is_new;    /* SUBSCRIBE has no answer yet */
    bool was_asked; /* PING has no answer yet */
    int64_t next_try_us;
    _Atomic int fd; /* for a child after fork(); -1: none */
} ear;

struct sentinels {
    lki_topology base;
    lki_seeds seeds;
    pthread_mutex_t mutex; /* protects the next four */
    lki_master master;     /* the last one that was found; host NULL: none yet */
    int64_t learned_us;    /* when it was first found */
    bool is_moved;         /* the listener has to tell the session of it */
    int64_t told_us;       /* when the listener last did */

    lki_watcher watcher;
    pthread_t listener;
    bool is_listening;        /* the thread exists */
    int changed_fd;           /* an eventfd, readable: an opener has ended, or is_suspected */
    atomic_bool is_suspected; /* the session suspects the master */

    /* The listener's. */
    ear *ears; /* one for each sentinel */
    struct pollfd *polled;
    lki_question *question; /* NULL: none at the moment */
    int64_t asked_us;       /* when the last one began */
    bool asks_now;          /* there is news: ask again, without waiting for the last answers */
    bool asks_again;        /* ask when the question has ended */
};

/* ------------------------------------------------------------------------------ the master */

/* A server that was started again at its address, without a failover, is not another one. */
static bool is_same(const lki_master *a, const lki_master *b) {
    return strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0 &&
           (a->epoch == b->epoch || (*a->run_id && strcmp(a->run_id, b->run_id) == 0));
}

/*
 * Sentinels that were cut off name an earlier master. So an answer with a lower epoch does not
 * count, unless all sentinels agree: then they were set up again. They must have been asked after
 * the known master was found, because two threads ask.
 */
static bool is_outdated(const sentinels *self, const lki_master *found, bool all_agree,
                        int64_t asked_us) {
    return self->master.host && found->epoch < self->master.epoch &&
           (!all_agree || asked_us < self->learned_us);
}

/* Remembers the best answer. */
static lk_status learn(sentinels *self, lki_question *question, lki_error *error) {
    lki_question_counts counts = lki_question_count(question);
    const lki_sentinel_answer *best = lki_question_best(question);
    lki_master found;
    lk_status status = LK_OK;
    if (!best)
        return lki_error_set(error, LK_CANCELED, "%s: asking the sentinels was stopped",
                             self->base.shown);
    if (best->status != LK_OK) {
        *error = best->error;
        return best->status;
    }
    if (!lki_master_copy(&found, &best->master))
        return lki_error_no_memory(error);
    pthread_mutex_lock(&self->mutex);
    if (is_outdated(self, &found, counts.knowing == counts.asked,
                    lki_question_asked_us(question))) {
        status = lki_error_set(error, LK_UNAVAILABLE,
                               "%s: the sentinels that answer know only an earlier master",
                               self->base.shown);
    } else {
        lki_master before = self->master;
        bool is_new = !before.host || !is_same(&before, &found);
        if (is_new)
            self->learned_us = lki_now_us();
        self->is_moved = self->is_moved || (before.host && is_new);
        self->master = found;
        found = before;
    }
    pthread_mutex_unlock(&self->mutex);
    lki_master_clear(&found);
    return status;
}

/* Whether a sentinel knows of a later failover than this client. */
static bool has_news(sentinels *self, const lki_question *question) {
    const lki_sentinel_answer *best = lki_question_best(question);
    pthread_mutex_lock(&self->mutex);
    bool is_later = self->master.host && best && best->status == LK_OK &&
                    best->master.epoch > self->master.epoch;
    pthread_mutex_unlock(&self->mutex);
    return is_later;
}

/*
 * Waits for all sentinels, but not long for the last ones. If one of these knows better, the
 * listener hears of it.
 */
static void await_enough(sentinels *self, lki_question *question) {
    int64_t until_us = LKI_NEVER;
    for (;;) {
        lki_question_counts counts = lki_question_count(question);
        if (counts.ended == counts.asked)
            return;
        bool is_enough = counts.knowing > counts.asked / 2 || has_news(self, question);
        if (is_enough && until_us == LKI_NEVER)
            until_us = lki_after_ms(lki_now_us(), OTHERS_MS);
        if (!lki_question_await(question, until_us))
            return;
    }
}

static lk_status ask(sentinels *self, const lki_reach *reach, lki_error *error) {
    lki_question *question = NULL;
    lk_status status = lki_question_begin(&self->seeds, reach, &question, error);
    if (status != LK_OK)
        return status;
    await_enough(self, question);
    status = learn(self, question, error);
    lki_question_end(question);
    return status;
}

static bool was_just_told(sentinels *self) {
    pthread_mutex_lock(&self->mutex);
    bool was = self->told_us && lki_now_us() < lki_after_ms(self->told_us, JUST_TOLD_MS);
    pthread_mutex_unlock(&self->mutex);
    return was;
}

static lk_status sentinel_locate(lki_topology *topology, size_t server, const lki_reach *reach,
                                 lki_endpoint *out, lki_error *error) {
    (void)server;
    sentinels *self = (sentinels *)topology;
    lk_status status = was_just_told(self) ? LK_OK : ask(self, reach, error);
    if (status != LK_OK)
        return status;
    pthread_mutex_lock(&self->mutex);
    bool copied = lki_seeds_endpoint(&self->seeds, self->master.host, self->master.port, out);
    pthread_mutex_unlock(&self->mutex);
    return copied ? LK_OK : lki_error_no_memory(error);
}

/* ------------------------------------------------------------------------------ one ear */

static lki_reach reach_within(const sentinels *self, int64_t ms) {
    return (lki_reach){self->watcher.tls, lki_after_ms(lki_now_us(), ms), self->watcher.stop_fd};
}

static void try_later(ear *self) {
    self->state = EAR_DOWN;
    self->next_try_us = lki_after_ms(lki_now_us(), PAUSE_MS);
}

static void ear_close(ear *self) {
    if (self->state != EAR_UP)
        return;
    try_later(self);
    atomic_store(&self->fd, -1);
    lki_talk_close(&self->talk);
}

static void ear_send(ear *self, const char *first, const char *second) {
    lki_bytes command = {0};
    lki_error error;
    lki_resp_command(&command, second ? 2 : 1);
    lki_resp_text(&command, first);
    if (second)
        lki_resp_text(&command, second);
    self->talk.deadline_us = lki_after_ms(lki_now_us(), CONNECT_MS);
    if (lki_talk_write(&self->talk, &command, &error) != LK_OK)
        ear_close(self);
    lki_bytes_free(&command);
}

static void *connect_ear(void *context) {
    ear *self = context;
    lki_reach reach = reach_within(self->all, CONNECT_MS);
    lki_error error;
    self->is_connected =
        lki_greet_open(self->sentinel, &reach, &self->fd, &self->talk, &error) == LK_OK;
    atomic_store(&self->is_tried, true);
    eventfd_write(self->all->changed_fd, 1);
    return NULL;
}

static void ear_open(ear *self) {
    atomic_store(&self->is_tried, false);
    self->state = EAR_OPENING;
    if (!lki_thread_start(&self->opener, connect_ear, self))
        try_later(self);
}

/* Takes the connection over. */
static void ear_opened(ear *self) {
    pthread_join(self->opener, NULL);
    try_later(self);
    if (!self->is_connected)
        return;
    self->state = EAR_UP;
    self->is_new = true;
    self->was_asked = false;
    ear_send(self, "SUBSCRIBE", "+switch-master");
}

/* The text is: master old-host old-port new-host new-port. */
static bool is_about(const sentinels *self, const redisReply *reply) {
    size_t length = strlen(self->seeds.master);
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           strcmp(reply->element[0]->str, "message") == 0 &&
           reply->element[2]->type == REDIS_REPLY_STRING &&
           strncmp(reply->element[2]->str, self->seeds.master, length) == 0 &&
           reply->element[2]->str[length] == ' ';
}

/* Reads one reply or message, which has begun to arrive. */
static void ear_hear(ear *self, sentinels *all) {
    redisReply *reply = NULL;
    lki_error error;
    self->talk.deadline_us = lki_after_ms(lki_now_us(), CONNECT_MS);
    self->talk.heard = self->was_asked = false;
    if (lki_talk_read(&self->talk, &reply, &error) != LK_OK) {
        ear_close(self);
        all->asks_now = true; /* the sentinel may be gone together with the master */
        return;
    }
    all->asks_now = all->asks_now || is_about(all, reply);
    all->asks_again = all->asks_again || self->is_new; /* a message may have been missed */
    self->is_new = false;
    freeReplyObject(reply);
}

/* A sentinel that did not answer since the last call is given up. */
static void ear_check(ear *self) {
    if (self->state == EAR_UP && self->was_asked) {
        ear_close(self);
    } else if (self->state == EAR_UP) {
        self->was_asked = true;
        ear_send(self, "PING", NULL);
    }
}

/* ------------------------------------------------------------------------------ the listener */

static void tend_ears(sentinels *self) {
    for (size_t i = 0; i < self->seeds.count; i++) {
        ear *one = &self->ears[i];
        if (one->state == EAR_OPENING && atomic_load(&one->is_tried))
            ear_opened(one);
        if (one->state == EAR_DOWN && lki_now_us() >= one->next_try_us)
            ear_open(one);
    }
}

static void close_ears(sentinels *self) {
    for (size_t i = 0; i < self->seeds.count; i++) {
        if (self->ears[i].state == EAR_OPENING)
            ear_opened(&self->ears[i]);
        ear_close(&self->ears[i]);
    }
}

enum { POLLED_STOP, POLLED_CHANGED, POLLED_QUESTION, POLLED_EARS };

/* Waits for something to read, for up to wait_ms. False: stop. */
static bool await_news(sentinels *self, int wait_ms) {
    size_t count = self->seeds.count;
    struct pollfd *ears = &self->polled[POLLED_EARS];
    int answers_fd = self->question ? lki_question_fd(self->question) : -1;
    self->polled[POLLED_STOP] = (struct pollfd){self->watcher.stop_fd, POLLIN, 0};
    self->polled[POLLED_CHANGED] = (struct pollfd){self->changed_fd, POLLIN, 0};
    self->polled[POLLED_QUESTION] = (struct pollfd){answers_fd, POLLIN, 0};
    for (size_t i = 0; i < count; i++) {
        const ear *one = &self->ears[i];
        ears[i] = (struct pollfd){.fd = -1};
        if (one->state == EAR_UP)
            ears[i] = (struct pollfd){lki_transport_fd(one->talk.transport),
                                      lki_transport_events(one->talk.transport, false), 0};
    }
    if (poll(self->polled, POLLED_EARS + count, wait_ms) <= 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (ears[i].fd >= 0 && ears[i].revents)
            ear_hear(&self->ears[i], self);
    return !self->polled[POLLED_STOP].revents;
}

/* The session may suspect the master all the time: the sentinels are asked once a second. */
static void note_suspicion(sentinels *self) {
    eventfd_t ignored;
    eventfd_read(self->changed_fd, &ignored);
    if (lki_now_us() >= lki_after_ms(self->asked_us, PAUSE_MS) &&
        atomic_exchange(&self->is_suspected, false))
        self->asks_again = true;
}

static void ask_if_needed(sentinels *self) {
    lki_reach reach = reach_within(self, CONNECT_MS);
    lki_error error;
    if (!self->asks_now && (!self->asks_again || self->question))
        return;
    self->asks_now = self->asks_again = false;
    lki_question_end(self->question);
    self->question = NULL;
    self->asked_us = lki_now_us();
    lki_question_begin(&self->seeds, &reach, &self->question, &error); /* LK_NOMEM: later */
}

/*
 * A later epoch counts as soon as one sentinel knows it; all else counts when all have answered.
 * So a silent sentinel delays nothing, and a slow one is heard.
 */
static void take_answers(sentinels *self) {
    lki_error error;
    if (!self->question)
        return;
    lki_question_counts counts = lki_question_count(self->question);
    if (counts.ended == counts.asked || has_news(self, self->question))
        learn(self, self->question, &error);
    if (counts.ended == counts.asked) {
        lki_question_end(self->question);
        self->question = NULL;
    }
}

/* Also if a dialer found the new master first. */
static void tell_if_moved(sentinels *self) {
    char run_id[LKI_RUN_ID_LENGTH + 1];
    pthread_mutex_lock(&self->mutex);
    bool is_moved = self->is_moved;
    self->is_moved = false;
    if (is_moved)
        self->told_us = lki_now_us();
    memcpy(run_id, self->master.run_id, sizeof run_id);
    pthread_mutex_unlock(&self->mutex);
    if (is_moved)
        self->watcher.moved(self->watcher.context, 0, run_id);
}

static void *listen_to_all(void *context) {
    sentinels *self = context;
    int64_t check_us = lki_after_ms(lki_now_us(), QUIET_MS);
    do {
        tend_ears(self);
        note_suspicion(self);
        if (lki_now_us() >= check_us) {
            check_us = lki_after_ms(lki_now_us(), QUIET_MS);
            for (size_t i = 0; i < self->seeds.count; i++)
                ear_check(&self->ears[i]);
            self->asks_again = true; /* a message may have been lost together with its sentinel */
        }
        ask_if_needed(self);
        take_answers(self);
        tell_if_moved(self);
    } while (await_news(self, PAUSE_MS));
    lki_question_end(self->question);
    close_ears(self);
    return NULL;
}

static lk_status sentinel_watch(lki_topology *topology, const lki_watcher *watcher,
                                lki_error *error) {
    sentinels *self = (sentinels *)topology;
    self->watcher = *watcher;
    self->is_listening = lki_thread_start(&self->listener, listen_to_all, self);
    return self->is_listening
               ? LK_OK
               : lki_error_set(error, LK_NOMEM, "cannot start a thread to listen to sentinels");
}

static void sentinel_unwatch(lki_topology *topology) {
    sentinels *self = (sentinels *)topology;
    if (self->is_listening)
        pthread_join(self->listener, NULL);
    self->is_listening = false;
}

static void sentinel_suspect(lki_topology *topology) {
    sentinels *self = (sentinels *)topology;
    atomic_store(&self->is_suspected, true);
    eventfd_write(self->changed_fd, 1);
}

static void sentinel_close_after_fork(lki_topology *topology) {
    sentinels *self = (sentinels *)topology;
    close(self->changed_fd);
    for (size_t i = 0; i < self->seeds.count; i++) {
        int fd = atomic_load(&self->ears[i].fd);
        if (fd >= 0)
            close(fd);
    }
}

/* ------------------------------------------------------------------------------ the topology */

static void sentinel_close(lki_topology *topology) {
    sentinels *self = (sentinels *)topology;
    if (self->changed_fd >= 0)
        close(self->changed_fd);
    lki_free(self->ears);
    lki_free(self->polled);
    lki_seeds_clear(&self->seeds);
    lki_master_clear(&self->master);
    pthread_mutex_destroy(&self->mutex);
    lki_free(self->base.shown);
    lki_free(self);
}

static bool make_ears(sentinels *self) {
    self->ears = lki_new(self->seeds.count * sizeof *self->ears);
    self->polled = lki_new((POLLED_EARS + self->seeds.count) * sizeof *self->polled);
    if (!self->ears || !self->polled)
        return false;
    for (size_t i = 0; i < self->seeds.count; i++) {
        self->ears[i].all = self;
        self->ears[i].sentinel = &self->seeds.seeds[i];
        atomic_store(&self->ears[i].fd, -1);
    }
    return true;
}

static lk_status sentinel_open(const char *url, const char *password, const char *sentinel_password,
                               lki_topology **out, lki_error *error) {
    static const lki_topology_methods methods = {.close = sentinel_close,
                                                 .locate = sentinel_locate,
                                                 .watch = sentinel_watch,
                                                 .unwatch = sentinel_unwatch,
                                                 .suspect = sentinel_suspect,
                                                 .close_after_fork = sentinel_close_after_fork};
    sentinels *self = lki_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->base.methods = &methods;
    pthread_mutex_init(&self->mutex, NULL);
    self->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lk_status status = lki_seeds_read(url, password, sentinel_password, &self->seeds, error);
    if (status == LK_OK && self->changed_fd < 0)
        status = lki_error_set(error, LK_NOMEM, "no file descriptor is left");
    if (status == LK_OK && (!make_ears(self) || !lki_copy_to(&self->base.shown, self->seeds.shown)))
        status = lki_error_no_memory(error);
    if (status == LK_OK)
        *out = &self->base;
    else
        sentinel_close(&self->base);
    return status;
}

static const char *const schemes[] = {"redis+sentinel", "rediss+sentinel", "valkey+sentinel",
                                      "valkeys+sentinel", NULL};
const lki_topology_kind lki_topology_sentinel = {schemes, sentinel_open};
