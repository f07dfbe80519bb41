/*
 * A real server for a test: in a folder of its own, on a Unix socket there, without a TCP port and
 * without persistence. It is stopped and its folder removed by test_server_stop, at exit, and when
 * a signal ends the test; the kernel ends it when the test is killed, and also (PR_SET_PDEATHSIG)
 * when the thread ends that started it: start servers on a thread that outlives them.
 */
#ifndef TEST_SERVER_H
#define TEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct test_server test_server;

/*
 * Starts `program` (found on the PATH: "redis-server", "valkey-server" or a path) and waits until
 * it answers PING, 10 s at most. `options` are further words of its command line, ended by NULL;
 * may be NULL itself. Returns NULL when that fails, after saying why on stderr.
 */
test_server *test_server_start(const char *program, const char *const *options);

/*
 * The same, with a settings file that has this text. The server may rewrite the file, and reads it
 * again when it is started again. An option overrides the setting of the same name.
 */
test_server *test_server_start_with_settings(const char *program, const char *settings,
                                             const char *const *options);
void test_server_stop(test_server *); /* NULL is fine */

/*
 * Ends the server with SIGTERM or SIGKILL, and starts it again: with its options, on its socket and
 * in its folder. With "--appendonly yes" and "--appendfsync always" it knows then what it knew.
 * test_server_start_again returns false when the server does not answer, after saying why on
 * stderr.
 */
void test_server_end(test_server *, int with_signal);
bool test_server_start_again(test_server *);

/*
 * Pauses the server with SIGSTOP, and lets it go on with SIGCONT. Its connections stay open
 * meanwhile. A paused server can be ended and stopped.
 */
void test_server_pause(test_server *);
void test_server_continue(test_server *);

/* False once the server is ended or paused by the functions above. */
bool test_server_runs(const test_server *);

/*
 * The same as test_server_start, with a wall clock that the test can step while the server runs: every step moves it by
 * so much against the machine's clock, forward or (below 0) back. It goes on across a restart.
 */
test_server *test_server_start_with_clock(const char *program, const char *const *options);
/* The same, with a settings file as well. */
test_server *test_server_start_with_clock_and_settings(const char *program, const char *settings,
                                                       const char *const *options);
void test_server_step_clock(test_server *, int64_t us);
int64_t test_server_clock_us(const test_server *); /* how far it is ahead of the machine's clock */

const char *test_server_socket(const test_server *);
const char *test_server_program(const test_server *);
pid_t test_server_pid(const test_server *);

/* A port of the loopback that nobody listens on: for a server that must have one. */
int test_server_free_port(void);

/* Whether `program` is a path to something executable or is found on the PATH. */
bool test_server_available(const char *program);

/* redis-server, or valkey-server where only that is installed. */
const char *test_server_any(void);

#endif
