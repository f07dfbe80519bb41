/* Granting one request: who may hold together (SPEC 2), phase (3.6), mark (6), fences (8). */
#ifndef LKI_GRANT_H
#define LKI_GRANT_H

#include "state.h"

/* SPEC 2.3. */
bool lki_is_compatible(const lki_lock *, const lki_name *owner, const lki_name *group, lki_mode);

/* What a grant needs to know of the request. */
typedef struct {
    lki_mode mode;
    uint64_t req;
    uint64_t floor;
    bool begins_life; /* SPEC 1.7 */
} lki_grant;

/* Makes a record with its deadline, in no tree, a hold with one count. */
void lki_grant_new(lki_lock *, lki_party *, const lki_grant *);

/* Adds one count to a hold. */
void lki_grant_more(lki_lock *, lki_party *hold, const lki_grant *);

/* SPEC 3.6, after direct grants and settlings. */
void lki_phase_update(lki_lock *);

/* A hold with writes went without being released, at that instant (SPEC 6.1). */
void lki_mark_leave(lki_lock *, uint64_t instant_us);

/* A hold gave its last write (SPEC 6.3). */
void lki_mark_clear(lki_lock *, const lki_party *hold);

#endif
