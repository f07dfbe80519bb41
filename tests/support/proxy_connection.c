/*
 * One connection through the proxy: units are taken from one side, wait until they are due, and are
 * passed to the other. Knows nothing of other connections. See proxy.h.
 */
#include "proxy_private.h"

#include <stdlib.h>
#include <sys/socket.h>

static socket_connection *open_connection(void *owner, int client) {
    proxy *through = owner;
    int server = through->refuses ? -1 : unix_connect(through->server_socket);
    if (server < 0)
        return NULL;
    proxy_connection *connection = test_alloc(1, sizeof *connection);
    connection->proxy = through;
    connection->fds[PROXY_SERVER] = server;
    connection->fds[PROXY_CLIENT] = client;
    for (int way = 0; way < PROXY_WAYS; way++)
        connection->flows[way].end = &connection->flows[way].first;
    return &connection->base;
}

static void drop_first(proxy_flow *flow) {
    proxy_unit *unit = flow->first;
    flow->first = unit->next;
    if (!flow->first)
        flow->end = &flow->first;
    free(unit->bytes);
    free(unit);
}

static void empty(proxy_flow *flow) {
    while (flow->first)
        drop_first(flow);
    unix_text_cut(&flow->taken, flow->taken.length);
    unix_text_cut(&flow->leaving, flow->leaving.length);
}

static void close_connection(socket_connection *base) {
    proxy_connection *connection = (proxy_connection *)base;
    for (int way = 0; way < PROXY_WAYS; way++) {
        unix_close(connection->fds[way]);
        empty(&connection->flows[way]);
        free(connection->flows[way].taken.bytes);
        free(connection->flows[way].leaving.bytes);
    }
    free(connection);
}

static bool is_paused(const proxy_connection *connection, int way) {
    return connection->proxy->paused[connection->sort][way];
}

/* Counts a request for a plan; whether this is the one. */
static bool is_planned(proxy_plan *plan, const proxy_connection *connection) {
    return plan->n > 0 && (plan->kinds & (1 << connection->sort)) && --plan->n == 0;
}

static bool is_answer(const proxy_connection *connection, const char *bytes, size_t length) {
    return connection->sort != PROXY_SUBSCRIPTION || !resp_is_message(bytes, length);
}

static void cut(proxy_connection *connection) {
    connection->proxy->cuts++;
    connection->base.over = true;
}

/* What a whole request changes. Returns how many values will answer it. */
static size_t note_request(proxy_connection *connection, const char *bytes, size_t length) {
    size_t answers = 1;
    resp_command command;
    if (resp_command_read(&command, bytes, length) == length) {
        if (resp_command_subscribes(&command))
            connection->sort = PROXY_SUBSCRIPTION;
        answers = resp_command_answers(&command);
        resp_command_clear(&command);
    }
    connection->proxy->requests[connection->sort]++;
    return answers;
}

static void add_unit(proxy_connection *connection, int way, size_t length) {
    proxy_flow *flow = &connection->flows[way];
    proxy_unit *unit = test_alloc(1, sizeof *unit);
    unit->bytes = test_copy(flow->taken.bytes, length);
    unit->length = length;
    unix_text_cut(&flow->taken, length);
    if (way == PROXY_SERVER)
        unit->answers = note_request(connection, unit->bytes, length);
    else if (is_answer(connection, unit->bytes, length))
        connection->answered++;
    unit->due_ms = socket_loop_now_ms() + connection->proxy->delay_ms[connection->sort][way];
    *flow->end = unit;
    flow->end = &unit->next;
}

/* Takes what has come. What cannot be read, or will never be whole, is passed on as it is. */
static void take(proxy_connection *connection, int way) {
    proxy_flow *flow = &connection->flows[way];
    if (flow->source_ended)
        return;
    size_t before = flow->taken.length;
    flow->source_ended = !unix_receive(connection->fds[!way], &flow->taken);
    connection->proxy->bytes_taken[way] += flow->taken.length - before;
    while (flow->taken.length > 0 && !connection->base.over) {
        size_t length = resp_value_length(flow->taken.bytes, flow->taken.length);
        if (length == RESP_BROKEN || (length == 0 && flow->source_ended))
            length = flow->taken.length;
        if (length == 0)
            break;
        if (way == PROXY_CLIENT && connection->doomed &&
            connection->answered == connection->last_words &&
            is_answer(connection, flow->taken.bytes, length))
            cut(connection);
        else
            add_unit(connection, way, length);
    }
}

