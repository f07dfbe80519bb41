/*
 * A pipelined connection to a server that checks every answer, and the server's own account of what
 * it ran (INFO commandstats). It knows nothing of locks. What goes wrong ends the program: a figure
 * of operations that failed is worth nothing.
 */
#ifndef BENCH_SERVER_COST_LINK_H
#define BENCH_SERVER_COST_LINK_H

#include "test_memory.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_link bench_link;

bench_link *link_open(const char *socket);
void link_close(bench_link *);

/* A command that is being put together, word by word; link_send takes it and leaves it empty. */
typedef struct {
    test_text body;
    size_t words;
} bench_command;

void command_add(bench_command *, const char *text);
void command_add_bytes(bench_command *, const char *bytes, size_t length);
void command_add_number(bench_command *, uint64_t);

/* What a reply must be, or the program ends. */
typedef struct {
    const char *answer; /* the reply, or the first element of an array */
    const char *entry;  /* NULL, or the first element of each array from the third element on */
    uint64_t *third;    /* NULL, or where the third element goes: a number */
} bench_expectation;

/* Puts a command behind those that are not answered yet. */
void link_send(bench_link *, bench_command *, bench_expectation);

/* The server's account between two commands. */
enum { ACCOUNT_ROWS = 64 };
typedef struct {
    char command[24];
    uint64_t calls, usec;
} account_row;
typedef struct {
    account_row rows[ACCOUNT_ROWS];
    size_t count;
} server_account;

/* Puts a look at the account behind the commands; `out` is filled by link_flush. */
void link_look(bench_link *, server_account *out);

/* Sends all there is and waits until it is answered. */
void link_flush(bench_link *);

/* What `after` has more than `before`; rows of nothing, and of looking, are left out. */
void account_between(const server_account *before, const server_account *after,
                     server_account *out);
account_row account_of(const server_account *, const char *command); /* zeros: it did not run */

/* A line of INFO, such as redis_version; to be freed. NULL: there is none. */
char *link_info(bench_link *, const char *field);

#endif
