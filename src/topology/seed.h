/* A connection to a server that knows where the others are: a sentinel, or a node of a cluster. */
#ifndef LKI_SEED_H
#define LKI_SEED_H

#include "net/greet.h"
#include "topology/topology.h"

/*
 * Connects and logs in. *fd_seen: see lki_transport_open(). LK_UNAVAILABLE, LK_DENIED, LK_INVALID,
 * LK_UNSUPPORTED (TLS is not installed), LK_CANCELED for stop_fd, LK_NOMEM.
 */
lk_status lki_seed_connect(const lki_endpoint *, const lki_reach *, _Atomic int *fd_seen,
                           lki_talk *out, lki_error *);
void lki_seed_close(lki_talk *);

/* Which of several errors a user should see: the greater number. */
int lki_seed_error_weight(lk_status);

#endif
