/* What happened between two looks. Knows nothing of how it is printed, and of no clock. */
#ifndef CLI_WATCH_EVENTS_H
#define CLI_WATCH_EVENTS_H

#include "snapshot.h"

typedef enum {
    EVENT_WATCHING, /* the first look is done; not by watch_compare() */
    EVENT_WAITING,
    EVENT_LEFT, /* waits no more, and does not hold: gave up, or came and went unseen */
    EVENT_GRANTED,
    EVENT_UPGRADED,   /* from reads to a write, without giving it back */
    EVENT_DOWNGRADED, /* and back */
    EVENT_RELEASED,
    EVENT_LOST,
    EVENT_FENCE, /* it rose by a grant that no look saw */
    EVENT_AWAY,  /* the server; these two not by watch_compare() */
    EVENT_BACK
} event_kind;

typedef struct {
    event_kind kind;
    const char *lock;             /* NULL: it is about all of them */
    const char *app, *host;       /* NULL: it is about nobody */
    const char *mode;             /* "read", "write", "upgrade"; with app */
    const char *reason;           /* EVENT_AWAY */
    int64_t pid;                  /* with app */
    int64_t held_ms, waited_ms;   /* below 0: not known */
    uint64_t fence, fence_before; /* 0: not known */
    size_t count;                 /* of locks; EVENT_WATCHING, EVENT_BACK */
} watch_event;

typedef void watch_event_fn(const watch_event *, void *arg);

/*
 * Calls `each` for what happened, lock by lock in the order of their names; what ends comes before
 * what begins. The texts are those of the snapshots.
 */
void watch_compare(const snapshot *before, const snapshot *after, watch_event_fn *each, void *arg);

#endif
