/* Who answers at a socket. Knows nothing of folders, and of the protocol PING and SHUTDOWN. */
#ifndef LKI_LOCAL_PROBE_H
#define LKI_LOCAL_PROBE_H

#include "base/error.h"

#include <stdint.h>

/* For how long the caller is ready to wait: until deadline_us, or until stop_fd is readable. */
typedef struct {
    int64_t deadline_us;
    int stop_fd; /* -1: none */
} lki_patience;

typedef enum {
    LKI_NOBODY,  /* nothing is there, or nothing listens any more */
    LKI_COMING,  /* a server that loads its data, has no room now, or just went: ask again */
    LKI_SILENT,  /* somebody listens, and has said nothing until the deadline */
    LKI_ANSWERS, /* a server, whatever its answer was: its meaning is for those who use it */
} lki_sign;

/* LK_OK and a sign · LK_CANCELED · LK_DENIED: somebody else listens there · LK_NOMEM. */
lk_status lki_probe(const char *socket_path, const lki_patience *, lki_sign *, lki_error *);

/*
 * Tells who listens there to end, in good order. LK_OK: it hung up without a word, as who ends
 * does, or nobody was there · LK_UNAVAILABLE: it refused, or has said nothing until the deadline;
 * the words are to stand behind its name · LK_CANCELED · LK_DENIED · LK_NOMEM.
 */
lk_status lki_probe_end(const char *socket_path, const lki_patience *, lki_error *);

/* Waits a little before the next look; over at the deadline. LK_CANCELED. */
lk_status lki_pause(const lki_patience *, lki_error *);

#endif
