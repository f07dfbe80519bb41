/*
 * The records of a lock, with the trees and counts that they are in. Other files decide which
 * requests are granted.
 */
#ifndef LKC_RECORDS_H
#define LKC_RECORDS_H

#include "lock.h"

void lkc_records_init(lkc_lock *);
void lkc_records_free(lkc_lock *);

/*
 * A record with its handle, owner, group and who. It is in no tree yet, neither hold nor waiter.
 * The texts are copied. NULL when memory runs out; nothing has changed then.
 */
lkc_record *lkc_record_new(lkc_lock *, const lkc_handle *, lkc_text owner, lkc_text group,
                           lkc_text who);

/* Frees a record that is in no tree. If it has an event, its memory stays until the next operation. */
void lkc_record_free(lkc_lock *, lkc_record *);

/* Frees the memory of a record, or keeps it as the spare. The names are given back already. */
void lkc_record_recycle(lkc_lock *, lkc_record *);

/* The records of one handle on a lock (SPEC 1.2). Either may be NULL; the waiter may be missed. */
typedef struct {
    lkc_record *hold, *waiter;
} lkc_pair;

lkc_pair lkc_pair_find(const lkc_lock *, const lkc_handle *);
uint64_t lkc_pair_last(const lkc_pair *); /* SPEC 9.1; 0 when the handle has no record */

/* SPEC 8.3, 9.5: whether the request means this hold. `hold` may be NULL. No hold has fence 0. */
static inline bool lkc_request_means(const lkc_record *hold, uint64_t fence) {
    return hold && hold->hold.first_fence <= fence && fence <= hold->hold.fence;
}

/* SPEC 9.2, 9.3: whether `last` is this number, used for this operation. True only with a hold. */
static inline bool lkc_request_repeats(const lkc_pair *pair, uint64_t req, lkc_by by) {
    return pair->hold && pair->hold->hold.last == req && pair->hold->hold.last_by == by &&
           lkc_pair_last(pair) == req;
}

/* SPEC 9.4, for a request that does not repeat another. */
static inline bool lkc_request_is_stale(const lkc_pair *pair, uint64_t req) {
    return req <= lkc_pair_last(pair);
}

/* Moves a deadline, but never to an earlier instant (SPEC 5.1, 5.4). */
void lkc_record_extend(lkc_lock *, lkc_record *, uint64_t deadline_us);

/* Enters a record that has a deadline as a hold without counts. The caller sets the counts next. */
void lkc_hold_add(lkc_lock *, lkc_record *);
void lkc_hold_count(lkc_lock *, lkc_record *, unsigned reads, unsigned writes);
void lkc_hold_remove(lkc_lock *, lkc_record *);

/* SPEC 5.6: a hold with one count, which its client missed, becomes a missed waiter. */
void lkc_hold_miss(lkc_lock *, lkc_record *hold, uint64_t until_us);

/* Enters a record that has a deadline and its request as a waiter with the next ticket. */
void lkc_waiter_add(lkc_lock *, lkc_record *, bool upgrade);
void lkc_waiter_remove(lkc_lock *, lkc_record *); /* missed or not */

/* SPEC 5.6: a missed waiter stands in its queue again, with its former ticket. */
void lkc_missed_return(lkc_lock *, lkc_record *, uint64_t deadline_us);

/* SPEC 4.5: the upgrade, whose owner has no hold now, becomes a writer-waiter with a new ticket. */
void lkc_upgrade_demote(lkc_lock *);

#endif
