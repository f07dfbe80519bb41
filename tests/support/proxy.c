/* The proxy as its test sees it. See proxy.h. */
#include "proxy_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(PROXY_COMMANDS == 1 << PROXY_COMMAND, "a kind is the bit of its index");
static_assert(PROXY_SUBSCRIPTIONS == 1 << PROXY_SUBSCRIPTION, "a kind is the bit of its index");
static_assert(PROXY_TO_SERVER == 1 << PROXY_SERVER, "a direction is the bit of its index");
static_assert(PROXY_TO_CLIENT == 1 << PROXY_CLIENT, "a direction is the bit of its index");

static void remove_connection(proxy_connection **link) {
    proxy_connection *gone = *link;
    *link = gone->next;
    proxy_connection_free(gone);
}

static void accept_all(proxy *owner) {
    int client;
    while ((client = unix_listener_accept(&owner->loop.listener)) >= 0) {
        int server = owner->refuses ? -1 : unix_connect(owner->server_socket);
        owner->ever++;
        if (server < 0) {
            unix_close(client);
            continue;
        }
        proxy_connection *connection = proxy_connection_new(owner, server, client);
        connection->next = owner->connections;
        owner->connections = connection;
    }
}

static int serve(void *argument) {
    proxy *owner = argument;
    int most_ms = -1;
    accept_all(owner);
    proxy_connection **link = &owner->connections;
    while (*link) {
        int own_ms = proxy_connection_serve(*link);
        if (own_ms >= 0 && (most_ms < 0 || own_ms < most_ms))
            most_ms = own_ms;
        if ((*link)->over)
            remove_connection(link);
        else
            link = &(*link)->next;
    }
    return most_ms;
}

proxy *proxy_start(const char *server_socket) {
    proxy *owner = test_alloc(1, sizeof *owner);
    owner->server_socket = test_copy(server_socket, strlen(server_socket));
    if (socket_loop_start(&owner->loop, serve, owner))
        return owner;
    free(owner->server_socket);
    free(owner);
    return NULL;
}

void proxy_stop(proxy *owner) {
    if (!owner)
        return;
    socket_loop_stop(&owner->loop);
    while (owner->connections)
        remove_connection(&owner->connections);
    free(owner->server_socket);
    free(owner);
}

const char *proxy_socket(const proxy *owner) {
    return owner->loop.listener.path;
}

static void set_paused(proxy *owner, proxy_kinds kinds, proxy_directions directions, bool paused) {
    socket_loop_enter(&owner->loop);
    for (int sort = 0; sort < PROXY_SORTS; sort++)
        for (int way = 0; way < PROXY_WAYS; way++)
            if ((kinds & (1 << sort)) && (directions & (1 << way)))
                owner->paused[sort][way] = paused;
    socket_loop_leave(&owner->loop);
}

void proxy_pause(proxy *owner, proxy_kinds kinds, proxy_directions directions) {
    set_paused(owner, kinds, directions, true);
}

void proxy_resume(proxy *owner, proxy_kinds kinds, proxy_directions directions) {
    set_paused(owner, kinds, directions, false);
}

void proxy_delay(proxy *owner, proxy_kinds kinds, proxy_directions directions, int delay_ms) {
    socket_loop_enter(&owner->loop);
    for (int sort = 0; sort < PROXY_SORTS; sort++)
        for (int way = 0; way < PROXY_WAYS; way++)
            if ((kinds & (1 << sort)) && (directions & (1 << way)))
                owner->delay_ms[sort][way] = delay_ms;
    socket_loop_leave(&owner->loop);
}

void proxy_cut_all(proxy *owner, proxy_kinds kinds) {
    socket_loop_enter(&owner->loop);
    proxy_connection **link = &owner->connections;
    while (*link) {
        if (kinds & (1 << (*link)->sort))
            remove_connection(link);
        else
            link = &(*link)->next;
    }
    socket_loop_leave(&owner->loop);
}

static void set_plan(proxy *owner, proxy_plan *plan, proxy_kinds kinds, size_t n) {
    socket_loop_enter(&owner->loop);
    *plan = (proxy_plan){.kinds = kinds, .n = n};
    socket_loop_leave(&owner->loop);
}

void proxy_cut_before_request(proxy *owner, proxy_kinds kinds, size_t n) {
    set_plan(owner, &owner->cut_before, kinds, n);
}

