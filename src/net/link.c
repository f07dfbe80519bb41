/* See link.h. */
#include "net/link.h"

#include "base/clock.h"
#include "net/connection.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

lk_status lki_link_init(lki_link *link, pthread_mutex_t *monitor, lki_link_events events,
                        lki_error *error) {
    *link = (lki_link){.monitor = monitor, .events = events};
    link->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (link->kick < 0)
        return lki_error_set(error, LK_NOMEM, "no file descriptor is left: %s", strerror(errno));
    return LK_OK;
}

void lki_link_free(lki_link *link) {
    assert(!link->connection && !link->sleepers && !link->kept && !link->watched);
    if (link->kick >= 0)
        close(link->kick);
    link->kick = -1;
}

bool lki_link_is_up(const lki_link *link) {
    return link->connection;
}

lk_status lki_link_attach(lki_link *link, lki_transport *transport) {
    assert(!link->connection);
    link->connection = lki_connection_new(transport);
    if (!link->connection)
        return LK_NOMEM;
    link->unread_since_us = lki_now_us();
    return LK_OK;
}

/* ------------------------------------------------------------------------------ callers */

void lki_caller_init(lki_caller *caller) {
    pthread_condattr_t attributes;
    *caller = (lki_caller){.kick = -1};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&caller->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

void lki_caller_clear(lki_caller *caller) {
    pthread_cond_destroy(&caller->wake);
}

void lki_caller_notify(lki_caller *caller) {
    static const uint64_t one = 1;
    if (caller->asleep)
        pthread_cond_signal(&caller->wake);
    else if (caller->kick >= 0 && write(caller->kick, &one, sizeof one) < 0)
        return; /* EAGAIN: the eventfd is already readable */
}

/*
 * Condition variables do not support CLOCK_BOOTTIME. If the machine was suspended, this returns too
 * late, so the caller must read the clock again.
 */
void lki_caller_sleep(lki_caller *caller, pthread_mutex_t *monitor, int64_t until_us) {
    caller->asleep = true;
    if (until_us == LKI_NEVER) {
        pthread_cond_wait(&caller->wake, monitor);
    } else {
        struct timespec end;
        int64_t left_us = until_us - lki_now_us();
        clock_gettime(CLOCK_MONOTONIC, &end);
        left_us = left_us < 0 ? 0 : left_us;
        end.tv_sec += (time_t)(left_us / 1000000);
        end.tv_nsec += (long)(left_us % 1000000) * 1000;
        if (end.tv_nsec >= 1000000000) {
            end.tv_sec++;
            end.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&caller->wake, monitor, &end);
    }
    caller->asleep = false;
}

/* ------------------------------------------------------------------------------ the driver */

static bool is_driven(const lki_connection *connection) {
    return connection->keeper_drives || connection->driver;
}

/* A sleeper that still needs a driver, or NULL. */
static lki_caller *find_waiting_sleeper(const lki_link *link) {
    lki_caller *caller = link->sleepers;
    while (caller && (caller->done || caller->recheck))
        caller = caller->next;
    return caller;
}

/* After the driver has left: makes a sleeping caller the next one, or else tells the keeper. */
static void hand_over(lki_link *link) {
    lki_connection *connection = link->connection;
    if (!connection || is_driven(connection))
        return;
    lki_caller *next = find_waiting_sleeper(link);
    if (next) {
        lki_caller_notify(next);
    } else if (connection->first || link->events.push) {
        link->unread_since_us = lki_now_us();
        link->events.unread(link->events.context);
    }
}

static void wake_sleepers(lki_link *link) {
    for (lki_caller *caller = link->sleepers; caller; caller = caller->next)
        lki_caller_notify(caller);
}

/* ------------------------------------------------------------------------------ the end */

static void complete_as_lost(lki_connection *connection) {
    while (connection->first) {
        lki_request *request = connection->first;
        connection->first = request->next;
        request->on_way = false;
        request->complete(request, NULL);
    }
    connection->last = NULL;
}

void lki_link_break(lki_link *link, const lki_error *error) {
    lki_connection *connection = link->connection;
    if (!connection)
        return;
    link->connection = NULL;
    connection->broken = true;
    lki_transport_interrupt(connection->transport);
    if (connection->driver)
        lki_caller_notify(connection->driver);
    wake_sleepers(link);
    complete_as_lost(connection);
    lki_connection_release(connection);
    link->events.broken(link->events.context, error);
}

void lki_link_close_after_fork(lki_link *link) {
    if (link->connection)
        lki_transport_close_after_fork(link->connection->transport);
    close(link->kick);
}

/* ------------------------------------------------------------------------------ writing */

lki_bytes *lki_link_begin(lki_link *link) {
    link->connection->request_start = link->connection->out.length;
    return &link->connection->out;
}

lk_status lki_link_commit(lki_link *link, lki_request *request, int64_t now_us) {
    lki_connection *connection = link->connection;
    if (connection->out.failed) {
        lki_bytes_cut(&connection->out, connection->request_start);
        return LK_NOMEM;
    }
    request->next = NULL;
    request->on_way = true;
    request->sent_us = now_us;
    if (connection->last)
        connection->last->next = request;
    else
        connection->first = request;
    connection->last = request;
    return LK_OK;
}

static bool has_output(const lki_connection *connection) {
    return connection->piece_sent < connection->piece.length || connection->out.length;
}

/* When a piece is written, the output that was committed meanwhile becomes the next piece. */
static void take_output(lki_connection *connection) {
    if (connection->piece_sent < connection->piece.length)
        return;
    lki_bytes written = connection->piece;
    connection->piece = connection->out;
    lki_bytes_cut(&written, 0);
    connection->out = written;
    connection->piece_sent = 0;
}

/* The driver then also waits for room in the socket, and writes the rest. */
static void tell_driver_of_output(lki_link *link, lki_connection *connection) {
    if (connection->driver)
        lki_caller_notify(connection->driver);
    else if (connection->keeper_drives)
        link->events.full(link->events.context);
}

void lki_link_flush(lki_link *link) {
    lki_connection *connection = link->connection;
    if (!connection || connection->writing || !has_output(connection))
        return;
    lki_error error;
    ssize_t sent = 0;
    connection->writing = true;
    connection->users++;
    while (!connection->broken && has_output(connection)) {
        take_output(connection);
        const char *bytes = connection->piece.data + connection->piece_sent;
        size_t length = connection->piece.length - connection->piece_sent;
        pthread_mutex_unlock(link->monitor);
        sent = lki_transport_write(connection->transport, bytes, length, &error);
        pthread_mutex_lock(link->monitor);
        if (sent < 0)
            break;
        connection->piece_sent += (size_t)sent;
    }
    connection->writing = false;
    if (sent == LKI_WOULD_BLOCK)
        tell_driver_of_output(link, connection);
    if (sent == LKI_BROKEN && !connection->broken)
        lki_link_break(link, &error);
    lki_connection_release(connection);
}

/* ------------------------------------------------------------------------------ reading */

bool lki_link_has_requests(const lki_link *link) {
    return link->connection && link->connection->first;
}

bool lki_link_has_output(const lki_link *link) {
    return link->connection && has_output(link->connection);
}

int64_t lki_link_silent_since_us(const lki_link *link) {
    if (!lki_link_has_requests(link))
        return LKI_NEVER;
    int64_t sent_us = link->connection->first->sent_us, answered_us = link->connection->answered_us;
    return sent_us > answered_us ? sent_us : answered_us;
}

int64_t lki_link_answered_us(const lki_link *link) {
    return link->connection ? link->connection->answered_us : 0;
}

int64_t lki_link_answered_sent_us(const lki_link *link) {
    return link->connection ? link->connection->answered_sent_us : 0;
}

/* sunsubscribe: the slot of a channel has moved to another node. */
static bool is_push(const redisReply *reply) {
    static const char *const kinds[] = {"message", "smessage", "sunsubscribe"};
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(reply->element[0]->str, kinds[i]) == 0)
            return true;
    return false;
}

