/*
 * What a lock consists of. Only the files of this folder include it; README.md explains it.
 *
 * The lock owns every record and every name. Records are changed through parties.h, which keeps the
 * trees and counts in step with them.
 */
#ifndef LKI_STATE_H
#define LKI_STATE_H

#include "core.h"
#include "names.h"
#include "tree.h"

#include <assert.h>

#define LKI_MS_US UINT64_C(1000)
#define LKI_CLAIM_US UINT64_C(1000000)     /* SPEC 5.3 */
#define LKI_LIVENESS_US UINT64_C(10000000) /* SPEC 5.4 */
#define LKI_MARK_US UINT64_C(3600000000)   /* SPEC 6.4 */

typedef enum { LKI_PHASE_READ, LKI_PHASE_WRITE } lki_phase;

/* What the last request was that changed a hold (SPEC 9.1). */
typedef enum { LKI_BY_ACQUIRE, LKI_BY_RELEASE, LKI_BY_CONVERT, LKI_BY_CANCEL } lki_by;

typedef struct lki_party lki_party;

/* A record: one hold (SPEC 1.4) or one waiter (1.5). A waiter that is granted becomes the hold. */
struct lki_party {
    union {
        lki_node by_handle;   /* in the lock's `handles`, see there */
        lki_party *next_gone; /* of one that only lives on for its events */
    };
    lki_node by_deadline; /* in `holds` or `waiters` */
    lki_handle handle;
    uint64_t deadline_us;
    uint64_t since_us; /* when it was granted, or asked */
    lki_name *owner, *group;
    lki_party *next_granted;
    uint64_t granted_ms; /* of its event: what was left when it was granted */
    union {
        struct {
            uint64_t fence, first_fence;
            uint64_t last;        /* SPEC 9.1, the hold's part of it */
            uint64_t granted_for; /* the number of the waiter that it was; 0: it never was one */
            uint16_t reads, writes;
            uint8_t by; /* lki_by: what `last` was */
        } hold;
        struct {
            lki_node by_ticket; /* in `readers` or `writers`; unused by the upgrade */
            uint64_t ticket;
            uint64_t req;
            uint32_t lease_ms;
            uint8_t mode; /* lki_mode */
        } wait;
    };
    bool holds; /* which of the two it is */
    bool provisional;
    bool tells_granted, tells_lost; /* its events of the last operation */
    bool granted_anew;              /* the granted event is of a new hold, not of an upgrade */
    uint8_t granted_flags;
    uint8_t who_length, who_room;
    char who[];
};

static_assert(sizeof(void *) != 8 || sizeof(lki_party) == 176,
              "256 bytes for each holder and waiter, see README.md");

struct lki_lock {
    lki_allocator allocator;
    size_t memory; /* bytes asked of it, this struct's included */

    /*
     * One record for each handle: its hold if it has one, otherwise its waiter. A handle with both
     * waits for an upgrade (invariant 9), and that waiter is found as `upgrade`.
     */
    lki_tree handles;
    lki_tree holds, waiters;   /* by deadline, then handle */
    lki_tree readers, writers; /* waiters by ticket, the upgrade not among them */
    lki_party *upgrade;

    /* Invariant 8. The holds of an owner and the read holds of a group are counted in its name. */
    lki_names owners, groups;
    size_t holding_owners, read_holds, write_holds;

    /* Of the present life (SPEC 1.7). */
    lki_policy policy;
    lki_phase phase;
    uint64_t ticket;
    uint64_t floor;    /* SPEC 8.1: the greatest that a queued request named */
    lki_name *reading; /* SPEC 8.2: the group of the hold that last got its first read; or NULL */

    /* These outlive the life while `marked`. */
    uint64_t fence;
    bool marked;
    uint64_t mark_fence, mark_until_us; /* SPEC 6.1, 6.4 */

    /* Of the last operation. */
    uint64_t now_us;
    bool had_first; /* SPEC 5.5: who was first in order before it */
    lki_handle first_handle;
    uint64_t first_req;
    bool granted_provisionally;
    lki_party *granted_head, *granted_tail; /* in the order of granting */
    lki_party *granted_before_lost;         /* the last that was granted before any was lost */
    lki_party *gone_head, *gone_tail;       /* in the order of going */
    const lki_party *watch;

    lki_party *spare; /* one record kept for the next acquire */
};

/* Nobody holds or waits. */
static inline bool lki_lock_is_empty(const lki_lock *lock) {
    return !lock->holds.root && !lock->waiters.root;
}

static inline uint64_t lki_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline uint64_t lki_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline lki_party *lki_party_by_deadline(lki_node *node) {
    return node ? LKI_NODE_OWNER(node, lki_party, by_deadline) : NULL;
}

static inline lki_party *lki_party_by_ticket(lki_node *node) {
    return node ? LKI_NODE_OWNER(node, lki_party, wait.by_ticket) : NULL;
}

#endif
