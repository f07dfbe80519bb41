/*
 * The judge of a history: says whether holders believed what cannot be, and nothing that is not
 * proven.
 *
 * Clashes. Of a hold we know that it was valid at an instant <= from_ns and at one >= to_ns, and it
 * was not lost in between (a handle that lost its hold is not valid again under this slot). So if
 * from_ns <= to_ns it was valid all the time between; and if not, at one instant at least between
 * to_ns and from_ns. In every case two holds A and B were valid at one instant if
 *
 *     A.from_ns < B.to_ns  and  B.from_ns < A.to_ns
 *
 * Both long: the spans overlap. A of one answer: that answer lies within B's span. Both of one
 * answer: never. A stop of a thread or process between its looks at the clock only moves from_ns
 * later or leaves to_ns earlier; so it may hide a clash, and cannot make one.
 *
 * Fences. P comes before Q if P was valid at an instant before one at which Q was, and the two
 * exclude each other: then P was granted first, unless they clash. So a write's fence is above that
 * of all that come before it, and a read's not below that of a write that comes before it.
 */
#ifndef TEST_HISTORY_CHECK_H
#define TEST_HISTORY_CHECK_H

#include "history.h"

#include <stdio.h>

typedef struct {
    int64_t from_ns, to_ns;
} history_span;

typedef struct {
    /*
     * The server's clock has jumped forward in each of these spans, or the server has lost data
     * there, which is the same for its holds. A hold that was asked for before such a jump may clash with one that has a later fence and was not seen valid before
     * the jump. Fences are still in the order of the grants, so P comes before Q only if it was
     * valid before Q was asked for.
     */
    const history_span *jumps;
    size_t jump_count;
    /*
     * The server's clock went back. A lock that was free may get fences again that others had; only
     * a write is still above all that its client knew when it asked.
     */
    bool clock_went_back;
    /*
     * Two servers may have granted the lock at once, during a failover. A read that joins older
     * reads on one server has their fence, which may be below that of a write on the other.
     */
    bool two_servers;
} history_rules;

typedef struct {
    size_t clashes, old_fences;
    size_t excused; /* pairs that were valid at once, and may have been because of a jump */
} history_verdict;

/* Sorts the holds. `out`: where the first few of each kind are told; NULL: nowhere. */
history_verdict history_check(history_hold *, size_t count, history_rules, FILE *out);

#endif
