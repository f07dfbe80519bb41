/* See keeper.h. */
#include "session/keeper.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { WIRES = 2, OTHERS = 2 }; /* of a server; descriptors that are polled besides wires */

/* ------------------------------------------------------------------------------ waking */

void lki_keeper_init(lki_keeper *keeper) {
    *keeper = (lki_keeper){.kick = -1, .timer = -1};
}

void lki_keeper_kick(lki_session *session) {
    static const uint64_t one = 1;
    lki_keeper *keeper = &session->keeper;
    keeper->kicked = true;
    if (!keeper->asleep)
        return;
    keeper->asleep = false; /* further kicks need no write */
    if (write(keeper->kick, &one, sizeof one) < 0)
        return; /* EAGAIN: the eventfd is already readable */
}

static void set_timer(int timer, int64_t due_us) {
    struct itimerspec at = {0};
    if (due_us != LKI_NEVER) {
        due_us = due_us > 1 ? due_us : 1;
        at.it_value.tv_sec = (time_t)(due_us / 1000000);
        at.it_value.tv_nsec = (long)(due_us % 1000000) * 1000;
    }
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Moves the timer without waking the keeper: most deadlines are moved again before they come. */
void lki_keeper_due(lki_session *session, int64_t due_us) {
    lki_keeper *keeper = &session->keeper;
    if (!keeper->asleep || due_us >= keeper->wakes_us)
        return; /* while awake, it reads next_due_us() before it sleeps */
    keeper->wakes_us = due_us;
    set_timer(keeper->timer, due_us);
}

void lki_keeper_wake_by(lki_session *session, int64_t due_us) {
    lki_keeper *keeper = &session->keeper;
    lki_keeper_due(session, due_us);
    if (due_us < keeper->wake_by_us)
        keeper->wake_by_us = due_us;
}

/* ------------------------------------------------------------------------------ a round */

/* Before holds are declared lost: if the keeper is late, their renewals may be in the socket. */
static void read_answers(lki_session *session) {
    for (size_t i = 0; i < session->server_count; i++) {
        if (!session->servers[i])
            continue;
        lki_link *link = &session->servers[i]->commands.link;
        if (lki_link_has_requests(link) && lki_link_keeper_take(link))
            lki_link_keeper_read(link);
    }
}

static int64_t earlier(int64_t a_us, int64_t b_us) {
    return a_us < b_us ? a_us : b_us;
}

static int64_t next_due_us(const lki_session *session) {
    return session->events->next_due_us(session->context);
}

/* One round. Returns when to do the next. */
static int64_t work(lki_session *session) {
    lki_keeper *keeper = &session->keeper;
    int64_t now_us = lki_now_us(), next_us = LKI_NEVER;
    keeper->kicked = false;
    keeper->wake_by_us = LKI_NEVER;
    if (next_due_us(session) <= now_us)
        read_answers(session);
    session->events->due(session->context, now_us);
    for (size_t i = 0; i < session->server_count; i++)
        if (session->servers[i])
            next_us = earlier(next_us, lki_server_tend(session->servers[i], now_us));
    return earlier(earlier(next_us, next_due_us(session)), keeper->wake_by_us);
}

/* ------------------------------------------------------------------------------ sleeping */

static void clear(int fd) {
    uint64_t count;
    while (read(fd, &count, sizeof count) > 0) {}
}

/* NULL: no lock has needed that server yet. */
static lki_link *link_at(lki_session *session, size_t i) {
    lki_server *server = session->servers[i / WIRES];
    if (!server)
        return NULL;
    return i % WIRES ? &server->messages.link : &server->commands.link;
}

typedef struct {
    lki_session *session;
    struct pollfd *polled;
    size_t room;
} keeper_run;

/* Returns how many links can be polled: all, unless memory has run out. */
static size_t make_room(keeper_run *run) {
    size_t needed = run->session->server_count * WIRES + OTHERS;
    if (needed > run->room) {
        struct pollfd *polled = lki_resize(run->polled, needed * sizeof *polled);
        if (!polled)
            return run->room - OTHERS;
        run->polled = polled;
        run->room = needed;
    }
    return needed - OTHERS;
}

/* Sleeps until a kick, the timer or a socket, and reads the sockets. Releases the monitor. */
static void sleep_until(keeper_run *run, int64_t due_us) {
    lki_session *session = run->session;
    lki_keeper *keeper = &session->keeper;
    size_t links = make_room(run);
    struct pollfd *polled = run->polled;
    for (size_t i = 0; i < links; i++) {
        lki_link *link = link_at(session, i);
        polled[i] = (struct pollfd){.fd = -1, .events = POLLRDHUP};
        if (!link)
            continue;
        int watched = lki_link_watch_fd(link);
        int driven = lki_link_keeper_fd(link, &polled[i].events);
        polled[i].fd = driven >= 0 ? driven : watched;
    }
    polled[links] = (struct pollfd){keeper->kick, POLLIN, 0};
    polled[links + 1] = (struct pollfd){keeper->timer, POLLIN, 0};
    set_timer(keeper->timer, due_us);
    keeper->wakes_us = due_us;
    keeper->asleep = true;
    pthread_mutex_unlock(&session->monitor);
    int ready = poll(polled, links + OTHERS, -1);
    pthread_mutex_lock(&session->monitor);
    keeper->asleep = false;
    if (ready <= 0)
        return;
    clear(keeper->kick);
    if (polled[links + 1].revents)
        clear(keeper->timer);
    for (size_t i = 0; i < links; i++) {
        if (polled[i].fd < 0 || !polled[i].revents)
            continue;
        if (polled[i].events & ~POLLRDHUP)
            lki_link_keeper_read(link_at(session, i));
        else
            lki_link_seems_ended(link_at(session, i));
    }
}

static void *keep(void *context) {
    keeper_run *run = context;
    lki_session *session = run->session;
    pthread_mutex_lock(&session->monitor);
    while (!session->keeper.stop) {
        int64_t due_us = work(session);
        if (!session->keeper.stop && !session->keeper.kicked)
            sleep_until(run, due_us);
    }
    for (size_t i = 0; i < session->server_count * WIRES; i++) {
        if (!link_at(session, i))
            continue;
        lki_link_unwatch(link_at(session, i));
        lki_link_keeper_leave(link_at(session, i));
    }
    pthread_mutex_unlock(&session->monitor);
    lki_free(run->polled);
    lki_free(run);
    return NULL;
}

/* ------------------------------------------------------------------------------ start and end */

lk_status lki_keeper_start(lki_session *session, lki_error *error) {
    lki_keeper *keeper = &session->keeper;
    keeper->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    keeper->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    keeper_run *run = lki_new(sizeof *run);
    if (run) {
        run->session = session;
        run->room = session->server_count * WIRES + OTHERS;
        run->polled = lki_new(run->room * sizeof *run->polled);
    }
    if (keeper->kick >= 0 && keeper->timer >= 0 && run && run->polled &&
        lki_thread_start(&keeper->thread, keep, run)) {
        keeper->running = true;
        return LK_OK;
    }
    if (run)
        lki_free(run->polled);
    lki_free(run);
    return lki_error_set(error, LK_NOMEM,
                         "cannot start the client's background thread: out of threads, "
                         "file descriptors or memory");
}

void lki_keeper_stop(lki_session *session) {
    lki_keeper *keeper = &session->keeper;
    if (!keeper->running)
        return;
    pthread_mutex_lock(&session->monitor);
    keeper->stop = true;
    lki_keeper_kick(session);
    pthread_mutex_unlock(&session->monitor);
    pthread_join(keeper->thread, NULL);
    keeper->running = false;
}

void lki_keeper_free(lki_keeper *keeper) {
    if (keeper->kick >= 0)
        close(keeper->kick);
    if (keeper->timer >= 0)
        close(keeper->timer);
    lki_keeper_init(keeper);
}
