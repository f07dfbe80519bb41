/* The proxy as its test sees it. See proxy.h. */
#include "proxy_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(PROXY_COMMANDS == 1 << PROXY_COMMAND, "a kind is the bit of its index");
static_assert(PROXY_SUBSCRIPTIONS == 1 << PROXY_SUBSCRIPTION, "a kind is the bit of its index");
static_assert(PROXY_TO_SERVER == 1 << PROXY_SERVER, "a direction is the bit of its index");
static_assert(PROXY_TO_CLIENT == 1 << PROXY_CLIENT, "a direction is the bit of its index");

static proxy_connection *first(const proxy *owner) {
    return (proxy_connection *)owner->loop.connections;
}

static proxy_connection *next(const proxy_connection *each) {
    return (proxy_connection *)each->base.next;
}

static void free_proxy(proxy *owner) {
    free(owner->server_socket);
    free(owner);
}

proxy *proxy_start(const char *server_socket) {
    proxy *owner = test_alloc(1, sizeof *owner);
    owner->server_socket = test_copy(server_socket, strlen(server_socket));
    if (socket_loop_start(&owner->loop, &proxy_service, owner))
        return owner;
    free_proxy(owner);
    return NULL;
}

void proxy_stop(proxy *owner) {
    if (!owner)
        return;
    socket_loop_stop(&owner->loop);
    free_proxy(owner);
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

void proxy_trickle(proxy *owner, proxy_kinds kinds, int byte_ms) {
    socket_loop_enter(&owner->loop);
    for (int sort = 0; sort < PROXY_SORTS; sort++)
        if (kinds & (1 << sort))
            owner->byte_ms[sort] = byte_ms;
    socket_loop_leave(&owner->loop);
}

void proxy_cut_all(proxy *owner, proxy_kinds kinds) {
    socket_loop_enter(&owner->loop);
    for (proxy_connection *each = first(owner); each; each = next(each))
        each->base.over = each->base.over || (kinds & (1 << each->sort));
    socket_loop_sweep(&owner->loop);
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
    for (const proxy_connection *each = first(owner); each; each = next(each))
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

size_t proxy_connections_ever(proxy *owner) {
    return socket_loop_ever(&owner->loop);
}

size_t proxy_cuts(proxy *owner) {
    socket_loop_enter(&owner->loop);
    size_t count = owner->cuts;
    socket_loop_leave(&owner->loop);
    return count;
}

bool proxy_wait_connections(proxy *owner, proxy_kinds kinds, size_t count, int timeout_ms) {
    socket_loop_wait wait = socket_loop_wait_begin(&owner->loop, timeout_ms);
    while (count_connections(owner, kinds) != count && socket_loop_wait_more(&wait)) {}
    return socket_loop_wait_end(&wait);
}

size_t proxy_requests(proxy *owner, proxy_kinds kinds) {
    socket_loop_enter(&owner->loop);
    size_t count = count_requests(owner, kinds);
    socket_loop_leave(&owner->loop);
    return count;
}

bool proxy_wait_requests(proxy *owner, proxy_kinds kinds, size_t count, int timeout_ms) {
    socket_loop_wait wait = socket_loop_wait_begin(&owner->loop, timeout_ms);
    while (count_requests(owner, kinds) < count && socket_loop_wait_more(&wait)) {}
    return socket_loop_wait_end(&wait);
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
    socket_loop_wait wait = socket_loop_wait_begin(&owner->loop, timeout_ms);
    while (count_bytes(owner->bytes_taken, directions) < bytes && socket_loop_wait_more(&wait)) {}
    return socket_loop_wait_end(&wait);
}
