/* Which hold a request means, and whether it has been seen before (SPEC 8.3, 9). */
#ifndef LKI_REQUESTS_H
#define LKI_REQUESTS_H

#include "parties.h"

/* SPEC 8.3, 9.5. `hold` may be NULL; no hold answers to fence 0. */
static inline bool lki_request_means(const lki_party *hold, uint64_t fence) {
    return hold && hold->hold.first_fence <= fence && fence <= hold->hold.fence;
}

/* Is it the handle's `last`, of the same operation (SPEC 9.2, 9.3)? Then there is a hold. */
static inline bool lki_request_repeats(const lki_pair *pair, uint64_t req, lki_by by) {
    return pair->hold && pair->hold->hold.last == req && pair->hold->hold.by == by &&
           lki_pair_last(pair) == req;
}

/* SPEC 9.4, for one that does not repeat. */
static inline bool lki_request_is_stale(const lki_pair *pair, uint64_t req) {
    return req <= lki_pair_last(pair);
}

#endif
