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

static bool is_messages(const lki_line *line) {
    return line == &line->server->messages;
}

/* The first attempt comes at once, the next ones after longer and longer pauses. */
static void back_off(lki_line *line) {
    int64_t now_us = lki_now_us(), ms = 0;
    if (line->failures) {
        unsigned doublings = line->failures < 8 ? line->failures - 1 : 7;
        ms = BACKOFF_LEAST_MS << doublings;
        ms = ms > BACKOFF_MOST_MS ? BACKOFF_MOST_MS : ms;
        ms -= ms * (now_us % 256) / 1024; /* so that not all come back at once */
    }
    line->failures++;
    line->next_dial_us = lki_after_ms(now_us, ms);
}

static void line_broken(void *context, const lki_error *error) {
    lki_line *line = context;
    lki_server *server = line->server;
    lki_session *session = server->session;
    int64_t now_us = lki_now_us();
    line->down_since_us = now_us;
    line->why = *error;
    if (now_us - line->up_since_us >= SHORT_LIVED_US)
        line->failures = 0;
    back_off(line);
    if (!session->closing)
        lki_log(session, LK_LOG_WARNING, "connection lost: %s", error->text);
    if (!is_messages(line))
        session->events->disconnected(session->context, server);
    session->events->drain(session->context);
    pthread_cond_broadcast(&session->ended);
    lki_keeper_kick(session);
}

/* Somebody will come by and read, most likely; if not, the keeper does, a little later. */
static void line_unread(void *context) {
    lki_line *line = context;
    lki_server *server = line->server;
    if (line->urgent || (is_messages(line) && server->async_waiting))
        lki_keeper_kick(server->session);
    else
        lki_keeper_wake_by(server->session, line->link.unread_since_us + 2 * PATIENCE_US);
}

static void line_relieve(void *context) {
    lki_line *line = context;
    lki_keeper_kick(line->server->session);
}

/* While it is awake it finds out by itself; it may be the one who wrote. */
static void line_full(void *context) {
    lki_line *line = context;
    if (line->server->session->keeper.asleep)
        lki_keeper_kick(line->server->session);
}

static void line_push(void *context, const redisReply *reply) {
    const lki_line *line = context;
    const lki_session *session = line->server->session;
    const redisReply *text = reply->element[2];
    if (text->type == REDIS_REPLY_STRING)
        session->events->message(session->context, line->server, text->str, text->len);
}

static void drain(const lki_server *server) {
    server->session->events->drain(server->session->context);
}

/* Whoever reads commands sends what came of it; a reader of messages leaves that to the keeper. */
static void line_delivered(void *context) {
    const lki_line *line = context;
    lki_server *server = line->server;
    drain(server);
    if (is_messages(line) && lki_link_has_output(&server->commands.link)) {
        lki_server_hurry(server);
        lki_keeper_kick(server->session);
    }
}

static lk_status line_init(lki_line *line, lki_server *server, bool messages, lki_error *error) {
    lki_link_events events = {.push = messages ? line_push : NULL,
                              .delivered = line_delivered,
                              .broken = line_broken,
                              .unread = line_unread,
                              .relieve = line_relieve,
                              .full = line_full,
                              .context = line};
    *line = (lki_line){
        .server = server, .wanted = !messages, .dialing_fd = -1, .down_since_us = lki_now_us()};
    return lki_link_init(&line->link, &server->session->monitor, events, error);
}

lk_status lki_server_init(lki_server *server, lki_session *session, size_t index,
                          lki_error *error) {
    *server = (lki_server){.session = session, .index = index};
    server->messages.link.kick = -1;
    lk_status status = line_init(&server->commands, server, false, error);
    return status == LK_OK ? line_init(&server->messages, server, true, error) : status;
}

void lki_server_free(lki_server *server) {
    lki_link_free(&server->commands.link);
    lki_link_free(&server->messages.link);
}

static void line_drop(lki_line *line) {
    int fd = atomic_load(&line->dialing_fd);
    lki_link_drop(&line->link);
    if (fd >= 0)
        close(fd);
}

void lki_server_drop(lki_server *server) {
    line_drop(&server->commands);
    line_drop(&server->messages);
}

static int64_t heartbeat_ms(const lki_server *server) {
    return server->waiting ? WAITING_HEARTBEAT_MS : HEARTBEAT_MS;
}