/* Whether the request at the head may go to the server, and what follows from that. */
static bool let_pass(proxy_connection *connection, const proxy_unit *request) {
    if (is_planned(&connection->proxy->cut_before, connection)) {
        cut(connection);
        return false;
    }
    if (is_planned(&connection->proxy->cut_after, connection)) {
        connection->doomed = true;
        connection->last_words = connection->asked;
    }
    connection->asked += request->answers;
    return true;
}

/* Nothing follows the request that a connection is doomed by: the server does just that one. */
static bool may_pass(const proxy_connection *connection, int way) {
    return connection->flows[way].first && !is_paused(connection, way) &&
           !(way == PROXY_SERVER && connection->doomed);
}

static int byte_ms_of(const proxy_connection *connection, int way) {
    return way == PROXY_CLIENT ? connection->proxy->byte_ms[connection->sort] : 0;
}

/* How many bytes may be sent now. */
static size_t may_leave(proxy_connection *connection, int way) {
    proxy_flow *flow = &connection->flows[way];
    int byte_ms = byte_ms_of(connection, way);
    int64_t now_ms = socket_loop_now_ms();
    if (!byte_ms)
        return SIZE_MAX;
    if (now_ms < flow->next_byte_ms)
        return 0;
    flow->next_byte_ms = now_ms + byte_ms;
    return 1;
}

static void pass(proxy_connection *connection, int way) {
    proxy_flow *flow = &connection->flows[way];
    while (may_pass(connection, way) && flow->first->due_ms <= socket_loop_now_ms()) {
        if (way == PROXY_SERVER && !let_pass(connection, flow->first))
            break;
        test_text_add(&flow->leaving, flow->first->bytes, flow->first->length);
        drop_first(flow);
    }
    size_t before = flow->leaving.length;
    bool connected = unix_send(connection->fds[way], &flow->leaving, may_leave(connection, way));
    connection->proxy->bytes_passed[way] += before - flow->leaving.length;
    if (!connected)
        unix_text_cut(&flow->leaving, flow->leaving.length);
}

/* Passes on the end of one side. */
static void pass_end(proxy_connection *connection) {
    proxy_flow *to_server = &connection->flows[PROXY_SERVER];
    proxy_flow *to_client = &connection->flows[PROXY_CLIENT];
    if (to_server->source_ended) { /* nobody reads the answers any more */
        empty(to_client);
        bool still_here = to_server->first || to_server->leaving.length > 0;
        if (!still_here && !to_server->told_sink && !is_paused(connection, PROXY_SERVER)) {
            shutdown(connection->fds[PROXY_SERVER], SHUT_WR);
            to_server->told_sink = true;
        }
        if (to_client->source_ended)
            connection->base.over = true;
    } else if (to_client->source_ended && !to_client->first && to_client->leaving.length == 0 &&
               !is_paused(connection, PROXY_CLIENT)) {
        connection->base.over = true;
    }
}

/* The sooner of two waits, of which the first may be none (-1). */
static int sooner(int most_ms, int64_t wait_ms) {
    int ms = wait_ms > 0 ? (int)wait_ms : 0;
    return most_ms < 0 || ms < most_ms ? ms : most_ms;
}

static int watch(proxy_connection *connection) {
    int most_ms = -1;
    int64_t now_ms = socket_loop_now_ms();
    for (int way = 0; way < PROXY_WAYS; way++) {
        const proxy_flow *flow = &connection->flows[way];
        if (!flow->source_ended)
            socket_loop_watch(&connection->proxy->loop, connection->fds[!way], false);
        bool trickles = flow->leaving.length > 0 && byte_ms_of(connection, way) > 0;
        if (trickles)
            most_ms = sooner(most_ms, flow->next_byte_ms - now_ms);
        else if (flow->leaving.length > 0)
            socket_loop_watch(&connection->proxy->loop, connection->fds[way], true);
        if (may_pass(connection, way)) /* it may have come due since pass() looked */
            most_ms = sooner(most_ms, flow->first->due_ms - now_ms);
    }
    return most_ms;
}

static int serve_connection(socket_connection *base) {
    proxy_connection *connection = (proxy_connection *)base;
    for (int way = 0; way < PROXY_WAYS; way++) {
        take(connection, way);
        pass(connection, way);
    }
    pass_end(connection);
    return base->over ? -1 : watch(connection);
}

const socket_service proxy_service = {open_connection, serve_connection, close_connection};
