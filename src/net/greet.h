/*
 * What is said on a new connection before anything else: who we are, which database, whether the
 * server can serve; and on a subscription connection what we want to hear. Blocks until a deadline.
 */
#ifndef LKI_GREET_H
#define LKI_GREET_H

#include "net/talk.h"

enum { LKI_RUN_ID_LENGTH = 40 };

/* A connection as the server knows it; `run_id` "" or `connection` 0 when it would not say. */
typedef struct {
    char run_id[LKI_RUN_ID_LENGTH + 1];
    uint64_t connection;
} lki_identity;

typedef struct {
    const lki_endpoint *endpoint;
    const char *name;            /* of the connection, for CLIENT LIST */
    const char *channel;         /* to subscribe to; NULL: none */
    const lki_identity *earlier; /* a connection of ours that must not run anything any more */
    int64_t deadline_us;
    int stop_fd;
} lki_greeting;

/*
 * What comes behind the last answer is left to who reads the transport next.
 * LK_UNAVAILABLE (LOADING, a replica, no room, the connection ended), LK_DENIED (AUTH, ACL,
 * protected mode), LK_INVALID (no such db), LK_UNSUPPORTED (older than 6.2, a node of
 * a cluster, a sentinel), LK_CANCELED for
 * stop_fd, LK_NOMEM, LK_INTERNAL.
 */
lk_status lki_greet(lki_transport *, const lki_greeting *, lki_identity *out, lki_error *);

/* AUTH, and SELECT, for who wants to look at a server that may not be able to serve. */
lk_status lki_greet_login(lki_talk *, const lki_endpoint *, lki_error *);
lk_status lki_greet_select(lki_talk *, const lki_endpoint *, lki_error *);

/* ---- the text of INFO ---- */

/* What stands behind `field`, which ends with its colon, up to the end of the line or of the text;
 * NULL if it is not there. */
const char *lki_info_field(const char *info, const char *field);

/* "standalone", "cluster" or "sentinel", up to the end of the line; NULL if it is not there. */
const char *lki_info_mode(const char *info);

/* Whether a redis_version is one that locks can be kept on: 6.2 or newer. */
bool lki_info_is_supported(const char *version);

#endif
