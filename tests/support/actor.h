/*
 * Another process with a client of its own and up to ACTOR_HANDLES locks. The test gives it orders,
 * one a line:
 *
 *     new HANDLE LEASE_MS NAME [OWNER]
 *     read HANDLE WAIT_MS      write HANDLE WAIT_MS
 *     unread HANDLE            unwrite HANDLE
 *
 * It answers each order when that is done. The process is this program once more, started with
 * "--actor"; it ends when the test closes the pipe, and the world ends it after each test.
 */
#ifndef TEST_ACTOR_H
#define TEST_ACTOR_H

#include "latchkey.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { ACTOR_HANDLES = 32 };

typedef struct {
    pid_t pid;
    int orders;
    FILE *answers;
} actor;

typedef struct {
    int handle;
    bool released; /* it is the answer to an unlock */
    lk_status status;
    uint64_t fence;
    bool abandoned;
} actor_answer;

actor actor_start(const char *app);
void actor_tell(actor *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool actor_has_answered(const actor *, int timeout_ms);
actor_answer actor_hear(actor *);
actor_answer actor_succeeds(actor *); /* hears LK_OK */

/* An order, and its answer, which must be LK_OK. */
#define actor_does(self, ...) (actor_tell((self), __VA_ARGS__), actor_succeeds(self))

void actor_kill(actor *); /* it releases nothing */
void actor_end(actor *);  /* it closes its client */

/* For the world: main() of an actor, and the end of all that run. */
bool actor_is_asked_for(int argc, char **argv);
int actor_main(char **argv);
void actor_kill_all(void);

#endif