/* dialed_us: when the dialing began. */
static lk_status line_up(lki_line *line, const dialed *found, int64_t dialed_us) {
    if (lki_link_attach(&line->link, found->transport) != LK_OK)
        return LK_NOMEM;
    line->down_since_us = LKI_NEVER;
    line->up_since_us = lki_now_us();
    line->unreachable = false;
    line->identity = found->identity;
    line->heartbeat_us = lki_after_ms(line->up_since_us, heartbeat_ms(line->server));
    line->published_us = dialed_us;
    return LK_OK;
}

/* ------------------------------------------------------------------------------ dialing */

/*
 * One attempt to get a connection that is ready for use. Blocks; without the monitor. earlier: see
 * net/greet.h. Statuses as lk_open, and LK_CANCELED.
 */
static lk_status connect_line(lki_line *line, const lki_identity *earlier, dialed *out,
                              lki_error *error) {
    lki_session *session = line->server->session;
    lki_endpoint endpoint = {0};
    dialed found = {0};
    lki_tls_files tls = lki_settings_tls(&session->settings);
    int64_t deadline_us = lki_after_ms(lki_now_us(), session->settings.connect_timeout_ms);
    lki_greeting greeting = {.endpoint = &endpoint,
                             .name = session->settings.connection_name,
                             .channel = is_messages(line) ? session->channel : NULL,
                             .earlier = earlier,
                             .deadline_us = deadline_us,
                             .stop_fd = session->stop_fd};
    lk_status status = session->topology->methods->locate(
        session->topology, line->server->index, deadline_us, session->stop_fd, &endpoint, error);
    if (status != LK_OK)
        return status;
    status = lki_transport_open(&endpoint, &tls, deadline_us, session->stop_fd, &line->dialing_fd,
                                &found.transport, error);
    if (status == LK_OK)
        status = lki_greet(found.transport, &greeting, &found.identity, error);
    atomic_store(&line->dialing_fd, -1);
    lki_endpoint_clear(&endpoint);
    if (status == LK_OK)
        *out = found;
    else
        lki_transport_close(found.transport);
    return status;
}

static void put_off(lki_line *line, const lki_error *error) {
    lki_session *session = line->server->session;
    line->why = *error;
    if (!line->unreachable)
        lki_log(session, LK_LOG_WARNING, "cannot connect: %s", error->text);
    line->unreachable = true;
    if (!line->failures)
        line->failures = 1;
    back_off(line);
    bool for_good = error->status == LK_DENIED || error->status == LK_UNSUPPORTED;
    if (is_messages(line) && for_good)
        session->events->refused(session->context, line->server, error);
    session->events->drain(session->context);
}

static void log_up(const lki_line *line) {
    lki_session *session = line->server->session;
    lki_log(session, LK_LOG_INFO, "connected to %s%s", session->topology->shown,
            is_messages(line) ? " for messages" : "");
}

static void tell_up(lki_line *line) {
    lki_server *server = line->server;
    lki_session *session = server->session;
    log_up(line);
    if (is_messages(line))
        session->events->subscribed(session->context, server);
    else
        session->events->connected(session->context, server);
    lki_server_push(server);
}

static void *dial_line(void *context) {
    lki_line *line = context;
    lki_server *server = line->server;
    lki_session *session = server->session;
    dialed found;
    lki_error error;
    pthread_mutex_lock(&session->monitor);
    lki_identity earlier = line->identity;
    pthread_mutex_unlock(&session->monitor);

    int64_t dialed_us = lki_now_us();
    lk_status status = connect_line(line, &earlier, &found, &error);
    pthread_mutex_lock(&session->monitor);
    if (status == LK_OK && line_up(line, &found, dialed_us) != LK_OK) {
        lki_transport_close(found.transport);
        status = lki_error_no_memory(&error);
    }
    if (status == LK_OK)
        tell_up(line);
    else
        put_off(line, &error);
    pthread_cond_broadcast(&session->ended);
    line->dialing = false; /* last: from now on the keeper may join this thread */
    lki_keeper_kick(session);
    pthread_mutex_unlock(&session->monitor);
    return NULL;
}

static void dial(lki_line *line) {
    lki_error error;
    if (line->to_join)
        pthread_join(line->dialer, NULL);
    line->to_join = line->dialing = lki_thread_start(&line->dialer, dial_line, line);
    if (!line->dialing) {
        lki_error_set(&error, LK_NOMEM, "no thread can be started to connect again");
        put_off(line, &error);
    }
}

