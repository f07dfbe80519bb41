/*
 * The parts of the client's benchmark. Each opens what it needs, measures, prints its section of
 * the report, and returns how many of its figures are over their limit. They run one after the
 * other, and no part leaves a thread, a process or a client behind.
 */
#ifndef BENCH_CLIENT_PARTS_H
#define BENCH_CLIENT_PARTS_H

#include "latchkey.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    const char *address;     /* of the server: its socket */
    const char *tcp_address; /* the same server: host:port */
    pid_t server_pid;
    bool quick;
} bench_plan;

int measure_pair(const bench_plan *);     /* one thread against a bare loop */
int measure_threads(const bench_plan *);  /* 64 threads of one client against one */
int measure_handover(const bench_plan *); /* from process to process, against a bare message */
int measure_held(const bench_plan *);     /* 10,000 locks held: processor time and memory */
int measure_queue(const bench_plan *);    /* commands for a hand-over in a short and a long queue */

/* The library, for callers to whom every failure is the end. */
lk_client *library_open(const bench_plan *);
lk_lock *library_lock(lk_client *, const char *name);
void library_must(lk_status, const char *what);

#endif
