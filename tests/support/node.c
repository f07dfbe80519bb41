/* See node.h. */
#include "node.h"

#include "port.h"
#include "test_memory.h"
#include "tls_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MOST_S = 10 };

struct test_node {
    test_node_kind kind;
    test_port port, bus_port;
    char *user, *password, *command_at_start; /* each may be NULL */
    bool tls;
    const test_places *places; /* NULL: it has no place */
    size_t place;
    test_server *server;
};

static char *copy_or_null(const char *text) {
    return text ? test_copy(text, strlen(text)) : NULL;
}

/*
 * These are in the settings file, not in the command line: a server that rewrites the file adds its
 * users there, and refuses to start when it finds one of them in the command line as well.
 */
static void print_users(test_text *settings, const test_node *node) {
    if (!node->password)
        return;
    if (node->user)
        test_text_print(settings, "user %s on >%s ~* &* +@all\nuser default off\n", node->user,
                        node->password);
    else
        test_text_print(settings, "requirepass \"%s\"\n", node->password);
    if (node->kind == TEST_NODE_SENTINEL)
        return;
    test_text_print(settings, "masterauth \"%s\"\n", node->password);
    if (node->user)
        test_text_print(settings, "masteruser \"%s\"\n", node->user);
}

/* Nodes also use TLS among themselves. None of them asks another for a certificate. */
static void add_tls(test_words *words) {
    test_words_add(words, "--tls-cert-file", certificate_file("here.crt"), "--tls-key-file",
                   certificate_file("here.key"), "--tls-ca-cert-file", certificate_file("ca.crt"),
                   "--tls-auth-clients", "no", "--tls-replication", "yes", "--tls-cluster", "yes",
                   NULL);
}

static void add_options(test_words *words, const test_node *node) {
    char *port = test_print("%d", node->port.number);
    char *bus_port = test_print("%d", node->bus_port.number);
    test_words_add(words, "--bind", test_node_address(node), node->tls ? "--tls-port" : "--port",
                   port, NULL);
    if (node->tls)
        add_tls(words);
    if (node->places) /* otherwise a server without a password refuses all addresses but 127.0.0.1 */
        test_words_add(words, "--protected-mode", "no", NULL);
    if (node->kind == TEST_NODE_SENTINEL)
        test_words_add(words, "--sentinel", NULL);
    if (node->kind == TEST_NODE_CLUSTER)
        test_words_add(words, "--cluster-enabled", "yes", "--cluster-port", bus_port, NULL);
    free(port);
    free(bus_port);
}

static void send_command_at_start(const test_node *node) {
    if (node->command_at_start)
        freeReplyObject(test_node_ask(node, node->command_at_start));
}

static void enter_place(const test_node *node) {
    if (node->places)
        test_places_enter(node->places, node->place);
}

static void leave_place(const test_node *node) {
    if (node->places)
        test_places_leave(node->places);
}

static test_server *start_server(const test_node *node, const test_node_options *options) {
    const char *program = options->program ? options->program : test_server_any();
    test_text settings = {0};
    test_words words = {0};
    test_text_print(&settings, "%s", options->settings ? options->settings : "");
    print_users(&settings, node);
    add_options(&words, node);
    test_words_add_all(&words, options->options);
    enter_place(node);
    test_server *server = (options->clock ? test_server_start_with_clock_and_settings
                                          : test_server_start_with_settings)(
        program, settings.bytes, (const char *const *)words.list);
    leave_place(node);
    free(settings.bytes);
    test_words_free(&words);
    return server;
}

test_node *test_node_start(const test_node_options *options) {
    test_node *node = test_alloc(1, sizeof *node);
    node->kind = options->kind;
    node->user = copy_or_null(options->user);
    node->password = copy_or_null(options->password);
    node->command_at_start = copy_or_null(options->command_at_start);
    node->tls = options->tls;
    node->places = options->places;
    node->place = options->place;
    if (!test_port_reserve(&node->port) ||
        (node->kind == TEST_NODE_CLUSTER && !test_port_reserve(&node->bus_port)))
        goto failed;
    node->server = start_server(node, options);
    if (!node->server)
        goto failed;
    send_command_at_start(node);
    return node;

failed:
    test_node_stop(node);
    return NULL;
}