lk_status lki_server_open(lki_server *server, lki_error *error) {
    lki_session *session = server->session;
    dialed found;
    int64_t dialed_us = lki_now_us();
    lk_status status = connect_line(&server->commands, NULL, &found, error);
    if (status != LK_OK)
        return status;
    if (line_up(&server->commands, &found, dialed_us) != LK_OK) {
        lki_transport_close(found.transport);
        return lki_error_no_memory(error);
    }
    pthread_mutex_lock(&session->monitor);
    log_up(&server->commands);
    pthread_mutex_unlock(&session->monitor);
    return LK_OK;
}

static void join_dialer(lki_line *line) {
    if (line->to_join)
        pthread_join(line->dialer, NULL);
    line->to_join = false;
}

void lki_server_join_dialers(lki_server *server) {
    join_dialer(&server->commands);
    join_dialer(&server->messages);
}

void lki_server_dial_now(lki_server *server) {
    lki_line *line = &server->commands;
    if (lki_link_is_up(&line->link))
        return;
    line->failures = 1;
    line->next_dial_us = lki_now_us();
    lki_keeper_kick(server->session);
}

void lki_server_want_messages(lki_server *server) {
    lki_line *line = &server->messages;
    int64_t now_us = lki_now_us();
    bool put_off = line->wanted && !line->failures && line->next_dial_us > now_us;
    if (line->wanted && !put_off)
        return;
    line->wanted = true;
    line->next_dial_us = now_us;
    lki_keeper_kick(server->session);
}

void lki_server_want_messages_soon(lki_server *server) {
    lki_line *line = &server->messages;
    if (line->wanted)
        return;
    line->wanted = true;
    line->next_dial_us = lki_after_ms(lki_now_us(), UNHURRIED_MS);
    lki_keeper_wake_by(server->session, line->next_dial_us);
}

bool lki_server_is_subscribed(const lki_server *server) {
    return lki_link_is_up(&server->messages.link);
}

/* ------------------------------------------------------------------------------ keeping */

/* When it will have been silent for too long. */
static int64_t silent_us(const lki_line *line) {
    int64_t since_us = lki_link_silent_since_us(&line->link);
    int64_t end_us = lki_after_ms(since_us, line->server->session->settings.command_timeout_ms);
    return line->excused_us > end_us ? line->excused_us : end_us;
}

/* Once in a silence: a caller may read this connection, and not have come to it. */
static bool is_excused(lki_line *line, int64_t now_us) {
    if (line->excused_us >= lki_link_silent_since_us(&line->link) ||
        now_us <= silent_us(line) + LKI_LATE_US)
        return false;
    line->excused_us = now_us + LKI_GRACE_US;
    return true;
}

/* After SIGSTOP the reply may already be in the socket: so the keeper reads before it judges. */
static void break_if_silent(lki_line *line, int64_t now_us) {
    lki_session *session = line->server->session;
    lki_error error;
    if (now_us >= silent_us(line) && lki_link_keeper_take(&line->link))
        lki_link_keeper_read(&line->link);
    if (now_us < silent_us(line) || is_excused(line, now_us))
        return;
    lki_error_set(&error, LK_UNAVAILABLE, "%s: the server did not answer within %lld ms",
                  session->topology->shown, (long long)session->settings.command_timeout_ms);
    lki_link_break(&line->link, &error);
}

static int64_t earlier(int64_t a_us, int64_t b_us) {
    return a_us < b_us ? a_us : b_us;
}

static void heart_beats(lki_request *request, const redisReply *reply) {
    lki_line *line = (lki_line *)(void *)((char *)request - offsetof(lki_line, heartbeat));
    if (reply)
        line->published_us = request->sent_us;
}

static void send_heartbeat(lki_line *line, int64_t now_us) {
    lki_bytes *out = lki_link_begin(&line->link);
    lki_resp_command(out, 1);
    lki_resp_text(out, "PING");
    line->heartbeat.complete = heart_beats;
    lki_link_commit(&line->link, &line->heartbeat, now_us); /* without memory: the next one */
    line->heartbeat_us = lki_after_ms(now_us, heartbeat_ms(line->server));
}

/* Since when it may be that messages do not come, if it is now; LKI_NEVER: they do. */
static int64_t deaf_since_us(const lki_line *line) {
    if (!lki_link_is_up(&line->link))
        return line->down_since_us;
    return line->heartbeat.on_way ? lki_after_ms(line->heartbeat.sent_us, LATE_HEARTBEAT_MS)
                                  : LKI_NEVER;
}

/* The server has answered commands that were sent after the heartbeat, and not the heartbeat. */
static bool is_dead(const lki_line *line, int64_t now_us) {
    return line->heartbeat.on_way && now_us >= lki_after_ms(line->heartbeat.sent_us, DEAF_MS) &&
           lki_link_answered_sent_us(&line->server->commands.link) > line->heartbeat.sent_us;
}