static void deliver(lki_link *link, const redisReply *reply) {
    lki_connection *connection = link->connection;
    connection->answered_us = lki_now_us();
    if (link->events.push && is_push(reply)) {
        link->events.push(link->events.context, reply);
        return;
    }
    lki_request *request = connection->first;
    if (!request) {
        lki_error error;
        lki_error_set(&error, LK_INTERNAL, "the server sent a reply to no request");
        lki_link_break(link, &error);
        return;
    }
    connection->first = request->next;
    if (!connection->first)
        connection->last = NULL;
    connection->answered_sent_us = request->sent_us;
    request->on_way = false;
    request->complete(request, reply);
}

/* A completion may break the link; then the remaining replies are dropped. */
static void deliver_all(lki_link *link, lki_connection *connection, redisReply *replies[],
                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!connection->broken)
            deliver(link, replies[i]);
        freeReplyObject(replies[i]);
    }
    if (count)
        link->events.delivered(link->events.context);
}

/* One read, as the driver; releases the monitor. */
static void read_once(lki_link *link, lki_connection *connection, bool patiently) {
    redisReply *replies[LKI_REPLIES_MOST];
    size_t count;
    lki_error error;
    pthread_mutex_unlock(link->monitor);
    lki_read_result result = lki_connection_read(connection, patiently, replies, &count, &error);
    pthread_mutex_lock(link->monitor);
    deliver_all(link, connection, replies, count);
    while (count == LKI_REPLIES_MOST && !connection->broken) {
        lki_error unreadable;
        if (!lki_connection_parse(connection, replies, &count, &unreadable)) {
            result = LKI_READ_BROKEN;
            error = unreadable;
        }
        deliver_all(link, connection, replies, count);
    }
    if (result == LKI_READ_BROKEN && !connection->broken)
        lki_link_break(link, &error);
}

