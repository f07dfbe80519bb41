/* See link.h. */
#include "net/link.h"

#include "base/clock.h"
#include "net/channel.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

lk_status lki_link_init(lki_link *link, pthread_mutex_t *monitor, lki_link_events events,
                        lki_error *error) {
    *link = (lki_link){.monitor = monitor, .events = events};
    link->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (link->kick < 0)
        return lki_error_set(error, LK_NOMEM, "no descriptor left: %s", strerror(errno));
    return LK_OK;
}

void lki_link_free(lki_link *link) {
    assert(!link->channel && !link->sleepers && !link->kept && !link->watched);
    if (link->kick >= 0)
        close(link->kick);
    link->kick = -1;
}

bool lki_link_is_up(const lki_link *link) {
    return link->channel;
}

lk_status lki_link_attach(lki_link *link, lki_transport *transport) {
    assert(!link->channel);
    link->channel = lki_channel_new(transport);
    if (!link->channel)
        return LK_NOMEM;
    link->unread_since_us = lki_now_us();
    return LK_OK;
}

/* ------------------------------------------------------------------------------ who drives */

static bool is_driven(const lki_channel *channel) {
    return channel->keeper || channel->driver;
}

static lki_caller *sleeper_who_waits(const lki_link *link) {
    lki_caller *caller = link->sleepers;
    while (caller && (caller->done || caller->recheck))
        caller = caller->next;
    return caller;
}

/* The driver has left: the reading goes to a caller that sleeps, or else to the keeper. */
static void pass_on(lki_link *link) {
    lki_channel *channel = link->channel;
    if (!channel || is_driven(channel))
        return;
    lki_caller *next = sleeper_who_waits(link);
    if (next) {
        lki_caller_notify(next);
    } else if (channel->first || link->events.push) {
        link->unread_since_us = lki_now_us();
        link->events.unread(link->events.context);
    }
}

static void wake_sleepers(lki_link *link) {
    for (lki_caller *caller = link->sleepers; caller; caller = caller->next)
        lki_caller_notify(caller);
}

/* ------------------------------------------------------------------------------ the end */

static void complete_with_nothing(lki_channel *channel) {
    while (channel->first) {
        lki_request *request = channel->first;
        channel->first = request->next;
        request->on_way = false;
        request->complete(request, NULL);
    }
    channel->last = NULL;
}

void lki_link_break(lki_link *link, const lki_error *error) {
    lki_channel *channel = link->channel;
    if (!channel)
        return;
    link->channel = NULL;
    channel->broken = true;
    lki_transport_interrupt(channel->transport);
    if (channel->driver)
        lki_caller_notify(channel->driver);
    wake_sleepers(link);
    complete_with_nothing(channel);
    lki_channel_release(channel);
    link->events.broken(link->events.context, error);
}

void lki_link_drop(lki_link *link) {
    if (link->channel)
        lki_transport_drop(link->channel->transport);
    close(link->kick);
}

/* ------------------------------------------------------------------------------ writing */

lki_bytes *lki_link_begin(lki_link *link) {
    link->channel->begun = link->channel->out.length;
    return &link->channel->out;
}

lk_status lki_link_commit(lki_link *link, lki_request *request, int64_t now_us) {
    lki_channel *channel = link->channel;
    if (channel->out.failed) {
        lki_bytes_cut(&channel->out, channel->begun);
        return LK_NOMEM;
    }
    request->next = NULL;
    request->on_way = true;
    request->sent_us = now_us;
    if (channel->last)
        channel->last->next = request;
    else
        channel->first = request;
    channel->last = request;
    return LK_OK;
}

static bool has_output(const lki_channel *channel) {
    return channel->rest_sent < channel->rest.length || channel->out.length;
}

/* What was committed while the last piece was written becomes the next piece. */
static void take_output(lki_channel *channel) {
    if (channel->rest_sent < channel->rest.length)
        return;
    lki_bytes written = channel->rest;
    channel->rest = channel->out;
    lki_bytes_cut(&written, 0);
    channel->out = written;
    channel->rest_sent = 0;
}

static void tell_driver(lki_link *link, lki_channel *channel) {
    if (channel->driver)
        lki_caller_notify(channel->driver);
    else if (channel->keeper)
        link->events.full(link->events.context);
}

