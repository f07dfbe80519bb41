/*
 * `redis+sentinel://`: one server, the master that the sentinels name. It is another server after a
 * failover. A thread listens to all sentinels: the one that leads the failover knows first.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/resp.h"
#include "topology/sentinel_ask.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECT_MS = 1000,
    PAUSE_MS = 1000, /* before a sentinel is tried again */
    QUIET_MS = 5000  /* without news, the listener makes sure that the sentinels are there */
};

/* A connection to one sentinel. */
typedef struct {
    const lki_endpoint *sentinel;
    lki_talk talk;
    bool is_up, was_asked; /* asked: PING has no answer yet */
    int64_t next_try_us;
    _Atomic int fd; /* for a child after fork(); -1: none */
} ear;

typedef struct {
    lki_topology base;
    lki_seeds seeds;
    pthread_mutex_t mutex; /* protects `master` */
    lki_master master;     /* the last one that was found; host NULL: none yet */
    lki_watcher watcher;
    pthread_t listener;
    bool is_listening; /* the thread exists */
    ear *ears;         /* one for each sentinel */
    struct pollfd *polled;
} sentinels;

/* ------------------------------------------------------------------------------ the master */

static bool is_same(const lki_master *a, const lki_master *b) {
    return a->host && b->host && strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0 &&
           strcmp(a->run_id, b->run_id) == 0;
}

/*
 * Sentinels that were cut off name an earlier master. So an answer with a lower epoch does not
 * count, unless all sentinels agree: then they were set up again.
 */
static bool is_outdated(const sentinels *self, const lki_master *found, bool all_answered) {
    return self->master.host && found->epoch < self->master.epoch && !all_answered;
}

/* Asks, and remembers the answer. *is_new: the master is another one than before. */
static lk_status find_master(sentinels *self, const lki_reach *reach, bool *is_new,
                             lki_error *error) {
    lki_master found = {0};
    bool all_answered;
    lk_status status = lki_sentinels_ask(&self->seeds, reach, &found, &all_answered, error);
    if (status != LK_OK)
        return status;
    pthread_mutex_lock(&self->mutex);
    *is_new = false;
    if (is_outdated(self, &found, all_answered)) {
        status = lki_error_set(error, LK_UNAVAILABLE,
                               "%s: the sentinels that answer know only an earlier master",
                               self->base.shown);
    } else {
        lki_master before = self->master;
        *is_new = before.host && !is_same(&before, &found);
        self->master = found;
        found = before;
    }
    pthread_mutex_unlock(&self->mutex);
    lki_master_clear(&found);
    return status;
}

static lk_status sentinel_locate(lki_topology *topology, size_t server, const lki_reach *reach,
                                 lki_endpoint *out, lki_error *error) {
    (void)server;
    sentinels *self = (sentinels *)topology;
    bool is_new;
    lk_status status = find_master(self, reach, &is_new, error);
    if (status != LK_OK)
        return status;
    pthread_mutex_lock(&self->mutex);
    bool copied = lki_seeds_endpoint(&self->seeds, self->master.host, self->master.port, out);
    pthread_mutex_unlock(&self->mutex);
    return copied ? LK_OK : lki_error_no_memory(error);
}

/* ------------------------------------------------------------------------------ listening */

static lki_reach reach_within(const sentinels *self, int64_t ms) {
    return (lki_reach){self->watcher.tls, lki_after_ms(lki_now_us(), ms), self->watcher.stop_fd};
}

/* Something may have happened: asks all, and tells the session if the master is another one. */
static void look(sentinels *self) {
    lki_reach reach = reach_within(self, CONNECT_MS);
    lki_error error;
    bool is_new = false;
    char run_id[LKI_RUN_ID_LENGTH + 1];
    if (find_master(self, &reach, &is_new, &error) != LK_OK || !is_new)
        return;
    pthread_mutex_lock(&self->mutex);
    memcpy(run_id, self->master.run_id, sizeof run_id);
    pthread_mutex_unlock(&self->mutex);
    self->watcher.moved(self->watcher.context, 0, run_id);
}

