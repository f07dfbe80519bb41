/*
 * The structs of a lock; README.md explains them. Only the files of this folder include this one, and
 * a test that compares states (tests/fuzz/walk_state.c).
 *
 * The lock owns every record and every name. Only records.c adds, moves and removes records: it
 * keeps the trees and counts in step.
 */
#ifndef LKC_LOCK_H
#define LKC_LOCK_H

#include "core.h"
#include "names.h"
#include "tree.h"

#include <assert.h>

#define LKC_MS_US UINT64_C(1000)
#define LKC_CLAIM_US UINT64_C(1000000)   /* SPEC 5.3 */
#define LKC_LIVENESS_MS UINT32_C(10000)  /* SPEC 5.4 */
#define LKC_MARK_US UINT64_C(3600000000) /* SPEC 6.4 */

typedef enum { LKC_PHASE_READ, LKC_PHASE_WRITE } lkc_phase;

/* The operation that changed a hold last (SPEC 9.1). */
typedef enum { LKC_BY_ACQUIRE, LKC_BY_RELEASE, LKC_BY_CONVERT, LKC_BY_CANCEL } lkc_by;

typedef struct lkc_record lkc_record;

/*
 * A record is one hold (SPEC 1.4) or one waiter (1.5). A waiter that is granted becomes the hold. A
 * hold whose client missed the grant becomes a missed waiter (5.6), which stands in no queue. When
 * its client comes back, it is a waiter again.
 */
typedef enum { LKC_ROLE_NEW, LKC_ROLE_HOLD, LKC_ROLE_WAITER, LKC_ROLE_MISSED } lkc_role;

struct lkc_record {
    union {
        lkc_node by_handle;    /* in the lock's `handles` */
        lkc_record *next_gone; /* in the list `gone_head`; in no tree then */
    };
    lkc_node by_deadline; /* in `holds`, `waiters` or `missed` */
    lkc_handle handle;
    uint64_t deadline_us;
    uint64_t since_us; /* a hold: its grant; a waiter: when it asked, or the grant it missed */
    lkc_name *owner, *group;
    lkc_record *next_granted;
    uint64_t granted_ms; /* for its event: the ms left when it was granted */
    union {
        struct {
            uint64_t fence, first_fence;
            uint64_t last;        /* SPEC 9.1; the waiter may have a greater one */
            uint64_t granted_for; /* its last number as a waiter or upgrade; 0: none */
            uint64_t ticket;      /* this and liveness_ms: of its waiter, if it is provisional */
            uint16_t liveness_ms;
            uint16_t reads, writes;
            uint8_t last_by; /* lkc_by: the operation of `last` */
        } hold;
        struct {
            lkc_node by_ticket; /* in `readers` or `writers`; the upgrade is in neither */
            uint64_t ticket;
            uint64_t req;
            uint16_t liveness_ms; /* min(lease, 10 s) of its first request (SPEC 5.3, 5.6) */
            uint8_t mode;         /* lkc_mode */
        } wait;
    };
    uint8_t role; /* lkc_role */
    bool provisional;
    bool tells_granted, tells_lost; /* its events in the last operation */
    bool granted_anew;              /* its granted event is about a new hold, not an upgrade */
    uint8_t granted_flags;
    uint8_t who_length, who_room;
    char who[];
};

static_assert(sizeof(void *) != 8 || sizeof(lkc_record) == 176,
              "256 bytes for each holder and waiter, see README.md");
static_assert(LKC_LIVENESS_MS <= UINT16_MAX, "liveness_ms has room for it");

struct lkc_lock {
    lkc_allocator allocator;
    size_t memory; /* bytes taken from it, with this struct */

    /*
     * One record for each handle: its hold if it has one, otherwise its waiter, missed or not. If a
     * handle has both, its waiter is the upgrade (invariant 9), and `upgrade` points to it.
     */
    lkc_tree handles;
    lkc_tree holds, waiters, missed; /* by deadline, then handle */
    lkc_tree readers, writers;       /* waiters by ticket, without the upgrade */
    lkc_record *upgrade;

    /* Invariant 8. A name counts the holds of its owner, or the read holds of its group. */
    lkc_names owners, groups;
    size_t holding_owners, read_holds, write_holds;

    /* Of the present life (SPEC 1.7). */
    lkc_policy policy;
    lkc_phase phase;
    uint64_t ticket;
    uint64_t mark_of;     /* SPEC 5.6: ticket of the missed waiter that alone left the mark; or 0 */
    uint64_t floor;       /* SPEC 8.1: the greatest floor of a queued request */
    lkc_name *read_group; /* SPEC 8.2: of the hold that was last to get its first read; or NULL */

    /* The mark outlives the life. So does the fence, if `marked` or ahead of the clock (SPEC 7). */
    uint64_t fence;
    bool marked;
    uint64_t mark_fence, mark_until_us; /* SPEC 6.1, 6.4 */

    /* Of the last operation. */
    uint64_t now_us;
    bool had_first; /* SPEC 5.5: who was first in order before it, if anybody */
    lkc_handle first_handle;
    uint64_t first_req;
    bool granted_provisionally;
    lkc_record *granted_head, *granted_tail; /* in the order of granting */
    lkc_record *granted_before_lost;         /* the last grant before the first loss */
    lkc_record *gone_head, *gone_tail;       /* records that left with an event, in that order */
    const lkc_record *watch;

    lkc_record *spare; /* kept for the next acquire; or NULL */
};

/* Nobody holds or waits. There may be missed waiters. */
static inline bool lkc_lock_is_empty(const lkc_lock *lock) {
    return !lock->holds.root && !lock->waiters.root;
}

/* SPEC 1.7, 5.6. In the middle of an operation, a missed waiter keeps the life. */
static inline bool lkc_life_is_over(const lkc_lock *lock) {
    return lkc_lock_is_empty(lock) && !lock->missed.root;
}

/* Memory, counted in `memory`. Only acquire takes any; NULL when there is none. */
void *lkc_memory_take(lkc_lock *, size_t size);
void lkc_memory_give(lkc_lock *, void *memory, size_t size);

/* A hold with writes ended at this instant without a release (SPEC 6.1). */
void lkc_mark_leave(lkc_lock *, uint64_t instant_us);

/* A hold gave up its last write (SPEC 6.3). */
void lkc_mark_clear(lkc_lock *, const lkc_record *hold);

/* The client of a missed waiter is back, or gives up: nobody used the hold that it missed (5.6). */
void lkc_mark_withdraw(lkc_lock *, const lkc_record *missed);

/* SPEC 7.3: whether the whole lock has expired at its `now_us`, the mark and the fence included. */
bool lkc_lock_has_expired(const lkc_lock *);

/* Nobody holds or waits any more (SPEC 1.7, 7.1, 7.2). */
void lkc_life_end(lkc_lock *);

static inline uint64_t lkc_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline uint64_t lkc_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* SPEC 5.4: how long a waiter with this lease lives without a request. */
static inline uint64_t lkc_liveness_us(uint32_t lease_ms) {
    return lkc_min(lease_ms, LKC_LIVENESS_MS) * LKC_MS_US;
}

static inline lkc_record *lkc_record_by_deadline(lkc_node *node) {
    return node ? LKC_NODE_OWNER(node, lkc_record, by_deadline) : NULL;
}

static inline lkc_record *lkc_record_by_ticket(lkc_node *node) {
    return node ? LKC_NODE_OWNER(node, lkc_record, wait.by_ticket) : NULL;
}

#endif