static short events_to_wait_for(const lki_connection *connection) {
    short events = lki_transport_events(connection->transport, false);
    if (!connection->writing && has_output(connection))
        events |= lki_transport_events(connection->transport, true);
    return events;
}

static void clear_kick(int kick) {
    uint64_t count;
    while (read(kick, &count, sizeof count) > 0) {}
}

/*
 * Whether the read itself may wait, for up to LKI_PATIENCE_MS, instead of poll(2). A kick does not
 * end that wait, so it is allowed only if a reply is on its way, or, on a link with pushes, in the
 * first round: a push often comes soon or not for a long time.
 */
static bool may_read_patiently(const lki_link *link, const lki_connection *connection, bool first,
                               int64_t until_us) {
    bool is_reply_near = link->events.push ? first : connection->first != NULL;
    return is_reply_near && !has_output(connection) &&
           lki_transport_is_patient(connection->transport) &&
           until_us > lki_after_ms(lki_now_us(), LKI_PATIENCE_MS);
}

/* One wait and one read of a caller that drives. */
static void drive_once(lki_link *link, lki_connection *connection, lki_caller *caller, bool first,
                       int64_t until_us) {
    if (may_read_patiently(link, connection, first, until_us)) {
        read_once(link, connection, true);
        lki_link_flush(link);
        return;
    }
    struct pollfd polled[2] = {
        {lki_transport_fd(connection->transport), events_to_wait_for(connection), 0},
        {link->kick, POLLIN, 0}};
    /* This may include POLLOUT: TLS may have to write first, or bytes were put back. */
    int to_read = lki_transport_events(connection->transport, false) | POLLERR | POLLHUP;
    caller->kick = link->kick;
    pthread_mutex_unlock(link->monitor);
    int ready = poll(polled, 2, lki_poll_ms(until_us));
    pthread_mutex_lock(link->monitor);
    caller->kick = -1;
    if (ready > 0 && polled[1].revents)
        clear_kick(link->kick);
    if (ready > 0 && polled[0].revents && !connection->broken) {
        if (polled[0].revents & to_read)
            read_once(link, connection, false);
        lki_link_flush(link);
    }
}