static void ear_close(ear *self) {
    if (!self->is_up)
        return;
    self->is_up = false;
    self->next_try_us = lki_after_ms(lki_now_us(), PAUSE_MS);
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

static void ear_open(ear *self, const sentinels *all) {
    lki_reach reach = reach_within(all, CONNECT_MS);
    lki_error error;
    self->is_up = lki_greet_open(self->sentinel, &reach, &self->fd, &self->talk, &error) == LK_OK;
    self->was_asked = false;
    if (self->is_up)
        ear_send(self, "SUBSCRIBE", "+switch-master");
    else
        self->next_try_us = lki_after_ms(lki_now_us(), PAUSE_MS);
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

/* Reads one reply or message, which has begun to arrive. True: it is news of the master. */
static bool ear_hear(ear *self, const sentinels *all) {
    redisReply *reply = NULL;
    lki_error error;
    self->talk.deadline_us = lki_after_ms(lki_now_us(), CONNECT_MS);
    self->talk.heard = self->was_asked = false;
    if (lki_talk_read(&self->talk, &reply, &error) != LK_OK) {
        ear_close(self);
        return true; /* the sentinel may be gone together with the master */
    }
    bool is_news = is_about(all, reply);
    freeReplyObject(reply);
    return is_news;
}

/* A sentinel that did not answer since the last call is given up. */
static void ear_check(ear *self) {
    if (self->is_up && self->was_asked) {
        ear_close(self);
    } else if (self->is_up) {
        self->was_asked = true;
        ear_send(self, "PING", NULL);
    }
}

/* Connects those that are down. True: one of them has news that was missed. */
static bool open_ears(sentinels *self) {
    bool any = false;
    for (size_t i = 0; i < self->seeds.count; i++) {
        ear *one = &self->ears[i];
        if (!one->is_up && lki_now_us() >= one->next_try_us)
            ear_open(one, self);
        else
            continue;
        any = any || one->is_up;
    }
    return any;
}

/* Waits for something to read. False: nothing came in the time. */
static bool await_news(sentinels *self, int wait_ms, bool *is_stopping) {
    size_t count = self->seeds.count;
    for (size_t i = 0; i < count; i++) {
        const ear *one = &self->ears[i];
        self->polled[i] = (struct pollfd){.fd = -1};
        if (one->is_up)
            self->polled[i] = (struct pollfd){lki_transport_fd(one->talk.transport),
                                              lki_transport_events(one->talk.transport, false), 0};
    }
    self->polled[count] = (struct pollfd){self->watcher.stop_fd, POLLIN, 0};
    int ready = poll(self->polled, count + 1, wait_ms);
    *is_stopping = ready > 0 && self->polled[count].revents;
    return ready > 0;
}

static bool hear_all(sentinels *self) {
    bool is_news = false;
    for (size_t i = 0; i < self->seeds.count; i++)
        if (self->polled[i].fd >= 0 && self->polled[i].revents)
            is_news = ear_hear(&self->ears[i], self) || is_news;
    return is_news;
}

static void *listen_to_all(void *context) {
    sentinels *self = context;
    int64_t check_us = lki_after_ms(lki_now_us(), QUIET_MS);
    bool is_stopping = false;
    while (!is_stopping) {
        bool is_news = open_ears(self);
        if (await_news(self, PAUSE_MS, &is_stopping))
            is_news = hear_all(self) || is_news;
        if (!is_stopping && lki_now_us() >= check_us) {
            check_us = lki_after_ms(lki_now_us(), QUIET_MS);
            for (size_t i = 0; i < self->seeds.count; i++)
                ear_check(&self->ears[i]);
            is_news = true; /* a message may have been lost with the sentinel that sent it */
        }
        if (is_news && !is_stopping)
            look(self);
    }
    for (size_t i = 0; i < self->seeds.count; i++)
        ear_close(&self->ears[i]);
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

static void sentinel_close_after_fork(lki_topology *topology) {
    sentinels *self = (sentinels *)topology;
    for (size_t i = 0; i < self->seeds.count; i++) {
        int fd = atomic_load(&self->ears[i].fd);
        if (fd >= 0)
            close(fd);
    }
}

/* ------------------------------------------------------------------------------ the topology */

static void sentinel_close(lki_topology *topology) {
    sentinels *self = (sentinels *)topology;
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
    self->polled = lki_new((self->seeds.count + 1) * sizeof *self->polled);
    if (!self->ears || !self->polled)
        return false;
    for (size_t i = 0; i < self->seeds.count; i++) {
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
                                                 .close_after_fork = sentinel_close_after_fork};
    sentinels *self = lki_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->base.methods = &methods;
    pthread_mutex_init(&self->mutex, NULL);
    lk_status status = lki_seeds_read(url, password, sentinel_password, &self->seeds, error);
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
