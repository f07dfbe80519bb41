/*
 * One real server of several: it listens on a TCP port of 127.0.0.1 and on a Unix socket. The port
 * stays reserved for it while it is ended. A node does not know the others: sentinels.h and
 * cluster.h put nodes together.
 *
 * Start nodes on a thread that outlives them (server.h says why).
 */
#ifndef TEST_NODE_H
#define TEST_NODE_H

#include "places.h"
#include "server.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>

typedef struct test_node test_node;

typedef enum { TEST_NODE_PLAIN, TEST_NODE_SENTINEL, TEST_NODE_CLUSTER } test_node_kind;

typedef struct {
    test_node_kind kind;
    const char *program;          /* default: test_server_any() */
    const char *user, *password;  /* that every client must log in with; default: none */
    const char *settings;         /* lines of its settings file; default: none */
    const char *const *options;   /* further words of its command line, ended by NULL */
    const char *command_at_start; /* sent after each start, its answer ignored; default: none */
    bool tls;                     /* its port is for TLS; certificates_make() comes first */
    bool clock;                   /* test_server_step_clock() can step its wall clock */
    const test_places *places;    /* which outlive the node; default: none, it is on 127.0.0.1 */
    size_t place;                 /* of these */
} test_node_options;

/*
 * Returns when the node answers. NULL when that fails, after saying why on stderr. The texts of the
 * options are copied.
 */
test_node *test_node_start(const test_node_options *);
void test_node_stop(test_node *); /* NULL is fine */

const char *test_node_address(const test_node *); /* "127.0.0.1" if it has no place */
int test_node_port(const test_node *);            /* no other node of this machine has the same */
int test_node_bus_port(const test_node *);        /* of a cluster's node; otherwise 0 */
test_server *test_node_server(const test_node *);

void test_node_kill(test_node *); /* SIGKILL */
/* Ends the node if it has not ended yet. False when it does not answer again. */
bool test_node_restart(test_node *);
void test_node_pause(test_node *); /* SIGSTOP */
void test_node_continue(test_node *);
bool test_node_runs(const test_node *); /* it is neither killed nor paused */

/* A new connection to the node's Unix socket, logged in. NULL: the node does not run or answer. */
redisContext *test_node_connect(const test_node *);

/*
 * Sends one command on a connection of its own, in the format of redisCommand(). Returns the
 * answer, which the caller frees. NULL: the node does not run or does not answer.
 */
redisReply *test_node_ask(const test_node *, const char *format, ...);

/* The same. False: there is no answer or it is an error, which is printed on stderr. */
bool test_node_tell(const test_node *, const char *format, ...);

/* The answer of ROLE. */
typedef struct {
    bool is_master;
    int master_port; /* of a replica */
    bool in_sync;    /* of a replica: it is connected to its master and has its data */
} test_role;

bool test_node_get_role(const test_node *, test_role *); /* false: no answer */
bool test_node_is_master(const test_node *);

/* Says on stderr what the node is and whether it runs: for a wait that was in vain. */
void test_node_describe(const test_node *);

/* "ADDRESS:PORT,ADDRESS:PORT": the hosts of a URL. The caller frees it. */
char *test_node_hosts(test_node *const *, size_t count);

#endif
