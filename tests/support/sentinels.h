/*
 * A master, its replicas, and sentinels that watch them: all are real servers, on 127.0.0.1 or at
 * places of a network. The sentinels know the master as "latchkey".
 *
 * Servers and sentinels are numbered from 0. Server 0 is the first master. The sentinels may start
 * a failover that no test asked for: a machine that stalls for `down_after_ms` is enough. So a test
 * asks who the master is, and a test that allows no further failover takes a long `down_after_ms`.
 * A sentinel that is killed or paused does not vote for a master.
 *
 * Servers and sentinels rewrite their settings files as usual. So a restarted server has the role
 * that it had: a master that was killed says "master" again, until the sentinels notice it.
 */
#ifndef TEST_SENTINELS_H
#define TEST_SENTINELS_H

#include "node.h"

#include <stdint.h>

typedef struct test_sentinels test_sentinels;

typedef struct {
    const char *program;               /* default: test_server_any() */
    size_t replicas, sentinels;        /* default: 2 and 3 */
    int down_after_ms;                 /* default: 1000; before version 7.0 take 2000 or more */
    int failover_timeout_ms;           /* default: 2000 */
    const char *user, *password;       /* of the servers; default: none */
    const char *sentinel_password;     /* default: none */
    const char *const *server_options; /* further words of their command lines, ended by NULL */
    bool keeps_data;                   /* with an append-only file; default: no */
    bool tls;                          /* all use it; certificates_make() comes first */
    bool clocks;                       /* test_server_step_clock() can step those of the servers */
    /* Server 0 is at place 0, all others and the sentinels are at place 1; default: 127.0.0.1. */
    const test_places *places;
} test_sentinels_options;

/*
 * Returns when all are settled: see test_sentinels_wait_until_settled. NULL when that fails, after
 * saying why on stderr. `options` may be NULL.
 */
test_sentinels *test_sentinels_start(const test_sentinels_options *options);
void test_sentinels_stop(test_sentinels *); /* NULL is fine */

size_t test_sentinels_server_count(const test_sentinels *);
size_t test_sentinels_count(const test_sentinels *);
test_node *test_sentinels_server(const test_sentinels *, size_t index);
test_node *test_sentinels_sentinel(const test_sentinels *, size_t index);

/*
 * "redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT/latchkey", without passwords; with
 * TLS, "rediss+sentinel://…".
 */
const char *test_sentinels_url(const test_sentinels *);

/* The server that one sentinel, or a majority of all sentinels, names as the master; -1: none. */
int test_sentinels_master_named_by(const test_sentinels *, size_t sentinel);
int test_sentinels_master(const test_sentinels *);

/*
 * Waits until the majority names a server, and that server says itself that it is the master.
 * Returns the server; -1: the limit has passed.
 */
int test_sentinels_wait_for_master(const test_sentinels *, int64_t limit_ms);
/* The same, for any server but `former`. */
int test_sentinels_wait_for_other_master(const test_sentinels *, int former, int64_t limit_ms);

/* Waits until the server is a replica of the present master and in sync with it. */
bool test_sentinels_wait_for_replica(const test_sentinels *, size_t server, int64_t limit_ms);

/*
 * Waits until all servers and sentinels run, all sentinels name one master and see all servers and
 * each other, and all other servers are replicas of the master and in sync.
 */
bool test_sentinels_wait_until_settled(const test_sentinels *, int64_t limit_ms);

/*
 * Sends SENTINEL FAILOVER to a sentinel until the sentinel accepts. A sentinel refuses while a
 * failover goes on, and while it has no recent INFO of a replica. Does not wait for the new master.
 */
bool test_sentinels_fail_over(const test_sentinels *, size_t sentinel, int64_t limit_ms);

#endif
