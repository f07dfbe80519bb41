/* See server.h. */
#include "session/server.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/fault.h"
#include "net/resp.h"
#include "session/session.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    BACKOFF_LEAST_MS = 10,
    BACKOFF_MOST_MS = 1000,
    KEEPER_DELAY_US = 50000, /* the keeper leaves replies to the next caller for this long */
    HEARTBEAT_MS = 10000,
    /* While operations wait: a grant whose message is lost must be claimed within a second. */
    WAITING_HEARTBEAT_MS = 400,
    LATE_HEARTBEAT_MS = 200, /* a reply later than this: messages may not arrive either */
    DEAD_MESSAGES_MS = 1000, /* no reply for so long, but replies to commands: break the wire */
    REFRESHES_PER_MS = 20,   /* limits the load on the server when many operations wait */
    SOON_MS = 100,
    SLOW_MS = 400,          /* without a reply for so long, a server may have been replaced */
    SHORT_LIVED_US = 100000 /* a connection that broke sooner counts as a failed attempt */
};

typedef struct {
    lki_transport *transport;
    lki_identity identity;
} dialed;

/* ------------------------------------------------------------------------------ wires */

static bool is_messages(const lki_wire *wire) {
    return wire == &wire->server->messages;
}

/* Another server may have its locks now. */
void lki_server_suspect(lki_server *server) {
    lki_topology *topology = server->session->topology;
    if (topology->methods->suspect)
        topology->methods->suspect(topology);
    server->suspected_us = lki_now_us();
}