/*
 * While messages do not come, waiters ask the server themselves: each refresh finds a grant, and
 * claims it. Returns when to look again.
 */
static int64_t ask_for_messages(lki_line *line, int64_t now_us) {
    lki_server *server = line->server;
    const lki_session *session = server->session;
    int64_t since_us = deaf_since_us(line);
    if (!server->waiting || since_us > now_us)
        return server->waiting ? since_us : LKI_NEVER;
    if (is_dead(line, now_us)) {
        lki_error error;
        lki_error_set(&error, LK_UNAVAILABLE, "%s: the connection for messages is dead",
                      session->topology->shown);
        lki_link_break(&line->link, &error);
    }
    if (now_us >= line->deaf_us && lki_link_is_up(&server->commands.link)) {
        session->events->unheard(session->context, server);
        line->deaf_us =
            lki_after_ms(now_us, LATE_HEARTBEAT_MS + (int64_t)(server->waiting / WAITERS_IN_A_MS));
    }
    return line->deaf_us > now_us ? line->deaf_us : LKI_NEVER; /* LKI_NEVER: it is told when up */
}

/* Of messages: a silent connection may be a dead one. Returns when to look again. */
static int64_t tend_messages(lki_line *line, int64_t now_us) {
    if (!is_messages(line) || !line->wanted)
        return LKI_NEVER;
    bool is_up = lki_link_is_up(&line->link);
    if (is_up && !line->heartbeat.on_way && now_us >= line->heartbeat_us)
        send_heartbeat(line, now_us);
    int64_t due_us = ask_for_messages(line, now_us);
    /* What is not answered is the business of break_if_silent(). */
    return is_up && !line->heartbeat.on_way ? earlier(due_us, line->heartbeat_us) : due_us;
}

void lki_server_count_waiters(lki_server *server, int all, int async) {
    lki_line *line = &server->messages;
    bool begins = !server->waiting && all > 0;
    server->waiting += (size_t)all;
    server->async_waiting += (size_t)async;
    if (!begins)
        return;
    int64_t due_us = lki_after_ms(lki_now_us(), WAITING_HEARTBEAT_MS);
    line->heartbeat_us = earlier(line->heartbeat_us, due_us);
    lki_keeper_wake_by(server->session, line->heartbeat_us);
}

int64_t lki_server_published_us(const lki_server *server) {
    return server->messages.published_us;
}

static void take_or_leave(lki_line *line, int64_t now_us) {
    lki_link *link = &line->link;
    bool messages = is_messages(line);
    bool to_read = messages || lki_link_has_requests(link);
    bool at_once = line->urgent || link->kept || (messages && line->server->async_waiting) ||
                   now_us >= link->unread_since_us + PATIENCE_US;
    bool taken = false;
    if (to_read && at_once && !(messages && lki_link_has_sleepers(link)))
        taken = lki_link_keeper_take(link);
    else
        lki_link_keeper_leave(link);
    if (taken || !to_read) /* otherwise a caller reads, and whoever is urgent comes after it */
        line->urgent = false;
}

static int64_t line_tend(lki_line *line, int64_t now_us) {
    lki_link *link = &line->link;
    break_if_silent(line, now_us);
    if (line->wanted && !lki_link_is_up(link) && !line->dialing && now_us >= line->next_dial_us)
        dial(line);
    int64_t due_us = tend_messages(line, now_us);
    drain(line->server);
    lki_link_flush(link);
    take_or_leave(line, now_us);
    if (!lki_link_is_up(link))
        return line->wanted && !line->dialing ? earlier(due_us, line->next_dial_us) : due_us;
    due_us = earlier(due_us, silent_us(line));
    bool to_read = is_messages(line) || lki_link_has_requests(link);
    if (to_read && !link->kept)
        due_us = earlier(due_us, now_us + 2 * PATIENCE_US);
    return due_us;
}

int64_t lki_server_tend(lki_server *server, int64_t now_us) {
    int64_t commands_us = line_tend(&server->commands, now_us);
    int64_t messages_us = line_tend(&server->messages, now_us);
    return earlier(commands_us, messages_us);
}

void lki_server_push(lki_server *server) {
    lki_line *line = &server->commands;
    drain(server);
    lki_link_flush(&line->link);
    if (lki_link_has_requests(&line->link)) {
        lki_server_hurry(server);
        lki_keeper_kick(server->session);
    }
}

void lki_server_hurry(lki_server *server) {
    server->commands.urgent = true;
}
