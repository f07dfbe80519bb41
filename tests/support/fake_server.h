/*
 * A server that says what a test wants it to, for answers that a real one will not give. It listens
 * on a Unix socket in a folder of its own, on a thread of its own.
 *
 * What it does with a command is found in its rules, newest first; commands are described by
 * patterns, which are their first words: "EVALSHA", "CLIENT ID", "EVALSHA <sha1>", and with `*` for
 * any word, "EVALSHA * 4 lk:{a}". Case does not matter; "" is every command. A command without a
 * rule is given to the upstream, a real server, where there is one; otherwise the fake server knows
 * PING, AUTH, SELECT, CLIENT ID, SETNAME and KILL, INFO, SUBSCRIBE and UNSUBSCRIBE, in version 2 of
 * the protocol, and answers all else with an error.
 *
 * The commands of one connection are answered one after the other, whoever answers them; messages
 * of the upstream are passed on at any time. Every function may be called from any thread, and has
 * had its effect when it returns.
 */
#ifndef TEST_FAKE_SERVER_H
#define TEST_FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_server fake_server;

/*
 * Starts a fake server. `upstream` is the path of a real server's socket: every connection has one
 * of its own to there, and ends when that does. NULL: it answers by itself. Returns NULL when that
 * fails, after saying why on stderr.
 */
fake_server *fake_server_start(const char *upstream);
void fake_server_stop(fake_server *); /* closes all connections; NULL is fine */

const char *fake_server_socket(const fake_server *);

/* ------------------------------------------------------------------------------------------------
 * rules */

enum { FAKE_FOREVER = -1 }; /* a rule that does not wear out */

/* Answers the next `times` commands of that pattern with these bytes, whatever they are. */
void fake_server_on(fake_server *, const char *pattern, int times, const char *reply);

typedef enum {
    FAKE_PASS,    /* as if there were no rules: an exception from older ones */
    FAKE_DROP,    /* not done; the connection is closed */
    FAKE_SILENCE, /* not done; nothing is ever sent on this connection again */

    /* These say how, and older rules, or no rule, say what: */
    FAKE_PIECES,       /* every byte is sent after the one before it has been read */
    FAKE_RUN_AND_DROP, /* done, and the connection is closed in place of the answer */
    FAKE_HOLD          /* done and answered after fake_server_let_go; see fake_server_hold */
} fake_action;

/* Does that with the next `times` commands of that pattern. */
void fake_server_do(fake_server *, const char *pattern, int times, fake_action);

/*
 * Holds commands of that pattern, and those behind them on their connections, until
 * fake_server_let_go. A held command has been received and not been done: it is done also when its
 * client has closed the connection meanwhile, as a real server would with what it had received, but
 * not when the upstream has closed it (CLIENT KILL).
 */
void fake_server_hold(fake_server *, const char *pattern);

/* Ends all rules that hold; what they held is decided by the rules that there are then. */
void fake_server_let_go(fake_server *);

/* Removes all rules. What is held stays held. */
void fake_server_forget(fake_server *);

/* ------------------------------------------------------------------------------------------------
 * what came in */

/* How many commands of that pattern have been received, held and silenced ones too. */
size_t fake_server_count(fake_server *, const char *pattern);

/* Waits until that count is `count` or more. False when that takes longer than timeout_ms. */
bool fake_server_wait_for(fake_server *, const char *pattern, size_t count, int timeout_ms);

/* How many connections are open, and how many there have ever been. */
size_t fake_server_connections_now(fake_server *);
size_t fake_server_connections_ever(fake_server *);

/* Waits until `count` connections are open. False when that takes longer than timeout_ms. */
bool fake_server_wait_connections(fake_server *, size_t count, int timeout_ms);

/* ------------------------------------------------------------------------------------------------
 * what goes out unasked */

/* Closes every connection. */
void fake_server_drop_all(fake_server *);

/* Sends raw bytes on each connection that has subscribed; returns on how many. */
size_t fake_server_send(fake_server *, const char *raw);

/* Sends a message on each connection that has subscribed, to whatever; returns on how many. */
size_t fake_server_publish(fake_server *, const char *channel, const char *message);

#endif
