/* The differences between two snapshots, as events. Does not print, and reads no clock. */
#ifndef CLI_WATCH_EVENTS_H
#define CLI_WATCH_EVENTS_H

#include "snapshot.h"

typedef enum {
    EVENT_WATCHING, /* the first snapshot; not from watch_compare() */
    EVENT_WAITING,
    EVENT_LEFT, /* gave up, or held the lock between two snapshots */
    EVENT_GRANTED,
    EVENT_UPGRADED,   /* a reader became a writer without a release */
    EVENT_DOWNGRADED, /* a writer became a reader */
    EVENT_RELEASED,
    EVENT_LOST,
    EVENT_FENCE, /* rose by a grant that no snapshot shows */
    EVENT_AWAY,  /* the server cannot be reached; this and the next not from watch_compare() */
    EVENT_BACK
} event_kind;

typedef struct {
    event_kind kind;
    const char *lock;             /* NULL: about all locks */
    const char *app, *host;       /* NULL: about no client */
    const char *mode;             /* "read", "write", "upgrade"; NULL without app */
    const char *reason;           /* EVENT_AWAY */
    int64_t pid;                  /* only with app */
    int64_t held_ms, waited_ms;   /* below 0: unknown */
    uint64_t fence, fence_before; /* 0: unknown */
    size_t count;                 /* the number of locks; EVENT_WATCHING, EVENT_BACK */
} watch_event;

typedef void watch_event_fn(const watch_event *, void *arg);

/*
 * Calls `each` for each event, lock by lock in the order of their names. For one lock, the ends of holds
 * and waits come before grants and new waits. The texts of an event belong to the snapshots.
 */
void watch_compare(const snapshot *before, const snapshot *after, watch_event_fn *each, void *arg);

#endif
