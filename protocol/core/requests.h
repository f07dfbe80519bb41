/* Which hold a request means, and whether it has been seen before (SPEC 8.3, 9). */
#ifndef LKC_REQUESTS_H
#define LKC_REQUESTS_H

#include "records.h"

/* SPEC 8.3, 9.5. `hold` may be NULL; no hold answers to fence 0. */
static inline bool lkc_request_means(const lkc_record *hold, uint64_t fence) {
    return hold && hold->hold.first_fence <= fence && fence <= hold->hold.fence;
}

/* Is it the handle's `last`, of the same operation (SPEC 9.2, 9.3)? Then there is a hold. */
static inline bool lkc_request_repeats(const lkc_pair *pair, uint64_t req, lkc_by by) {
    return pair->hold && pair->hold->hold.last == req && pair->hold->hold.by == by &&
           lkc_pair_last(pair) == req;
}

/* SPEC 9.4, for one that does not repeat. */
static inline bool lkc_request_is_stale(const lkc_pair *pair, uint64_t req) {
    return req <= lkc_pair_last(pair);
}

#endif
