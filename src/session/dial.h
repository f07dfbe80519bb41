/* One attempt to get a connection that is ready for use. Blocks; without the monitor. */
#ifndef LKI_DIAL_H
#define LKI_DIAL_H

#include "session/session.h"

typedef struct {
    lki_transport *transport;
    lki_identity identity;
} lki_dialed;

/*
 * channel: NULL for commands. earlier: see net/greet.h. fd: has the descriptor from its making to
 * the end of the greeting, else -1, for a child of fork() that finds itself with it. Statuses as
 * lk_open, and LK_CANCELED.
 */
lk_status lki_dial(lki_session *, size_t server, const char *channel, const lki_identity *earlier,
                   _Atomic int *fd, lki_dialed *out, lki_error *);

#endif