void test_node_stop(test_node *node) {
    if (!node)
        return;
    test_server_stop(node->server);
    test_port_release(&node->port);
    test_port_release(&node->bus_port);
    free(node->user);
    free(node->password);
    free(node->command_at_start);
    free(node);
}

const char *test_node_address(const test_node *node) {
    return node->places ? test_places_address(node->places, node->place) : "127.0.0.1";
}

int test_node_port(const test_node *node) {
    return node->port.number;
}

int test_node_bus_port(const test_node *node) {
    return node->bus_port.number;
}

test_server *test_node_server(const test_node *node) {
    return node->server;
}

void test_node_kill(test_node *node) {
    test_server_end(node->server, SIGKILL);
}

bool test_node_restart(test_node *node) {
    test_server_end(node->server, SIGKILL);
    enter_place(node);
    bool is_back = test_server_start_again(node->server);
    leave_place(node);
    if (!is_back)
        return false;
    send_command_at_start(node);
    return true;
}

void test_node_pause(test_node *node) {
    test_server_pause(node->server);
}

void test_node_continue(test_node *node) {
    test_server_continue(node->server);
}

bool test_node_runs(const test_node *node) {
    return test_server_runs(node->server);
}

static bool log_in(const test_node *node, redisContext *link) {
    if (!node->password)
        return true;
    redisReply *reply = node->user ? redisCommand(link, "AUTH %s %s", node->user, node->password)
                                   : redisCommand(link, "AUTH %s", node->password);
    bool accepted = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return accepted;
}

redisContext *test_node_connect(const test_node *node) {
    const struct timeval most = {.tv_sec = ANSWER_MOST_S};
    if (!test_node_runs(node))
        return NULL;
    redisContext *link = redisConnectUnixWithTimeout(test_server_socket(node->server), most);
    if (link && !link->err && redisSetTimeout(link, most) == REDIS_OK && log_in(node, link))
        return link;
    redisFree(link);
    return NULL;
}

static redisReply *ask(const test_node *node, const char *format, va_list arguments) {
    redisContext *link = test_node_connect(node);
    redisReply *reply = link ? redisvCommand(link, format, arguments) : NULL;
    redisFree(link);
    return reply;
}

redisReply *test_node_ask(const test_node *node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = ask(node, format, arguments);
    va_end(arguments);
    return reply;
}

bool test_node_tell(const test_node *node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = ask(node, format, arguments);
    va_end(arguments);
    bool accepted = reply && reply->type != REDIS_REPLY_ERROR;
    if (!accepted)
        fprintf(stderr, "port %d: %s: %s\n", node->port.number, format,
                reply ? reply->str : "no answer");
    freeReplyObject(reply);
    return accepted;
}

/* A master: "master", …; a replica: "slave", host, port of the master, state, …. */
static void read_role(const redisReply *reply, test_role *role) {
    *role = (test_role){.is_master = strcmp(reply->element[0]->str, "master") == 0};
    if (!role->is_master && reply->elements >= 4) {
        role->master_port = (int)reply->element[2]->integer;
        role->in_sync = strcmp(reply->element[3]->str, "connected") == 0;
    }
}

bool test_node_get_role(const test_node *node, test_role *role) {
    redisReply *reply = test_node_ask(node, "ROLE");
    bool answered = reply && reply->type == REDIS_REPLY_ARRAY;
    if (answered)
        read_role(reply, role);
    freeReplyObject(reply);
    return answered;
}

bool test_node_is_master(const test_node *node) {
    test_role role;
    return test_node_get_role(node, &role) && role.is_master;
}

void test_node_describe(const test_node *node) {
    test_role role;
    fprintf(stderr, "port %d: ", node->port.number);
    if (!test_node_runs(node))
        fprintf(stderr, "does not run\n");
    else if (!test_node_get_role(node, &role))
        fprintf(stderr, "does not answer\n");
    else if (role.is_master)
        fprintf(stderr, "master\n");
    else
        fprintf(stderr, "replica of port %d, %sin sync\n", role.master_port,
                role.in_sync ? "" : "not ");
}

char *test_node_hosts(test_node *const *nodes, size_t count) {
    test_text hosts = {0};
    for (size_t i = 0; i < count; i++)
        test_text_print(&hosts, "%s%s:%d", i ? "," : "", test_node_address(nodes[i]),
                        nodes[i]->port.number);
    return hosts.bytes;
}
