/*
 * The floor for a hand-over: one process publishes a message, another has subscribed to it and
 * waits for it in a blocking read. Each process has a connection to publish on, and one to listen.
 */
#ifndef BENCH_CLIENT_MESSAGE_H
#define BENCH_CLIENT_MESSAGE_H

#include "client_server.h"

typedef struct {
    redisContext *speaks, *listens;
    const char *to;
    char script[41]; /* the SHA1 of the one that tells */
} bench_messenger;

/* `role`: 0 or 1. Each speaks to the other. */
void messenger_open(bench_messenger *, const char *address, int role);
void messenger_close(bench_messenger *);
void messenger_tell(bench_messenger *); /* returns when the server has answered */

/*
 * The same, from a script: the five calls that a hand-over cannot do without, and nothing that
 * decides anything. No lock that is made of scripts can be faster.
 */
void messenger_tell_by_script(bench_messenger *);
void messenger_hear(bench_messenger *);

#endif
