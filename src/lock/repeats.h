/*
 * Releases to repeat after a failover. A master may confirm a release, and fail before its replica
 * knows. Then the new master still has the hold, and nobody else gets the lock until the lease has
 * expired. So recent releases are remembered, and sent again to a server that was not there before.
 * So are downgrades: a server that still has the write would refuse the release of the read.
 * A server that has done them answers `not-held` or `stale`, and nothing changes (SPEC 9).
 *
 * Used only if servers or slots of the topology can move. Every function is called with the monitor held.
 */
#ifndef LKI_REPEATS_H
#define LKI_REPEATS_H

#include "lock/operation.h"

/* The server has confirmed this release or downgrade. */
void lki_repeats_note(lki_repeats *, const lki_operation *);

/* A server is connected again, or locks have other servers. */
void lki_repeats_send(lki_repeats *, lki_session *);

void lki_repeats_free(lki_repeats *); /* no request of them may be on its way */

#endif
