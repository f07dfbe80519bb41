/* See server.h. */
#include "session/server.h"

#include "base/clock.h"
#include "base/thread.h"
#include "net/resp.h"
#include "session/session.h"

#include <stdatomic.h>
#include <unistd.h>

enum {
    BACKOFF_LEAST_MS = 10,
    BACKOFF_MOST_MS = 1000,
    PATIENCE_US = 50000, /* how long the keeper leaves what is not urgent to the next caller */
    HEARTBEAT_MS = 10000,
    WAITING_HEARTBEAT_MS = 400, /* with the next two: a hand-over is claimed within its second */
    LATE_HEARTBEAT_MS = 200,    /* an answer that takes longer: messages may not come either */
    DEAF_MS = 1000,             /* and when the server answers commands meanwhile: they do not */
    WAITERS_IN_A_MS = 20,       /* how many are refreshed, so that a crowd does not drown it */
    UNHURRIED_MS = 100,
    SHORT_LIVED_US = 100000 /* a connection that ends sooner is as good as none */
};

typedef struct {
    lki_transport *transport;
    lki_identity identity;
} dialed;

/* ------------------------------------------------------------------------------ up and down */

static bool is_messages(const lki_wire *wire) {
    return wire == &wire->server->messages;
}

/* The first attempt comes at once, the next ones after longer and longer pauses. */
static void back_off(lki_wire *wire) {
    int64_t now_us = lki_now_us(), ms = 0;
    if (wire->failures) {
        unsigned doublings = wire->failures < 8 ? wire->failures - 1 : 7;
        ms = BACKOFF_LEAST_MS << doublings;
        ms = ms > BACKOFF_MOST_MS ? BACKOFF_MOST_MS : ms;
        ms -= ms * (now_us % 256) / 1024; /* so that not all come back at once */
    }
    wire->failures++;
    wire->next_dial_us = lki_after_ms(now_us, ms);
}

static void wire_broken(void *context, const lki_error *error) {
    lki_wire *wire = context;
    lki_server *server = wire->server;
    lki_session *session = server->session;
    int64_t now_us = lki_now_us();
    wire->down_since_us = now_us;
    wire->why = *error;
    if (now_us - wire->up_since_us >= SHORT_LIVED_US)
        wire->failures = 0;
    back_off(wire);
    if (!session->closing)
        lki_log(session, LK_LOG_WARNING, "connection lost: %s", error->text);
    if (!is_messages(wire))
        session->events->disconnected(session->context, server);
    session->events->drain(session->context);
    pthread_cond_broadcast(&session->ended);
    lki_keeper_kick(session);
}

/* Somebody will come by and read, most likely; if not, the keeper does, a little later. */
static void wire_unread(void *context) {
    lki_wire *wire = context;
    lki_server *server = wire->server;
    if (wire->urgent || (is_messages(wire) && server->async_waiting))
        lki_keeper_kick(server->session);
    else
        lki_keeper_wake_by(server->session, wire->link.unread_since_us + 2 * PATIENCE_US);
}

static void wire_relieve(void *context) {
    lki_wire *wire = context;
    lki_keeper_kick(wire->server->session);
}

/* While it is awake it finds out by itself; it may be the one who wrote. */
static void wire_full(void *context) {
    lki_wire *wire = context;
    if (wire->server->session->keeper.asleep)
        lki_keeper_kick(wire->server->session);
}

static void wire_push(void *context, const redisReply *reply) {
    const lki_wire *wire = context;
    const lki_session *session = wire->server->session;
    const redisReply *text = reply->element[2];
    if (text->type == REDIS_REPLY_STRING)
        session->events->message(session->context, wire->server, text->str, text->len);
}

static void drain(const lki_server *server) {
    server->session->events->drain(server->session->context);
}

/* Whoever reads commands sends what came of it; a reader of messages leaves that to the keeper. */
static void wire_delivered(void *context) {
    const lki_wire *wire = context;
    lki_server *server = wire->server;
    drain(server);
    if (is_messages(wire) && lki_link_has_output(&server->commands.link)) {
        lki_server_hurry(server);
        lki_keeper_kick(server->session);
    }
}