void proxy_cut_after_request(proxy *owner, proxy_kinds kinds, size_t n) {
    set_plan(owner, &owner->cut_after, kinds, n);
}

void proxy_refuse(proxy *owner, bool refuse) {
    socket_loop_enter(&owner->loop);
    owner->refuses = refuse;
    socket_loop_leave(&owner->loop);
}

void proxy_unlisten(proxy *owner) {
    socket_loop_enter(&owner->loop);
    unix_listener_unlisten(&owner->loop.listener);
    socket_loop_leave(&owner->loop);
}

bool proxy_listen(proxy *owner) {
    socket_loop_enter(&owner->loop);
    bool listens = unix_listener_listen(&owner->loop.listener);
    socket_loop_leave(&owner->loop);
    return listens;
}

static size_t count_connections(const proxy *owner, proxy_kinds kinds) {
    size_t count = 0;
    for (const proxy_connection *each = owner->connections; each; each = each->next)
        count += !each->flows[PROXY_SERVER].source_ended && (kinds & (1 << each->sort));
    return count;
}

static size_t count_requests(const proxy *owner, proxy_kinds kinds) {
    size_t count = 0;
    for (int sort = 0; sort < PROXY_SORTS; sort++)
        count += kinds & (1 << sort) ? owner->requests[sort] : 0;
    return count;
}

size_t proxy_connections_now(proxy *owner, proxy_kinds kinds) {
    socket_loop_enter(&owner->loop);
    size_t count = count_connections(owner, kinds);
    socket_loop_leave(&owner->loop);
    return count;
}

static size_t get_count(proxy *owner, const size_t *counter) {
    socket_loop_enter(&owner->loop);
    size_t count = *counter;
    socket_loop_leave(&owner->loop);
    return count;
}

size_t proxy_connections_ever(proxy *owner) {
    return get_count(owner, &owner->ever);
}

size_t proxy_cuts(proxy *owner) {
    return get_count(owner, &owner->cuts);
}

bool proxy_wait_connections(proxy *owner, proxy_kinds kinds, size_t count, int timeout_ms) {
    int64_t deadline_ms = socket_loop_now_ms() + timeout_ms;
    bool in_time = true;
    socket_loop_enter(&owner->loop);
    while (count_connections(owner, kinds) != count && in_time)
        in_time = socket_loop_wait(&owner->loop, deadline_ms);
    socket_loop_leave(&owner->loop);
    return in_time;
}

size_t proxy_requests(proxy *owner, proxy_kinds kinds) {
    socket_loop_enter(&owner->loop);
    size_t count = count_requests(owner, kinds);
    socket_loop_leave(&owner->loop);
    return count;
}

bool proxy_wait_requests(proxy *owner, proxy_kinds kinds, size_t count, int timeout_ms) {
    int64_t deadline_ms = socket_loop_now_ms() + timeout_ms;
    bool in_time = true;
    socket_loop_enter(&owner->loop);
    while (count_requests(owner, kinds) < count && in_time)
        in_time = socket_loop_wait(&owner->loop, deadline_ms);
    socket_loop_leave(&owner->loop);
    return in_time;
}

static uint64_t count_bytes(const uint64_t *counters, proxy_directions directions) {
    uint64_t count = 0;
    for (int way = 0; way < PROXY_WAYS; way++)
        count += directions & (1 << way) ? counters[way] : 0;
    return count;
}

uint64_t proxy_bytes_taken(proxy *owner, proxy_directions directions) {
    socket_loop_enter(&owner->loop);
    uint64_t count = count_bytes(owner->bytes_taken, directions);
    socket_loop_leave(&owner->loop);
    return count;
}

uint64_t proxy_bytes_passed(proxy *owner, proxy_directions directions) {
    socket_loop_enter(&owner->loop);
    uint64_t count = count_bytes(owner->bytes_passed, directions);
    socket_loop_leave(&owner->loop);
    return count;
}

bool proxy_wait_taken(proxy *owner, proxy_directions directions, uint64_t bytes, int timeout_ms) {
    int64_t deadline_ms = socket_loop_now_ms() + timeout_ms;
    bool in_time = true;
    socket_loop_enter(&owner->loop);
    while (count_bytes(owner->bytes_taken, directions) < bytes && in_time)
        in_time = socket_loop_wait(&owner->loop, deadline_ms);
    socket_loop_leave(&owner->loop);
    return in_time;
}
