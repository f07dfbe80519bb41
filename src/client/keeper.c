/* See keeper.h. */
#include "client/keeper.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "client/client.h"
#include "lock/lock.h"
#include "lock/renewal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { LINES = 2, SLACK_OF_LEASE = 20 };

/* ------------------------------------------------------------------------------ waking it */

void lki_keeper_init(lki_keeper *keeper) {
    *keeper = (lki_keeper){.kick = -1, .timer = -1};
}

void lki_keeper_kick(lk_client *client) {
    static const uint64_t one = 1;
    lki_keeper *keeper = &client->keeper;
    keeper->again = true;
    if (!keeper->asleep)
        return;
    keeper->asleep = false; /* once is enough */
    if (write(keeper->kick, &one, sizeof one) < 0)
        return; /* EAGAIN: it has been kicked already */
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

/* Its alarm is set to an earlier time while it sleeps on: most alarms are never needed. */
void lki_keeper_timer_set(lk_client *client, int64_t due_us) {
    lki_keeper *keeper = &client->keeper;
    if (!keeper->asleep || due_us >= keeper->wakes_us)
        return; /* while it is awake it looks at the timers before it sleeps, anyway */
    keeper->wakes_us = due_us;
    set_timer(keeper->timer, due_us);
}

void lki_keeper_wake_by(lk_client *client, int64_t due_us) {
    lki_keeper *keeper = &client->keeper;
    lki_keeper_timer_set(client, due_us);
    if (due_us < keeper->wanted_us)
        keeper->wanted_us = due_us;
}

/* ------------------------------------------------------------------------------ its work */

static lk_lock *lock_of(lki_timer *timer) {
    return (lk_lock *)(void *)((char *)timer - offsetof(struct lk_lock, timer));
}

static void send_renewals(lk_client *client, lk_lock *due[], int64_t now_us) {
    for (size_t i = 0; i < client->server_count; i++) {
        if (due[i])
            lki_renewals_send(&client->servers[i], due[i], now_us);
        due[i] = NULL;
    }
}

/* Renewals that would be due soon go along with those that are: a full command costs less. */
static bool could_go_along(const lk_lock *lock, int64_t now_us) {
    int64_t slack_us = lock->lease_ms * 1000 / SLACK_OF_LEASE;
    return !lock->waiting && lock->timer.due_us <= now_us + slack_us &&
           lki_lock_renewal_is_due(lock, now_us + slack_us);
}

static void put_down(lk_lock *due[], lk_lock *lock) {
    lock->next_due = due[lock->server->index];
    due[lock->server->index] = lock;
    /* Out of the heap until it is sent, so that the next one comes to the top. */
    lki_timers_set(&lock->client->timers, &lock->timer, LKI_NEVER);
}

static void run_timers(lk_client *client, lk_lock *due[], int64_t now_us) {
    bool any = false;
    lki_timer *timer;
    while ((timer = lki_timers_first(&client->timers))) {
        lk_lock *lock = lock_of(timer);
        if (timer->due_us <= now_us) {
            if (lki_lock_due(lock, now_us)) {
                put_down(due, lock);
                any = true;
            }
        } else if (any && could_go_along(lock, now_us)) {
            if (lock->renew_us > now_us)
                lock->renew_us = now_us;
            put_down(due, lock);
        } else {
            break;
        }
    }
    send_renewals(client, due, now_us);
}

/* Before anything is said to have run out: a late keeper may find that it was renewed. */
static void read_answers(lk_client *client, int64_t now_us) {
    const lki_timer *timer = lki_timers_first(&client->timers);
    if (!timer || timer->due_us > now_us)
        return;
    for (size_t i = 0; i < client->server_count; i++) {
        lki_link *link = &client->servers[i].commands.link;
        if (lki_link_has_requests(link) && lki_link_keeper_take(link))
            lki_link_keeper_read(link);
    }
}

static int64_t work(lk_client *client, lk_lock *due[]) {
    lki_keeper *keeper = &client->keeper;
    int64_t now_us = lki_now_us(), next_us = LKI_NEVER;
    keeper->again = false;
    keeper->wanted_us = LKI_NEVER;
    read_answers(client, now_us);
    run_timers(client, due, now_us);
    for (size_t i = 0; i < client->server_count; i++) {
        int64_t due_us = lki_server_tend(&client->servers[i], now_us);
        next_us = due_us < next_us ? due_us : next_us;
    }
    const lki_timer *timer = lki_timers_first(&client->timers);
    if (timer && timer->due_us < next_us)
        next_us = timer->due_us;
    return keeper->wanted_us < next_us ? keeper->wanted_us : next_us;
}

/* ------------------------------------------------------------------------------ its sleep */

static void drain(int fd) {
    uint64_t count;
    while (read(fd, &count, sizeof count) > 0) {}
}

static lki_link *link_at(lk_client *client, size_t i) {
    lki_server *server = &client->servers[i / LINES];
    return i % LINES ? &server->messages.link : &server->commands.link;
}

/* Waits until something is to be read or done, and reads it; lets go of the monitor. */
static void sleep_until(lk_client *client, struct pollfd *polled, int64_t due_us) {
    lki_keeper *keeper = &client->keeper;
    size_t links = client->server_count * LINES;
    for (size_t i = 0; i < links; i++) {
        lki_link *link = link_at(client, i);
        polled[i] = (struct pollfd){.events = POLLRDHUP};
        int watched = lki_link_watch_fd(link);
        int driven = lki_link_keeper_fd(link, &polled[i].events);
        polled[i].fd = driven >= 0 ? driven : watched;
    }
    polled[links] = (struct pollfd){keeper->kick, POLLIN, 0};
    polled[links + 1] = (struct pollfd){keeper->timer, POLLIN, 0};
    set_timer(keeper->timer, due_us);
    keeper->wakes_us = due_us;
    keeper->asleep = true;
    pthread_mutex_unlock(&client->monitor);
    int ready = poll(polled, links + 2, -1);
    pthread_mutex_lock(&client->monitor);
    keeper->asleep = false;
    if (ready <= 0)
        return;
    drain(keeper->kick);
    if (polled[links + 1].revents)
        drain(keeper->timer);
    for (size_t i = 0; i < links; i++) {
        if (polled[i].fd < 0 || !polled[i].revents)
            continue;
        if (polled[i].events & ~POLLRDHUP)
            lki_link_keeper_read(link_at(client, i));
        else
            lki_link_seems_ended(link_at(client, i));
    }
}

typedef struct {
    lk_client *client;
    struct pollfd *polled;
    lk_lock **due; /* a list for each server */
} keeper_run;

static void *keep(void *context) {
    keeper_run *run = context;
    lk_client *client = run->client;
    pthread_mutex_lock(&client->monitor);
    while (!client->keeper.stop) {
        int64_t due_us = work(client, run->due);
        if (!client->keeper.stop && !client->keeper.again)
            sleep_until(client, run->polled, due_us);
    }
    for (size_t i = 0; i < client->server_count * LINES; i++) {
        lki_link_unwatch(link_at(client, i));
        lki_link_keeper_leave(link_at(client, i));
    }
    pthread_mutex_unlock(&client->monitor);
    lki_free(run->polled);
    lki_free(run->due);
    lki_free(run);
    return NULL;
}

/* ------------------------------------------------------------------------------ its life */

lk_status lki_keeper_start(lk_client *client, lki_error *error) {
    lki_keeper *keeper = &client->keeper;
    keeper->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    keeper->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    keeper_run *run = lki_new(sizeof *run);
    if (run) {
        run->client = client;
        run->polled = lki_new((client->server_count * LINES + 2) * sizeof *run->polled);
        run->due = lki_new(client->server_count * sizeof *run->due);
    }
    if (keeper->kick >= 0 && keeper->timer >= 0 && run && run->polled && run->due &&
        lki_thread_start(&keeper->thread, keep, run)) {
        keeper->running = true;
        return LK_OK;
    }
    if (run) {
        lki_free(run->polled);
        lki_free(run->due);
    }
    lki_free(run);
    return lki_error_set(error, LK_NOMEM, "no thread or descriptor left for the client");
}

void lki_keeper_stop(lk_client *client) {
    lki_keeper *keeper = &client->keeper;
    if (!keeper->running)
        return;
    pthread_mutex_lock(&client->monitor);
    keeper->stop = true;
    lki_keeper_kick(client);
    pthread_mutex_unlock(&client->monitor);
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