static lk_status wire_init(lki_wire *wire, lki_server *server, bool messages, lki_error *error) {
    lki_link_events events = {.push = messages ? wire_push : NULL,
                              .delivered = wire_delivered,
                              .broken = wire_broken,
                              .unread = wire_unread,
                              .relieve = wire_relieve,
                              .full = wire_full,
                              .context = wire};
    *wire = (lki_wire){
        .server = server, .wanted = !messages, .dialing_fd = -1, .down_since_us = lki_now_us()};
    return lki_link_init(&wire->link, &server->session->monitor, events, error);
}

lk_status lki_server_init(lki_server *server, lki_session *session, size_t index,
                          lki_error *error) {
    *server = (lki_server){.session = session, .index = index};
    server->messages.link.kick = -1;
    lk_status status = wire_init(&server->commands, server, false, error);
    return status == LK_OK ? wire_init(&server->messages, server, true, error) : status;
}

void lki_server_free(lki_server *server) {
    lki_link_free(&server->commands.link);
    lki_link_free(&server->messages.link);
}

static void wire_close_after_fork(lki_wire *wire) {
    int fd = atomic_load(&wire->dialing_fd);
    lki_link_close_after_fork(&wire->link);
    if (fd >= 0)
        close(fd);
}

void lki_server_close_after_fork(lki_server *server) {
    wire_close_after_fork(&server->commands);
    wire_close_after_fork(&server->messages);
}

static int64_t heartbeat_ms(const lki_server *server) {
    return server->waiting ? WAITING_HEARTBEAT_MS : HEARTBEAT_MS;
}

/* dialed_us: when the dialing began. */
static lk_status wire_up(lki_wire *wire, const dialed *found, int64_t dialed_us) {
    if (lki_link_attach(&wire->link, found->transport) != LK_OK)
        return LK_NOMEM;
    wire->down_since_us = LKI_NEVER;
    wire->up_since_us = lki_now_us();
    wire->unreachable = false;
    wire->identity = found->identity;
    wire->heartbeat_us = lki_after_ms(wire->up_since_us, heartbeat_ms(wire->server));
    wire->published_us = dialed_us;
    return LK_OK;
}

/* ------------------------------------------------------------------------------ dialing */

/*
 * One attempt to get a connection that is ready for use. Blocks; without the monitor. earlier: see
 * net/greet.h. Statuses as lk_open, and LK_CANCELED.
 */
static lk_status connect_wire(lki_wire *wire, const lki_identity *earlier, dialed *out,
                              lki_error *error) {
    lki_session *session = wire->server->session;
    lki_endpoint endpoint = {0};
    dialed found = {0};
    lki_tls_files tls = lki_settings_tls(&session->settings);
    int64_t deadline_us = lki_after_ms(lki_now_us(), session->settings.connect_timeout_ms);
    lki_greeting greeting = {.endpoint = &endpoint,
                             .name = session->settings.connection_name,
                             .channel = is_messages(wire) ? session->channel : NULL,
                             .earlier = earlier,
                             .deadline_us = deadline_us,
                             .stop_fd = session->stop_fd};
    lk_status status = session->topology->methods->locate(
        session->topology, wire->server->index, deadline_us, session->stop_fd, &endpoint, error);
    if (status != LK_OK)
        return status;
    status = lki_transport_open(&endpoint, &tls, deadline_us, session->stop_fd, &wire->dialing_fd,
                                &found.transport, error);
    if (status == LK_OK)
        status = lki_greet(found.transport, &greeting, &found.identity, error);
    atomic_store(&wire->dialing_fd, -1);
    lki_endpoint_clear(&endpoint);
    if (status == LK_OK)
        *out = found;
    else
        lki_transport_close(found.transport);
    return status;
}

