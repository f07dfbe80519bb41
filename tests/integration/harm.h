/*
 * Random harm, drawn from a seed. The network cuts, stalls and refuses connections; the server
 * forgets scripts, stops, is full, or ends and starts again with its data. Threads note each status
 * that a call must not return, and the test looks at `oddities` at its end.
 */
#ifndef INTEGRATION_HARM_H
#define INTEGRATION_HARM_H

#include "world.h"

/* How often something was seen that must not be; odd() has written each to stderr. */
extern atomic_int oddities;
void odd(const char *what, const char *word);

/* The status must be one of the others. */
#define EXPECT(status, what, ...)                                           \
    do {                                                                    \
        static const lk_status expected[] = {__VA_ARGS__};                  \
        expect(status, what, expected, sizeof expected / sizeof *expected); \
    } while (0)

void expect(lk_status, const char *what, const lk_status *some, size_t count);

int draw(unsigned *seed, int below);
/* The argument of the program, or the time. It is printed, so that a run can be repeated. */
unsigned first_seed_of(int count, char **words);

/* Worlds whose server keeps its data when it is restarted; the second has a clock to step. */
int begin_harmed_world(void **state);
int begin_clocked_world(void **state);

void stop_server(int ms);
void pause_clients(int ms);
void stall(proxy *, proxy_kinds, int ms, unsigned *seed);

/* Some harm. Once in a while it lasts long: so that the clients give up, or a lease ends. */
void do_harm(proxy *, int long_ms, unsigned *seed);
void stop_harm(proxy *); /* that has been ordered and has not come yet */

/* When this returns, no other client holds the lock, and no mark of a lost writer is left. */
void take_once_more(lk_client *calm, const char *name);

#endif
