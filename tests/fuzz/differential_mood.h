/*
 * Moods of a run: what the handles are after for a while. Even odds all the way would reach few of
 * the deeper states, because those take several steps in one direction.
 */
#ifndef DIFFERENTIAL_MOOD_H
#define DIFFERENTIAL_MOOD_H

#include "core.h"
#include "differential_random.h"

typedef struct {
    unsigned handles, locks; /* how many act, and on how many */
    unsigned streak;         /* in percent: whoever acted last acts again */
    unsigned write, upgrade; /* in percent: a request of a stranger, of a holder, is a write */
    unsigned wait;           /* in percent */
    unsigned groups;         /* in percent: any group, not the default one */
    unsigned kin;            /* in percent: for the owner that several have in common */
    unsigned edge;           /* weight of moving the clock to the edge of a deadline */
    unsigned long_lease;     /* in percent */
    unsigned repeat, renew;  /* how much likelier than usual, in percent */
    unsigned release, force;
    unsigned plain; /* in percent: nothing but taking, waiting, renewing and giving back */
} mood_kind;

typedef struct {
    const mood_kind *kind;
    int first_handle; /* of the regulars: it and those behind it act */
    lkc_policy policy;
    size_t steps; /* that it lasts */
} mood;

void mood_draw(mood *, random_source *);

/* One of those that act; `last` did before. */
int mood_handle(const mood *, int last, random_source *);

/* Mostly the mood's. */
lkc_policy mood_policy(const mood *, random_source *);

#endif