static void put_off(lki_wire *wire, const lki_error *error) {
    lki_session *session = wire->server->session;
    wire->why = *error;
    if (!wire->unreachable)
        lki_log(session, LK_LOG_WARNING, "cannot connect: %s", error->text);
    wire->unreachable = true;
    if (!wire->failures)
        wire->failures = 1;
    back_off(wire);
    bool for_good = error->status == LK_DENIED || error->status == LK_UNSUPPORTED;
    if (is_messages(wire) && for_good)
        session->events->refused(session->context, wire->server, error);
    session->events->drain(session->context);
}

static void log_up(const lki_wire *wire) {
    lki_session *session = wire->server->session;
    lki_log(session, LK_LOG_INFO, "connected to %s%s", session->topology->shown,
            is_messages(wire) ? " for messages" : "");
}

static void tell_up(lki_wire *wire) {
    lki_server *server = wire->server;
    lki_session *session = server->session;
    log_up(wire);
    if (is_messages(wire))
        session->events->subscribed(session->context, server);
    else
        session->events->connected(session->context, server);
    lki_server_push(server);
}

static void *dial_wire(void *context) {
    lki_wire *wire = context;
    lki_server *server = wire->server;
    lki_session *session = server->session;
    dialed found;
    lki_error error;
    pthread_mutex_lock(&session->monitor);
    lki_identity earlier = wire->identity;
    pthread_mutex_unlock(&session->monitor);

    int64_t dialed_us = lki_now_us();
    lk_status status = connect_wire(wire, &earlier, &found, &error);
    pthread_mutex_lock(&session->monitor);
    if (status == LK_OK && wire_up(wire, &found, dialed_us) != LK_OK) {
        lki_transport_close(found.transport);
        status = lki_error_no_memory(&error);
    }
    if (status == LK_OK)
        tell_up(wire);
    else
        put_off(wire, &error);
    pthread_cond_broadcast(&session->ended);
    wire->dialing = false; /* last: from now on the keeper may join this thread */
    lki_keeper_kick(session);
    pthread_mutex_unlock(&session->monitor);
    return NULL;
}

static void dial(lki_wire *wire) {
    lki_error error;
    if (wire->to_join)
        pthread_join(wire->dialer, NULL);
    wire->to_join = wire->dialing = lki_thread_start(&wire->dialer, dial_wire, wire);
    if (!wire->dialing) {
        lki_error_set(&error, LK_NOMEM, "no thread can be started to connect again");
        put_off(wire, &error);
    }
}

lk_status lki_server_open(lki_server *server, lki_error *error) {
    lki_session *session = server->session;
    dialed found;
    int64_t dialed_us = lki_now_us();
    lk_status status = connect_wire(&server->commands, NULL, &found, error);
    if (status != LK_OK)
        return status;
    if (wire_up(&server->commands, &found, dialed_us) != LK_OK) {
        lki_transport_close(found.transport);
        return lki_error_no_memory(error);
    }
    pthread_mutex_lock(&session->monitor);
    log_up(&server->commands);
    pthread_mutex_unlock(&session->monitor);
    return LK_OK;
}

static void join_dialer(lki_wire *wire) {
    if (wire->to_join)
        pthread_join(wire->dialer, NULL);
    wire->to_join = false;
}

void lki_server_join_dialers(lki_server *server) {
    join_dialer(&server->commands);
    join_dialer(&server->messages);
}

void lki_server_dial_now(lki_server *server) {
    lki_wire *wire = &server->commands;
    if (lki_link_is_up(&wire->link))
        return;
    wire->failures = 1;
    wire->next_dial_us = lki_now_us();
    lki_keeper_kick(server->session);
}

void lki_server_want_messages(lki_server *server) {
    lki_wire *wire = &server->messages;
    int64_t now_us = lki_now_us();
    bool put_off = wire->wanted && !wire->failures && wire->next_dial_us > now_us;
    if (wire->wanted && !put_off)
        return;
    wire->wanted = true;
    wire->next_dial_us = now_us;
    lki_keeper_kick(server->session);
}