void lki_link_flush(lki_link *link) {
    lki_channel *channel = link->channel;
    if (!channel || channel->writing || !has_output(channel))
        return;
    lki_error error;
    ssize_t sent = 0;
    channel->writing = true;
    channel->users++;
    while (!channel->broken && has_output(channel)) {
        take_output(channel);
        const char *bytes = channel->rest.data + channel->rest_sent;
        size_t length = channel->rest.length - channel->rest_sent;
        pthread_mutex_unlock(link->monitor);
        sent = lki_transport_write(channel->transport, bytes, length, &error);
        pthread_mutex_lock(link->monitor);
        if (sent < 0)
            break;
        channel->rest_sent += (size_t)sent;
    }
    channel->writing = false;
    if (sent == LKI_WOULD_BLOCK) /* from now on whoever drives waits for room to write, too */
        tell_driver(link, channel);
    if (sent == LKI_BROKEN && !channel->broken)
        lki_link_break(link, &error);
    lki_channel_release(channel);
}

/* ------------------------------------------------------------------------------ reading */

bool lki_link_has_requests(const lki_link *link) {
    return link->channel && link->channel->first;
}

bool lki_link_has_output(const lki_link *link) {
    return link->channel && has_output(link->channel);
}

int64_t lki_link_silent_since_us(const lki_link *link) {
    if (!lki_link_has_requests(link))
        return LKI_NEVER;
    int64_t sent_us = link->channel->first->sent_us, answered_us = link->channel->answered_us;
    return sent_us > answered_us ? sent_us : answered_us;
}

int64_t lki_link_answered_us(const lki_link *link) {
    return link->channel ? link->channel->answered_us : 0;
}

int64_t lki_link_answered_sent_us(const lki_link *link) {
    return link->channel ? link->channel->answered_sent_us : 0;
}

static bool is_push(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           strcmp(reply->element[0]->str, "message") == 0;
}

static void deliver(lki_link *link, const redisReply *reply) {
    lki_channel *channel = link->channel;
    channel->answered_us = lki_now_us();
    if (link->events.push && is_push(reply)) {
        link->events.push(link->events.context, reply);
        return;
    }
    lki_request *request = channel->first;
    if (!request) {
        lki_error error;
        lki_error_set(&error, LK_INTERNAL, "the server answered what nobody asked");
        lki_link_break(link, &error);
        return;
    }
    channel->first = request->next;
    if (!channel->first)
        channel->last = NULL;
    channel->answered_sent_us = request->sent_us;
    request->on_way = false;
    request->complete(request, reply);
}

/* Delivers what has come; a reply may break the link, and the rest is dropped then. */
static void deliver_all(lki_link *link, lki_channel *channel, redisReply *replies[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!channel->broken)
            deliver(link, replies[i]);
        freeReplyObject(replies[i]);
    }
    if (count)
        link->events.delivered(link->events.context);
}

/* One read, as the driver; lets go of the monitor. */
static void read_once(lki_link *link, lki_channel *channel, bool patiently) {
    redisReply *replies[LKI_REPLIES_MOST];
    size_t count;
    lki_error error;
    pthread_mutex_unlock(link->monitor);
    lki_read_result result = lki_channel_read(channel, patiently, replies, &count, &error);
    pthread_mutex_lock(link->monitor);
    deliver_all(link, channel, replies, count);
    while (count == LKI_REPLIES_MOST && !channel->broken) {
        lki_error unreadable;
        if (!lki_channel_parse(channel, replies, &count, &unreadable)) {
            result = LKI_READ_BROKEN;
            error = unreadable;
        }
        deliver_all(link, channel, replies, count);
    }
    if (result == LKI_READ_BROKEN && !channel->broken)
        lki_link_break(link, &error);
}

static short events_to_wait_for(const lki_channel *channel) {
    short events = lki_transport_events(channel->transport, false);
    if (!channel->writing && has_output(channel))
        events |= lki_transport_events(channel->transport, true);
    return events;
}

static void forget_kick(int kick) {
    uint64_t count;
    while (read(kick, &count, sizeof count) > 0) {}
}

/*
 * The read itself may wait where little else can end the wait: an answer is on the way; or a push
 * may be, at the beginning of what may become a long silence. Whatever else happens is seen a
 * little later then. Only the end of the connection ends the read at once.
 */
