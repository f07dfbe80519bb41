/* The fake server as its test sees it. See fake_server.h. */
#include "fake_private.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static fake_connection *first(const fake_server *server) {
    return (fake_connection *)server->loop.connections;
}

static fake_connection *next(const fake_connection *each) {
    return (fake_connection *)each->base.next;
}

/* No two of them alike, so that a client sees one fake server replaced by another. */
static void make_run_id(fake_server *server) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(server->run_id, sizeof server->run_id, "%08x%016llx%08lx%08x", (unsigned)getpid(),
             (unsigned long long)now.tv_sec, (unsigned long)now.tv_nsec,
             (unsigned)((uintptr_t)server >> 4));
}

static void free_server(fake_server *server) {
    while (server->record) {
        fake_received *received = server->record;
        server->record = received->next;
        resp_command_clear(&received->command);
        free(received->decision.reply);
        free(received);
    }
    fake_rules_clear(&server->rules, false);
    free(server->upstream);
    free(server);
}

fake_server *fake_server_start(const char *upstream) {
    fake_server *server = test_alloc(1, sizeof *server);
    server->upstream = upstream ? test_copy(upstream, strlen(upstream)) : NULL;
    server->record_end = &server->record;
    make_run_id(server);
    if (socket_loop_start(&server->loop, &fake_service, server))
        return server;
    free_server(server);
    return NULL;
}

void fake_server_stop(fake_server *server) {
    if (!server)
        return;
    socket_loop_stop(&server->loop);
    free_server(server);
}

const char *fake_server_socket(const fake_server *server) {
    return server->loop.listener.path;
}

static void add_rule(fake_server *server, const char *pattern, int times, fake_action action,
                     const char *reply) {
    socket_loop_enter(&server->loop);
    fake_rules_add(&server->rules, pattern, times, action, reply);
    socket_loop_leave(&server->loop);
}

void fake_server_on(fake_server *server, const char *pattern, int times, const char *reply) {
    add_rule(server, pattern, times, FAKE_PASS, reply);
}

void fake_server_do(fake_server *server, const char *pattern, int times, fake_action action) {
    add_rule(server, pattern, times, action, NULL);
}

void fake_server_hold(fake_server *server, const char *pattern) {
    add_rule(server, pattern, FAKE_FOREVER, FAKE_HOLD, NULL);
}

void fake_server_let_go(fake_server *server) {
    socket_loop_enter(&server->loop);
    fake_rules_clear(&server->rules, true);
    for (fake_connection *each = first(server); each; each = next(each))
        if (each->first && each->first->decision.what == FAKE_HELD)
            each->first->decision.what = FAKE_UNDECIDED;
    socket_loop_leave(&server->loop);
}

void fake_server_forget(fake_server *server) {
    socket_loop_enter(&server->loop);
    fake_rules_clear(&server->rules, false);
    socket_loop_leave(&server->loop);
}

static size_t count_received(const fake_server *server, const char *pattern) {
    size_t count = 0;
    for (const fake_received *each = server->record; each; each = each->next)
        count += resp_command_matches(&each->command, pattern);
    return count;
}

size_t fake_server_count(fake_server *server, const char *pattern) {
    socket_loop_enter(&server->loop);
    size_t count = count_received(server, pattern);
    socket_loop_leave(&server->loop);
    return count;
}

bool fake_server_wait_for(fake_server *server, const char *pattern, size_t count, int timeout_ms) {
    socket_loop_wait wait = socket_loop_wait_begin(&server->loop, timeout_ms);
    while (count_received(server, pattern) < count && socket_loop_wait_more(&wait)) {}
    return socket_loop_wait_end(&wait);
}

static size_t count_connections(const fake_server *server) {
    size_t count = 0;
    for (const fake_connection *each = first(server); each; each = next(each))
        count += !each->client_gone;
    return count;
}

size_t fake_server_connections_now(fake_server *server) {
    socket_loop_enter(&server->loop);
    size_t count = count_connections(server);
    socket_loop_leave(&server->loop);
    return count;
}

size_t fake_server_connections_ever(fake_server *server) {
    return socket_loop_ever(&server->loop);
}

bool fake_server_wait_connections(fake_server *server, size_t count, int timeout_ms) {
    socket_loop_wait wait = socket_loop_wait_begin(&server->loop, timeout_ms);
    while (count_connections(server) != count && socket_loop_wait_more(&wait)) {}
    return socket_loop_wait_end(&wait);
}

void fake_server_drop_all(fake_server *server) {
    socket_loop_enter(&server->loop);
    for (fake_connection *each = first(server); each; each = next(each))
        each->base.over = true;
    socket_loop_sweep(&server->loop);
    socket_loop_leave(&server->loop);
}

static size_t send_to_listeners(fake_server *server, const char *bytes, size_t length) {
    size_t count = 0;
    socket_loop_enter(&server->loop);
    for (fake_connection *each = first(server); each; each = next(each)) {
        if (fake_connection_listens(each)) {
            test_text_add(&each->out, bytes, length);
            count++;
        }
    }
    socket_loop_leave(&server->loop);
    return count;
}

size_t fake_server_send(fake_server *server, const char *raw) {
    return send_to_listeners(server, raw, strlen(raw));
}

size_t fake_server_publish(fake_server *server, const char *channel, const char *message) {
    test_text value = {0};
    test_text_print(&value, "*3\r\n$7\r\nmessage\r\n");
    resp_add_bulk(&value, channel, strlen(channel));
    resp_add_bulk(&value, message, strlen(message));
    size_t count = send_to_listeners(server, value.bytes, value.length);
    free(value.bytes);
    return count;
}