void lki_server_want_messages_soon(lki_server *server) {
    lki_wire *wire = &server->messages;
    if (wire->wanted)
        return;
    wire->wanted = true;
    wire->next_dial_us = lki_after_ms(lki_now_us(), UNHURRIED_MS);
    lki_keeper_wake_by(server->session, wire->next_dial_us);
}

bool lki_server_is_subscribed(const lki_server *server) {
    return lki_link_is_up(&server->messages.link);
}

/* ------------------------------------------------------------------------------ keeping */

/* When it will have been silent for too long. */
static int64_t silent_us(const lki_wire *wire) {
    int64_t since_us = lki_link_silent_since_us(&wire->link);
    int64_t end_us = lki_after_ms(since_us, wire->server->session->settings.command_timeout_ms);
    return wire->grace_until_us > end_us ? wire->grace_until_us : end_us;
}

/* Once in a silence: a caller may read this connection, and not have come to it. */
static bool is_excused(lki_wire *wire, int64_t now_us) {
    if (wire->grace_until_us >= lki_link_silent_since_us(&wire->link) ||
        now_us <= silent_us(wire) + LKI_LATE_US)
        return false;
    wire->grace_until_us = now_us + LKI_GRACE_US;
    return true;
}

/* After SIGSTOP the reply may already be in the socket: so the keeper reads before it judges. */
static void break_if_silent(lki_wire *wire, int64_t now_us) {
    lki_session *session = wire->server->session;
    lki_error error;
    if (now_us >= silent_us(wire) && lki_link_keeper_take(&wire->link))
        lki_link_keeper_read(&wire->link);
    if (now_us < silent_us(wire) || is_excused(wire, now_us))
        return;
    lki_error_set(&error, LK_UNAVAILABLE, "%s: the server did not answer within %lld ms",
                  session->topology->shown, (long long)session->settings.command_timeout_ms);
    lki_link_break(&wire->link, &error);
}

static int64_t earlier(int64_t a_us, int64_t b_us) {
    return a_us < b_us ? a_us : b_us;
}

static void heart_beats(lki_request *request, const redisReply *reply) {
    lki_wire *wire = (lki_wire *)(void *)((char *)request - offsetof(lki_wire, heartbeat));
    if (reply)
        wire->published_us = request->sent_us;
}

static void send_heartbeat(lki_wire *wire, int64_t now_us) {
    lki_bytes *out = lki_link_begin(&wire->link);
    lki_resp_command(out, 1);
    lki_resp_text(out, "PING");
    wire->heartbeat.complete = heart_beats;
    lki_link_commit(&wire->link, &wire->heartbeat, now_us); /* without memory: the next one */
    wire->heartbeat_us = lki_after_ms(now_us, heartbeat_ms(wire->server));
}

/* Since when it may be that messages do not come, if it is now; LKI_NEVER: they do. */
static int64_t deaf_since_us(const lki_wire *wire) {
    if (!lki_link_is_up(&wire->link))
        return wire->down_since_us;
    return wire->heartbeat.on_way ? lki_after_ms(wire->heartbeat.sent_us, LATE_HEARTBEAT_MS)
                                  : LKI_NEVER;
}

/* The server has answered commands that were sent after the heartbeat, and not the heartbeat. */
static bool is_dead(const lki_wire *wire, int64_t now_us) {
    return wire->heartbeat.on_way && now_us >= lki_after_ms(wire->heartbeat.sent_us, DEAF_MS) &&
           lki_link_answered_sent_us(&wire->server->commands.link) > wire->heartbeat.sent_us;
}

/*
 * While messages do not come, waiters ask the server themselves: each refresh finds a grant, and
 * claims it. Returns when to look again.
 */