/* The first attempt is immediate; the pauses before the next ones grow. */
static void back_off(lki_wire *wire) {
    int64_t now_us = lki_now_us(), ms = 0;
    if (wire->failures) {
        unsigned doublings = wire->failures < 8 ? wire->failures - 1 : 7;
        ms = BACKOFF_LEAST_MS << doublings;
        ms = ms > BACKOFF_MOST_MS ? BACKOFF_MOST_MS : ms;
        ms -= ms * (now_us % 256) / 1024; /* so that not all clients reconnect at the same time */
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
    lki_server_suspect(server);
    if (!is_messages(wire))
        lki_confirmations_lose(server);
    if (!is_messages(wire))
        session->events->disconnected(session->context, server);
    session->events->drain(session->context);
    pthread_cond_broadcast(&session->ended);
    lki_keeper_kick(session);
}

/* The next caller will probably read. If there is none, the keeper reads, a little later. */
static void wire_unread(void *context) {
    lki_wire *wire = context;
    lki_server *server = wire->server;
    if (wire->urgent || (is_messages(wire) && server->async_waiting))
        lki_keeper_kick(server->session);
    else
        lki_keeper_wake_by(server->session, wire->link.unread_since_us + 2 * KEEPER_DELAY_US);
}

static void wire_relieve(void *context) {
    lki_wire *wire = context;
    lki_keeper_kick(wire->server->session);
}

/* While the keeper is awake it needs no kick: it checks for output before it sleeps. */
static void wire_full(void *context) {
    lki_wire *wire = context;
    if (wire->server->session->keeper.asleep)
        lki_keeper_kick(wire->server->session);
}

/*
 * PUBLISH reaches all nodes of a cluster. SPUBLISH reaches a master only from itself, because a
 * master that becomes a replica ends all sharded subscriptions.
 */
static void wire_push(void *context, const redisReply *reply) {
    const lki_wire *wire = context;
    const lki_session *session = wire->server->session;
    const redisReply *text = reply->element[2];
    bool is_own = !lki_topology_is_sharded(session->topology) ||
                  strcmp(reply->element[0]->str, "smessage") == 0;
    if (text->type == REDIS_REPLY_STRING)
        session->events->message(session->context, wire->server, is_own, text->str, text->len);
}

static void drain(const lki_server *server) {
    server->session->events->drain(server->session->context);
}

/*
 * The driver of the commands wire then sends the requests that were committed here. The driver of
 * the messages wire does not, so the keeper must.
 */
static void wire_delivered(void *context) {
    const lki_wire *wire = context;
    lki_server *server = wire->server;
    if (!is_messages(wire))
        lki_confirmations_send(server);
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
    *wire = (lki_wire){.server = server,
                       .dialing_fd = -1,
                       .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                       .down_since_us = lki_now_us()};
    wire->link.kick = -1;
    if (wire->stop_fd < 0)
        return lki_error_set(error, LK_NOMEM, "no file descriptor is left");
    return lki_link_init(&wire->link, &server->session->monitor, events, error);
}

lki_server *lki_server_new(lki_session *session, size_t index, lki_error *error) {
    lki_server *server = lki_new(sizeof *server);
    if (!server) {
        lki_error_no_memory(error);
        return NULL;
    }
    server->session = session;
    server->index = index;
    lki_confirmations_init(&server->confirmations);
    server->commands.link.kick = server->messages.link.kick = -1;
    server->commands.stop_fd = server->messages.stop_fd = -1;
    if (lki_ears_init(server, error) == LK_OK &&
        wire_init(&server->commands, server, false, error) == LK_OK &&
        wire_init(&server->messages, server, true, error) == LK_OK)
        return server;
    lki_server_free(server);
    return NULL;
}

static void wire_free(lki_wire *wire) {
    lki_link_free(&wire->link);
    if (wire->stop_fd >= 0)
        close(wire->stop_fd);
}

void lki_server_free(lki_server *server) {
    if (!server)
        return;
    wire_free(&server->commands);
    wire_free(&server->messages);
    lki_ears_free(server);
    lki_free(server);
}

static void wire_close_after_fork(lki_wire *wire) {
    int fd = atomic_load(&wire->dialing_fd);
    lki_link_close_after_fork(&wire->link);
    close(wire->stop_fd);
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

/* A server that does not tell its run id may be any server. */
static bool is_same_process(const lki_identity *a, const char *run_id) {
    return *a->run_id && strcmp(a->run_id, run_id) == 0;
}

/* dialed_us: when dialing began, which was before any message on this connection. */
static lk_status wire_attach(lki_wire *wire, const dialed *found, int64_t dialed_us) {
    if (lki_link_attach(&wire->link, found->transport) != LK_OK)
        return LK_NOMEM;
    if (!is_messages(wire) && !is_same_process(&wire->identity, found->identity.run_id))
        wire->server->life = ++wire->server->session->lives;
    wire->down_since_us = LKI_NEVER;
    wire->dialed_us = dialed_us;
    wire->up_since_us = lki_now_us();
    wire->unreachable = false;
    wire->identity = found->identity;
    wire->heartbeat_us = lki_after_ms(wire->up_since_us, heartbeat_ms(wire->server));
    wire->published_us = dialed_us;
    return LK_OK;
}

/* ------------------------------------------------------------------------------ dialing */

/*
 * One attempt to make a connection that is ready for use. Blocks; call it without the monitor.
 * earlier: see net/greet.h. Statuses as lk_open, and LK_CANCELED.
 */
static lk_status connect_wire(lki_wire *wire, const lki_identity *earlier, dialed *out,
                              lki_error *error) {
    lki_session *session = wire->server->session;
    lki_endpoint endpoint = {0};
    dialed found = {0};
    char channel[LKI_CHANNEL_SIZE];
    lki_ear_channel(&wire->server->own, channel);
    lki_reach reach = {lki_settings_tls(&session->settings),
                       lki_after_ms(lki_now_us(), session->settings.connect_timeout_ms),
                       wire->stop_fd};
    lki_greeting greeting = {.endpoint = &endpoint,
                             .name = session->settings.connection_name,
                             .channel = is_messages(wire) ? channel : NULL,
                             .is_sharded = wire->server->own.is_sharded,
                             .is_found = session->topology->methods->watch,
                             .is_node = lki_topology_is_sharded(session->topology),
                             .earlier = earlier,
                             .deadline_us = reach.deadline_us,
                             .stop_fd = wire->stop_fd};
    lk_status status = session->topology->methods->locate(session->topology, wire->server->index,
                                                          &reach, &endpoint, error);
    if (status != LK_OK)
        return status;
    status = lki_transport_open(&endpoint, &reach.tls, reach.deadline_us, wire->stop_fd,
                                &wire->dialing_fd, &found.transport, error);
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

/* A node without slots was wanted because of ASK. Its handles have gone back, see locks.c. */
static void retire_if_unused(lki_server *server) {
    lki_topology *topology = server->session->topology;
    if (lki_topology_is_sharded(topology) && !topology->methods->has_slots(topology, server->index))
        lki_server_retire(server);
}

static void dial_failed(lki_wire *wire, const lki_error *error) {
    lki_session *session = wire->server->session;
    wire->why = *error;
    if (!wire->unreachable)
        lki_log(session, LK_LOG_WARNING, "cannot connect: %s", error->text);
    wire->unreachable = true;
    if (!wire->failures)
        wire->failures = 1;
    back_off(wire);
    lki_server_suspect(wire->server);
    bool is_final = error->status == LK_DENIED || error->status == LK_UNSUPPORTED;
    if (is_messages(wire) && is_final)
        session->events->refused(session->context, wire->server, error);
    if (!is_messages(wire))
        session->events->disconnected(session->context, wire->server);
    session->events->drain(session->context);
    if (!is_messages(wire))
        retire_if_unused(wire->server);
}

static void log_connected(const lki_wire *wire) {
    lki_session *session = wire->server->session;
    lki_log(session, LK_LOG_INFO, "connected to %s%s", session->topology->shown,
            is_messages(wire) ? " for messages" : "");
}

static void break_as_moved(lki_wire *wire) {
    lki_error error;
    lki_error_set(&error, LK_UNAVAILABLE, "%s: another server has the locks now",
                  wire->server->session->topology->shown);
    lki_link_break(&wire->link, &error);
}

/*
 * Both wires must lead to one server. Otherwise messages would come from a new master, which grants
 * a copy of our waiter, while renewals go to the old one. The wire that was dialed first asked the
 * topology first, so it is the one that leads to the old server.
 */
static void keep_to_one_server(lki_server *server) {
    lki_wire *commands = &server->commands, *messages = &server->messages;
    if (!lki_link_is_up(&commands->link) || !lki_link_is_up(&messages->link) ||
        strcmp(commands->identity.run_id, messages->identity.run_id) == 0)
        return;
    break_as_moved(commands->dialed_us < messages->dialed_us ? commands : messages);
}

static void report_connected(lki_wire *wire) {
    lki_server *server = wire->server;
    lki_session *session = server->session;
    log_connected(wire);
    keep_to_one_server(server);
    if (!lki_link_is_up(&wire->link))
        return;
    if (is_messages(wire)) {
        lki_ears_subscribe(server);
        session->events->subscribed(session->context, server);
    } else {
        session->events->connected(session->context, server);
    }
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
    int64_t dialed_us = wire->dialing_since_us;
    pthread_mutex_unlock(&session->monitor);

    lk_status status = connect_wire(wire, &earlier, &found, &error);
    pthread_mutex_lock(&session->monitor);
    if (wire->is_dropped) {
        if (status == LK_OK)
            lki_transport_close(found.transport);
        wire->next_dial_us = lki_now_us();
    } else if (status != LK_OK) {
        dial_failed(wire, &error);
    } else if (wire_attach(wire, &found, dialed_us) != LK_OK) {
        lki_transport_close(found.transport);
        lki_error_no_memory(&error);
        dial_failed(wire, &error);
    } else {
        report_connected(wire);
    }
    pthread_cond_broadcast(&session->ended);
    wire->dialing = false; /* last: the keeper may join this thread from now on */
    lki_keeper_kick(session);
    pthread_mutex_unlock(&session->monitor);
    return NULL;
}

static void dial(lki_wire *wire) {
    lki_error error;
    eventfd_t ignored;
    if (wire->has_dialer)
        pthread_join(wire->dialer, NULL);
    wire->is_dropped = false;
    wire->dialing_since_us = lki_now_us();
    eventfd_read(wire->stop_fd, &ignored); /* EAGAIN: nobody stopped the last dialer */
    wire->has_dialer = wire->dialing = lki_thread_start(&wire->dialer, dial_wire, wire);
    if (!wire->dialing) {
        lki_error_set(&error, LK_NOMEM, "cannot start a thread to connect again");
        dial_failed(wire, &error);
    }
}

lk_status lki_server_open(lki_server *server, lki_error *error) {
    lki_session *session = server->session;
    dialed found;
    int64_t dialed_us = lki_now_us();
    lk_status status = connect_wire(&server->commands, NULL, &found, error);
    if (status != LK_OK)
        return status;
    if (wire_attach(&server->commands, &found, dialed_us) != LK_OK) {
        lki_transport_close(found.transport);
        return lki_error_no_memory(error);
    }
    pthread_mutex_lock(&session->monitor);
    log_connected(&server->commands);
    pthread_mutex_unlock(&session->monitor);
    return LK_OK;
}

/*
 * The dialer asked where the server is before it moved. So its connection may lead to a master that
 * was replaced, also if that master answers only much later.
 */
static void drop_dial(lki_wire *wire) {
    if (!wire->dialing)
        return;
    wire->is_dropped = true;
    eventfd_write(wire->stop_fd, 1);
}

static void join_dialer(lki_wire *wire) {
    eventfd_write(wire->stop_fd, 1);
    if (wire->has_dialer)
        pthread_join(wire->dialer, NULL);
    wire->has_dialer = false;
}

void lki_server_join_dialers(lki_server *server) {
    join_dialer(&server->commands);
    join_dialer(&server->messages);
}

static void dial_soon(lki_wire *wire) {
    if (!wire->wanted || lki_link_is_up(&wire->link))
        return;
    wire->failures = 1;
    wire->next_dial_us = lki_now_us();
    lki_keeper_kick(wire->server->session);
}

void lki_server_dial_now(lki_server *server) {
    dial_soon(&server->commands);
}

void lki_server_want(lki_server *server) {
    lki_wire *wire = &server->commands;
    if (wire->wanted)
        return;
    wire->wanted = true; /* next_dial_us stays: ASK may name a node again that does not answer */
    lki_keeper_kick(server->session);
}

void lki_server_break(lki_server *server, const lki_error *error) {
    lki_link_break(&server->commands.link, error);
    lki_link_break(&server->messages.link, error);
}

void lki_server_retire(lki_server *server) {
    if (!server->commands.wanted)
        return;
    lki_wire *wires[] = {&server->commands, &server->messages};
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        wires[i]->wanted = false;
        drop_dial(wires[i]);
        break_as_moved(wires[i]);
    }
}

void lki_server_moved(lki_server *server, const char *run_id) {
    lki_wire *wires[] = {&server->commands, &server->messages};
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        drop_dial(wires[i]);
        if (!is_same_process(&wires[i]->identity, run_id))
            break_as_moved(wires[i]);
        dial_soon(wires[i]);
    }
}

void lki_server_want_messages(lki_server *server) {
    lki_wire *wire = &server->messages;
    int64_t now_us = lki_now_us();
    bool is_delayed = wire->wanted && !wire->failures && wire->next_dial_us > now_us;
    if (wire->wanted && !is_delayed)
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
    wire->next_dial_us = lki_after_ms(lki_now_us(), SOON_MS);
    lki_keeper_wake_by(server->session, wire->next_dial_us);
}

/* ------------------------------------------------------------------------------ a round */

/* When the silence of the server will have been too long; LKI_NEVER: it owes no reply. */
static int64_t silence_end_us(const lki_wire *wire) {
    int64_t since_us = lki_link_silent_since_us(&wire->link);
    int64_t end_us = lki_after_ms(since_us, wire->server->session->settings.command_timeout_ms);
    return wire->grace_until_us > end_us ? wire->grace_until_us : end_us;
}

/*
 * Once in a silence, if it is noticed late: a caller may be the driver, and not have read yet.
 * True: the silence may last until grace_until_us.
 */
static bool extend_if_late(lki_wire *wire, int64_t now_us) {
    if (wire->grace_until_us >= lki_link_silent_since_us(&wire->link) ||
        now_us <= silence_end_us(wire) + LKI_LATE_US)
        return false;
    wire->grace_until_us = now_us + LKI_GRACE_US;
    return true;
}

/* After SIGSTOP the reply may already be in the socket, so the keeper reads first. */
static void break_if_silent(lki_wire *wire, int64_t now_us) {
    lki_session *session = wire->server->session;
    lki_error error;
    if (now_us >= silence_end_us(wire) && lki_link_keeper_take(&wire->link))
        lki_link_keeper_read(&wire->link);
    if (now_us < silence_end_us(wire) || extend_if_late(wire, now_us))
        return;
    lki_error_set(&error, LK_UNAVAILABLE, "%s: the server did not answer within %lld ms",
                  session->topology->shown, (long long)session->settings.command_timeout_ms);
    lki_link_break(&wire->link, &error);
}

static int64_t earlier(int64_t a_us, int64_t b_us) {
    return a_us < b_us ? a_us : b_us;
}

static void heartbeat_answered(lki_request *request, const redisReply *reply) {
    lki_wire *wire = (lki_wire *)(void *)((char *)request - offsetof(lki_wire, heartbeat));
    if (reply)
        wire->published_us = request->sent_us;
}

static void send_heartbeat(lki_wire *wire, int64_t now_us) {
    lki_bytes *out = lki_link_begin(&wire->link);
    lki_resp_command(out, 1);
    lki_resp_text(out, "PING");
    wire->heartbeat.complete = heartbeat_answered;
    lki_link_commit(&wire->link, &wire->heartbeat, now_us); /* LK_NOMEM: this one is skipped */
    wire->heartbeat_us = lki_after_ms(now_us, heartbeat_ms(wire->server));
}

/* From when on messages may not arrive, which may be in the future; LKI_NEVER: they arrive. */
static int64_t missing_since_us(const lki_wire *wire) {
    if (!lki_link_is_up(&wire->link))
        return wire->down_since_us;
    return wire->heartbeat.on_way ? lki_after_ms(wire->heartbeat.sent_us, LATE_HEARTBEAT_MS)
                                  : LKI_NEVER;
}

/* The server has answered a command that was sent after the heartbeat, but not the heartbeat. */
static bool is_dead(const lki_wire *wire, int64_t now_us) {
    return wire->heartbeat.on_way &&
           now_us >= lki_after_ms(wire->heartbeat.sent_us, DEAD_MESSAGES_MS) &&
           lki_link_answered_sent_us(&wire->server->commands.link) > wire->heartbeat.sent_us;
}

/*
 * While messages may not arrive, refreshes all waiters repeatedly: a refresh finds a grant, and
 * claims it. Returns when to call it again.
 */
static int64_t refresh_without_messages(lki_wire *wire, int64_t now_us) {
    lki_server *server = wire->server;
    const lki_session *session = server->session;
    int64_t since_us = missing_since_us(wire);
    if (!server->waiting || since_us > now_us)
        return server->waiting ? since_us : LKI_NEVER;
    if (is_dead(wire, now_us)) {
        lki_error error;
        lki_error_set(&error, LK_UNAVAILABLE,
                      "%s: the server does not answer on the connection for messages",
                      session->topology->shown);
        lki_link_break(&wire->link, &error);
    }
    lki_server_suspect(server);
    if (now_us >= wire->next_refresh_us && lki_link_is_up(&server->commands.link)) {
        session->events->messages_missing(session->context, server);
        wire->next_refresh_us =
            lki_after_ms(now_us, LATE_HEARTBEAT_MS + (int64_t)(server->waiting / REFRESHES_PER_MS));
    }
    /* LKI_NEVER: commands are down; when they are up again, the keeper does a round. */
    return wire->next_refresh_us > now_us ? wire->next_refresh_us : LKI_NEVER;
}

/* Sends heartbeats, to notice when messages do not arrive. Returns when to call it again. */
static int64_t tend_messages(lki_wire *wire, int64_t now_us) {
    if (!is_messages(wire) || !wire->wanted)
        return LKI_NEVER;
    bool is_up = lki_link_is_up(&wire->link);
    if (is_up && !wire->heartbeat.on_way && now_us >= wire->heartbeat_us)
        send_heartbeat(wire, now_us);
    int64_t due_us = refresh_without_messages(wire, now_us);
    /* While a heartbeat has no reply, break_if_silent() watches the time. */
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

/* Each server has its own: the fast clock of one must not raise the fences of another. */
void lki_server_raise_floor(lki_server *server, uint64_t fence_or_time) {
    if (fence_or_time > server->floor)
        server->floor = fence_or_time;
}

/* Decides whether the keeper is the driver until its next round. */
static void take_or_leave(lki_wire *wire, int64_t now_us) {
    lki_link *link = &wire->link;
    bool messages = is_messages(wire);
    bool to_read = messages || lki_link_has_requests(link);
    bool now = wire->urgent || link->kept || (messages && wire->server->async_waiting) ||
               now_us >= link->unread_since_us + KEEPER_DELAY_US;
    bool taken = false;
    if (to_read && now && !(messages && lki_link_has_sleepers(link)))
        taken = lki_link_keeper_take(link);
    else
        lki_link_keeper_leave(link);
    if (taken || !to_read) /* else a caller drives; when it leaves, the keeper must still hurry */
        wire->urgent = false;
}

/*
 * A server that is slow to answer, also to a dialer, may have been replaced. Returns when to call
 * it again.
 */
static int64_t suspect_if_slow(lki_wire *wire, int64_t now_us) {
    int64_t since_us =
        wire->dialing ? wire->dialing_since_us : lki_link_silent_since_us(&wire->link);
    if (!wire->server->session->topology->methods->suspect || since_us == LKI_NEVER)
        return LKI_NEVER;
    since_us = since_us > wire->server->suspected_us ? since_us : wire->server->suspected_us;
    if (now_us < lki_after_ms(since_us, SLOW_MS))
        return lki_after_ms(since_us, SLOW_MS);
    lki_server_suspect(wire->server);
    return lki_after_ms(now_us, SLOW_MS);
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
    due_us = earlier(due_us, suspect_if_slow(wire, now_us));
    if (!lki_link_is_up(link))
        return wire->wanted && !wire->dialing ? earlier(due_us, wire->next_dial_us) : due_us;
    due_us = earlier(due_us, silence_end_us(wire));
    bool to_read = is_messages(wire) || lki_link_has_requests(link);
    if (to_read && !link->kept)
        due_us = earlier(due_us, now_us + 2 * KEEPER_DELAY_US);
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
