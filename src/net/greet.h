/*
 * The first commands on a new connection: log in, select the database, check that the server can
 * serve, end the earlier connection, subscribe. Blocks until a deadline.
 */
#ifndef LKI_GREET_H
#define LKI_GREET_H

#include "net/talk.h"

enum { LKI_RUN_ID_LENGTH = 40 };

/* A connection: where it leads, and how the server identifies it. */
typedef struct {
    char address[LKI_ADDRESS_SIZE];     /* of the server; see lki_endpoint_address() */
    char run_id[LKI_RUN_ID_LENGTH + 1]; /* "": the server did not tell */
    uint64_t connection;                /* its CLIENT ID; 0: the server did not tell */
} lki_identity;

typedef struct {
    const lki_endpoint *endpoint;
    const char *name;    /* of the connection, for CLIENT LIST */
    const char *channel; /* to subscribe to; NULL: none */
    bool is_sharded;     /* subscribe with SSUBSCRIBE, too */
    bool is_found;       /* the topology found the server: it may not be the master any more */
    bool is_node;        /* it must be a node of a cluster; otherwise it must not be */
    const lki_identity *earlier; /* our earlier connection, to end on the server; NULL: none */
    int64_t deadline_us;
    int stop_fd; /* readable: give up with LK_CANCELED; -1: never */
} lki_greeting;

/*
 * Bytes after the last reply are put back into the transport.
 * LK_UNAVAILABLE (LOADING, a replica, too many clients, the connection ended), LK_DENIED (AUTH,
 * ACL, protected mode), LK_INVALID (no such db), LK_UNSUPPORTED (older than 6.2, a node of a
 * cluster, a sentinel), LK_CANCELED for stop_fd, LK_NOMEM, LK_INTERNAL.
 */
lk_status lki_greet(lki_transport *, const lki_greeting *, lki_identity *out, lki_error *);

/*
 * Connects and logs in, for a caller that only asks a few questions: of a sentinel, of a node of a
 * cluster, or of a server, whether it can serve or not. fd_seen is as for lki_transport_open(). The
 * caller ends it with lki_talk_close(). `endpoint` must outlive the talk.
 */
lk_status lki_greet_open(const lki_endpoint *endpoint, const lki_reach *, _Atomic int *fd_seen,
                         lki_talk *out, lki_error *);

/* AUTH and SELECT alone. */
lk_status lki_greet_login(lki_talk *, const lki_endpoint *, lki_error *);
lk_status lki_greet_select(lki_talk *, const lki_endpoint *, lki_error *);

/* ---- the text of INFO ---- */

/*
 * The value of `field`, which includes its colon. It ends at the end of the line or of the text.
 * NULL: INFO does not have the field.
 */
const char *lki_info_field(const char *info, const char *field);

/* "standalone", "cluster" or "sentinel", up to the end of the line; NULL: INFO does not tell. */
const char *lki_info_mode(const char *info);

/* Whether latchkey supports this redis_version: 6.2 or newer. */
bool lki_info_is_supported(const char *version);

#endif
