/*
 * One round: clients work on a site while one kind of fault strikes it again and again. Then the
 * faults end, the clients must go on, and end; the judge reads what they noted; and nothing may be
 * left in any server.
 */
#ifndef FAULTS_ROUND_H
#define FAULTS_ROUND_H

#include "nemesis.h"

typedef struct {
    int64_t ms;       /* how long faults strike; one strikes at least */
    int64_t limit_ms; /* in which everything must happen that must happen */
    unsigned seed;
    int min_replicas;
} round_settings;

typedef struct {
    const char *site, *nemesis;
    int min_replicas;
    size_t operations, grants, losses; /* losses that on_lost told */
    size_t faults, failovers;
    bool fails_over;     /* that is the fault, and clocks do not step */
    size_t overlaps;     /* two held at once, where the topology allows it */
    size_t late_writes;  /* that the store refused */
    int64_t recovery_ms; /* the longest wait of a call after the last fault */
    int64_t grant_ms;    /* the longest from a new master to the next grant of a lock; -1: none */
    bool failed;         /* the harness itself did not work */
    size_t exclusion, fences, store, order, forgotten, litter, statuses; /* violations */
} round_result;

size_t round_violations(const round_result *);

round_result round_run(site *, const nemesis *, const round_settings *);

#endif
