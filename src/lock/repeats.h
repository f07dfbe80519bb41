/*
 * Releases to repeat after a failover. A master may confirm a release, and fail before its replica
 * knows. Then the new master still has the hold, and nobody else gets the lock until the lease has
 * expired. So recent releases are remembered, and sent again to a server that was not there before.
 * So are downgrades: a server that still has the write would refuse the release of the read.
 * A server that has done them answers `not-held` or `stale`, and nothing changes (SPEC 9).
 *
 * A repeat names the first fence of its hold: every version of the hold answers to that one (SPEC
 * 8.3). No later hold of the handle can be meant: it has a greater request number, so that the
 * repeat is stale. A repeat that a server refuses is sent again until the lease must have expired.
 *
 * Used only if servers or slots of the topology can move. Every function is called with the monitor
 * held.
 */
#ifndef LKI_REPEATS_H
#define LKI_REPEATS_H

#include "lock/operation.h"

/* The server has confirmed this release or downgrade. */
void lki_repeats_note(lki_repeats *, const lki_operation *);

/* A server is connected again, locks have other servers, or it is time to retry. */
void lki_repeats_send(lki_repeats *, lki_session *);

/*
 * Whether a repeat of this handle was refused, and is not sent again before retry_us. The requests
 * of the handle wait for it. A renewal before it could count for a hold that the repeat then ends;
 * after a release with a greater number, the repeat would be stale (SPEC 9.4).
 */
bool lki_repeats_come_first(const lki_repeats *, const lk_lock *);

void lki_repeats_free(lki_repeats *); /* no request of them may be on its way */

#endif
