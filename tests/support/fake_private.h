/* What the files of the fake server share. Everything is under the lock of the server's loop. */
#ifndef TEST_FAKE_PRIVATE_H
#define TEST_FAKE_PRIVATE_H

#include "fake_server.h"
#include "resp.h"
#include "socket_loop.h"

#include <stddef.h>

/* ------------------------------------------------------------------------------------------------
 * rules: fake_rules.c */

typedef struct fake_rule fake_rule;
struct fake_rule {
    char *pattern;
    int times;
    fake_action action;
    char *reply; /* not NULL: the rule is this answer, and has no action */
    fake_rule *older;
};

/* What is to be done with one command. Begins as all zero. */
typedef struct {
    enum { FAKE_UNDECIDED, FAKE_ANSWER, FAKE_HELD, FAKE_DROPPED, FAKE_SILENCED } what;
    char *reply; /* of FAKE_ANSWER; NULL: as if there were no rule */
    bool in_pieces, then_drop;
} fake_decision;

/* Of all these the first argument is the newest rule. */
void fake_rules_add(fake_rule **, const char *pattern, int times, fake_action, const char *reply);

/* Decides about a command that is undecided. */
void fake_rules_decide(fake_rule **, const resp_command *, fake_decision *);

/* Removes all rules, or those that hold. */
void fake_rules_clear(fake_rule **, bool only_holds);

/* ------------------------------------------------------------------------------------------------
 * connections: fake_connection.c */

/* A command that came in. The server's record owns it; its connection's queue points to it. */
typedef struct fake_received fake_received;
struct fake_received {
    resp_command command;
    fake_decision decision;
    fake_received *next;        /* of the record */
    fake_received *next_queued; /* of the connection */
};

typedef struct fake_connection fake_connection;
struct fake_connection {
    socket_connection base;
    fake_server *server;
    size_t number;    /* its CLIENT ID, without an upstream */
    int fd, upstream; /* upstream: -1 without */
    test_text in, out, from_upstream, to_upstream;
    fake_received *first, *last; /* received and not yet answered, in their order */
    size_t awaited;              /* values that the upstream still owes for the first of them */
    size_t channels;             /* subscribed to, without an upstream */
    bool subscribed;             /* has sent SUBSCRIBE */
    bool in_pieces;              /* what is in `out` goes byte by byte */
    bool silent;                 /* nothing is answered any more */
    bool closing;                /* to be closed when `out` has gone */
    bool client_gone;            /* its commands are still done */
};

/* The service of the loop. Its owner is the server. */
extern const socket_service fake_service;

/* Whether something that nobody asked for can be sent on it now. */
bool fake_connection_listens(const fake_connection *);

/* ------------------------------------------------------------------------------------------------
 * answers of its own: fake_answers.c */

/* Adds what a plain server would answer. */
void fake_answer(fake_connection *, const resp_command *, test_text *out);

/* ------------------------------------------------------------------------------------------------
 * the server: fake_server.c */

struct fake_server {
    socket_loop loop;
    char *upstream; /* the path; NULL: none */
    char run_id[41];
    fake_rule *rules; /* the newest */
    fake_received *record, **record_end;
};

#endif