static int64_t ask_for_messages(lki_wire *wire, int64_t now_us) {
    lki_server *server = wire->server;
    const lki_session *session = server->session;
    int64_t since_us = deaf_since_us(wire);
    if (!server->waiting || since_us > now_us)
        return server->waiting ? since_us : LKI_NEVER;
    if (is_dead(wire, now_us)) {
        lki_error error;
        lki_error_set(&error, LK_UNAVAILABLE, "%s: the connection for messages is dead",
                      session->topology->shown);
        lki_link_break(&wire->link, &error);
    }
    if (now_us >= wire->deaf_us && lki_link_is_up(&server->commands.link)) {
        session->events->unheard(session->context, server);
        wire->deaf_us =
            lki_after_ms(now_us, LATE_HEARTBEAT_MS + (int64_t)(server->waiting / WAITERS_IN_A_MS));
    }
    return wire->deaf_us > now_us ? wire->deaf_us : LKI_NEVER; /* LKI_NEVER: it is told when up */
}

/* Of messages: a silent connection may be a dead one. Returns when to look again. */
static int64_t tend_messages(lki_wire *wire, int64_t now_us) {
    if (!is_messages(wire) || !wire->wanted)
        return LKI_NEVER;
    bool is_up = lki_link_is_up(&wire->link);
    if (is_up && !wire->heartbeat.on_way && now_us >= wire->heartbeat_us)
        send_heartbeat(wire, now_us);
    int64_t due_us = ask_for_messages(wire, now_us);
    /* What is not answered is the business of break_if_silent(). */
    return is_up && !wire->heartbeat.on_way ? earlier(due_us, wire->heartbeat_us) : due_us;
}

void lki_server_count_waiters(lki_server *server, int all, int async) {
    lki_wire *wire = &server->messages;
    bool begins = !server->waiting && all > 0;
    server->waiting += (size_t)all;
    server->async_waiting += (size_t)async;
    if (!begins)
        return;
    int64_t due_us = lki_after_ms(lki_now_us(), WAITING_HEARTBEAT_MS);
    wire->heartbeat_us = earlier(wire->heartbeat_us, due_us);
    lki_keeper_wake_by(server->session, wire->heartbeat_us);
}

int64_t lki_server_published_us(const lki_server *server) {
    return server->messages.published_us;
}

static void take_or_leave(lki_wire *wire, int64_t now_us) {
    lki_link *link = &wire->link;
    bool messages = is_messages(wire);
    bool to_read = messages || lki_link_has_requests(link);
    bool at_once = wire->urgent || link->kept || (messages && wire->server->async_waiting) ||
                   now_us >= link->unread_since_us + PATIENCE_US;
    bool taken = false;
    if (to_read && at_once && !(messages && lki_link_has_sleepers(link)))
        taken = lki_link_keeper_take(link);
    else
        lki_link_keeper_leave(link);
    if (taken || !to_read) /* otherwise a caller reads, and whoever is urgent comes after it */
        wire->urgent = false;
}

static int64_t wire_tend(lki_wire *wire, int64_t now_us) {
    lki_link *link = &wire->link;
    break_if_silent(wire, now_us);
    if (wire->wanted && !lki_link_is_up(link) && !wire->dialing && now_us >= wire->next_dial_us)
        dial(wire);
    int64_t due_us = tend_messages(wire, now_us);
    drain(wire->server);
    lki_link_flush(link);
    take_or_leave(wire, now_us);
    if (!lki_link_is_up(link))
        return wire->wanted && !wire->dialing ? earlier(due_us, wire->next_dial_us) : due_us;
    due_us = earlier(due_us, silent_us(wire));
    bool to_read = is_messages(wire) || lki_link_has_requests(link);
    if (to_read && !link->kept)
        due_us = earlier(due_us, now_us + 2 * PATIENCE_US);
    return due_us;
}

int64_t lki_server_tend(lki_server *server, int64_t now_us) {
    int64_t commands_us = wire_tend(&server->commands, now_us);
    int64_t messages_us = wire_tend(&server->messages, now_us);
    return earlier(commands_us, messages_us);
}

void lki_server_push(lki_server *server) {
    lki_wire *wire = &server->commands;
    drain(server);
    lki_link_flush(&wire->link);
    if (lki_link_has_requests(&wire->link)) {
        lki_server_hurry(server);
        lki_keeper_kick(server->session);
    }
}

void lki_server_hurry(lki_server *server) {
    server->commands.urgent = true;
}
