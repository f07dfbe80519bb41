/* Finds out whether a server answers at a socket. Knows PING and SHUTDOWN, but no folders. */
#ifndef LKI_LOCAL_PROBE_H
#define LKI_LOCAL_PROBE_H

#include "base/error.h"

#include <stdint.h>

/* How long the caller is ready to wait. */
typedef struct {
    int64_t deadline_us;
    int stop_fd; /* readable: give up with LK_CANCELED; -1: never */
} lki_patience;

typedef enum {
    LKI_NOBODY,  /* there is no socket, or nothing listens at it */
    LKI_COMING,  /* a server that loads its data, has a full queue, or just closed: try again */
    LKI_SILENT,  /* a process listens, but did not answer until the deadline */
    LKI_ANSWERS, /* a server answers; the answer may be an error, which the client will report */
} lki_sign;

/* LK_OK and a sign · LK_CANCELED · LK_DENIED: the server belongs to another user · LK_NOMEM. */
lk_status lki_probe(const char *socket_path, const lki_patience *, lki_sign *, lki_error *);

/*
 * Sends SHUTDOWN. LK_OK: the server closed the connection without a reply, as SHUTDOWN does, or
 * nothing listened · LK_UNAVAILABLE: it refused, or did not answer until the deadline; the error is
 * a predicate whose subject is the server · LK_CANCELED · LK_DENIED · LK_NOMEM.
 */
lk_status lki_probe_end(const char *socket_path, const lki_patience *, lki_error *);

/* Waits 10 ms before the next attempt, but not past the deadline. LK_CANCELED. */
lk_status lki_pause(const lki_patience *, lki_error *);

#endif
