/* Granting one request: who may hold together (SPEC 2), phase (3.6), mark (6), fences (8). */
#ifndef LKC_GRANT_H
#define LKC_GRANT_H

#include "lock.h"

/* SPEC 2.3. */
bool lkc_is_compatible(const lkc_lock *, const lkc_name *owner, const lkc_name *group, lkc_mode);

/* What a grant needs to know of the request. */
typedef struct {
    lkc_mode mode;
    uint64_t req;
    uint64_t floor;
    bool begins_life; /* SPEC 1.7 */
} lkc_grant;

/* Makes a record with its deadline, in no tree, a hold with one count. */
void lkc_grant_new(lkc_lock *, lkc_record *, const lkc_grant *);

/* Adds one count to a hold. */
void lkc_grant_more(lkc_lock *, lkc_record *hold, const lkc_grant *);

/* SPEC 3.6, after direct grants and settlings. */
void lkc_phase_update(lkc_lock *);

#endif