static bool must_wait(const lki_caller *caller, int64_t until_us) {
    return !caller->done && !caller->recheck && lki_now_us() < until_us;
}

static void drive(lki_link *link, lki_caller *caller, int64_t until_us) {
    lki_connection *connection = link->connection;
    connection->driver = caller;
    connection->users++;
    lki_link_flush(link);
    for (bool first = true; !connection->broken && must_wait(caller, until_us); first = false)
        drive_once(link, connection, caller, first, until_us);
    connection->driver = NULL;
    lki_connection_release(connection);
}

static void sleep_among_others(lki_link *link, lki_caller *caller, int64_t until_us) {
    if (link->connection->keeper_drives && link->events.push)
        link->events.relieve(link->events.context);
    caller->previous = NULL;
    caller->next = link->sleepers;
    if (caller->next)
        caller->next->previous = caller;
    link->sleepers = caller;
    lki_caller_sleep(caller, link->monitor, until_us);
    if (caller->previous)
        caller->previous->next = caller->next;
    else
        link->sleepers = caller->next;
    if (caller->next)
        caller->next->previous = caller->previous;
}

void lki_link_wait(lki_link *link, lki_caller *caller, int64_t until_us) {
    lki_link_flush(link);
    while (link->connection && must_wait(caller, until_us)) {
        if (is_driven(link->connection))
            sleep_among_others(link, caller, until_us);
        else
            drive(link, caller, until_us);
    }
    hand_over(link);
}

/* ------------------------------------------------------------------------------ the keeper */

bool lki_link_has_sleepers(const lki_link *link) {
    return find_waiting_sleeper(link);
}

/*
 * The keeper polls without the monitor. As a user of the connection, it keeps the descriptor from
 * being closed meanwhile.
 */
static void release_kept(lki_link *link) {
    lki_connection *connection = link->kept;
    if (!connection)
        return;
    link->kept = NULL;
    connection->keeper_drives = false;
    lki_connection_release(connection);
}

bool lki_link_keeper_take(lki_link *link) {
    lki_connection *connection = link->connection;
    if (link->kept && link->kept == connection)
        return true;
    release_kept(link);
    if (!connection || is_driven(connection) || find_waiting_sleeper(link))
        return false;
    link->kept = connection;
    connection->keeper_drives = true;
    connection->users++;
    return true;
}

void lki_link_keeper_leave(lki_link *link) {
    if (!link->kept)
        return;
    release_kept(link);
    hand_over(link);
}

int lki_link_keeper_fd(const lki_link *link, short *events) {
    if (!link->kept || link->kept != link->connection)
        return -1;
    *events = events_to_wait_for(link->kept);
    return lki_transport_fd(link->kept->transport);
}

void lki_link_keeper_read(lki_link *link) {
    lki_connection *connection = link->kept;
    if (!connection || connection != link->connection)
        return;
    read_once(link, connection, false);
    if (!connection->broken)
        lki_link_flush(link);
}

void lki_link_unwatch(lki_link *link) {
    if (link->watched)
        lki_connection_release(link->watched);
    link->watched = NULL;
}

int lki_link_watch_fd(lki_link *link) {
    lki_link_unwatch(link);
    if (!link->connection || is_driven(link->connection))
        return -1;
    link->watched = link->connection;
    link->watched->users++;
    return lki_transport_fd(link->watched->transport);
}

void lki_link_seems_ended(lki_link *link) {
    if (!link->watched || link->watched != link->connection || !lki_link_keeper_take(link))
        return;
    lki_link_keeper_read(link);
    lki_link_keeper_leave(link);
}