static bool may_read_patiently(const lki_link *link, const lki_channel *channel, bool first,
                               int64_t until_us) {
    bool is_worth_it = link->events.push ? first : channel->first != NULL;
    return is_worth_it && !has_output(channel) && lki_transport_is_patient(channel->transport) &&
           until_us > lki_after_ms(lki_now_us(), LKI_PATIENCE_MS);
}

/* One wait and one read of a caller that drives. */
static void drive_once(lki_link *link, lki_channel *channel, lki_caller *caller, bool first,
                       int64_t until_us) {
    if (may_read_patiently(link, channel, first, until_us)) {
        read_once(link, channel, true);
        lki_link_flush(link);
        return;
    }
    struct pollfd polled[2] = {
        {lki_transport_fd(channel->transport), events_to_wait_for(channel), 0},
        {link->kick, POLLIN, 0}};
    /* A read may wait for room to write: TLS may have to answer first; or bytes were put back. */
    int to_read = lki_transport_events(channel->transport, false) | POLLERR | POLLHUP;
    caller->kick = link->kick;
    pthread_mutex_unlock(link->monitor);
    int ready = poll(polled, 2, lki_poll_ms(until_us));
    pthread_mutex_lock(link->monitor);
    caller->kick = -1;
    if (ready > 0 && polled[1].revents)
        forget_kick(link->kick);
    if (ready > 0 && polled[0].revents && !channel->broken) {
        if (polled[0].revents & to_read)
            read_once(link, channel, false);
        lki_link_flush(link);
    }
}

static bool must_wait(const lki_caller *caller, int64_t until_us) {
    return !caller->done && !caller->recheck && lki_now_us() < until_us;
}

static void drive(lki_link *link, lki_caller *caller, int64_t until_us) {
    lki_channel *channel = link->channel;
    channel->driver = caller;
    channel->users++;
    lki_link_flush(link);
    for (bool first = true; !channel->broken && must_wait(caller, until_us); first = false)
        drive_once(link, channel, caller, first, until_us);
    channel->driver = NULL;
    lki_channel_release(channel);
}

static void sleep_among_others(lki_link *link, lki_caller *caller, int64_t until_us) {
    if (link->channel->keeper && link->events.push)
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
    while (link->channel && must_wait(caller, until_us)) {
        if (is_driven(link->channel))
            sleep_among_others(link, caller, until_us);
        else
            drive(link, caller, until_us);
    }
    pass_on(link);
}

/* ------------------------------------------------------------------------------ the keeper */

bool lki_link_has_sleepers(const lki_link *link) {
    return sleeper_who_waits(link);
}

/* The keeper polls without the monitor, so it must keep the descriptor from being closed. */
static void let_go_of_kept(lki_link *link) {
    lki_channel *channel = link->kept;
    if (!channel)
        return;
    link->kept = NULL;
    channel->keeper = false;
    lki_channel_release(channel);
}

bool lki_link_keeper_take(lki_link *link) {
    lki_channel *channel = link->channel;
    if (link->kept && link->kept == channel)
        return true;
    let_go_of_kept(link);
    if (!channel || is_driven(channel) || sleeper_who_waits(link))
        return false;
    link->kept = channel;
    channel->keeper = true;
    channel->users++;
    return true;
}

void lki_link_keeper_leave(lki_link *link) {
    if (!link->kept)
        return;
    let_go_of_kept(link);
    pass_on(link);
}

int lki_link_keeper_fd(const lki_link *link, short *events) {
    if (!link->kept || link->kept != link->channel)
        return -1;
    *events = events_to_wait_for(link->kept);
    return lki_transport_fd(link->kept->transport);
}

void lki_link_keeper_read(lki_link *link) {
    lki_channel *channel = link->kept;
    if (!channel || channel != link->channel)
        return;
    read_once(link, channel, false);
    if (!channel->broken)
        lki_link_flush(link);
}

void lki_link_unwatch(lki_link *link) {
    if (link->watched)
        lki_channel_release(link->watched);
    link->watched = NULL;
}

int lki_link_watch_fd(lki_link *link) {
    lki_link_unwatch(link);
    if (!link->channel || is_driven(link->channel))
        return -1;
    link->watched = link->channel;
    link->watched->users++;
    return lki_transport_fd(link->watched->transport);
}

void lki_link_seems_ended(lki_link *link) {
    if (!link->watched || link->watched != link->channel || !lki_link_keeper_take(link))
        return;
    lki_link_keeper_read(link);
    lki_link_keeper_leave(link);
}
