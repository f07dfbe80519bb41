/*
 * The life of one connection of a link. It outlives its place in the link for as long as a thread
 * is in I/O on it: that thread then finds it broken, and the last one frees it.
 */
#ifndef LKI_CHANNEL_H
#define LKI_CHANNEL_H

#include "net/link.h"

struct lki_connection {
    lki_transport *transport;
    redisReader *reader;      /* the driver's alone */
    unsigned users;           /* threads that are in I/O, and the link itself */
    int64_t answered_us;      /* when a whole reply or push last came */
    int64_t answered_sent_us; /* when the last request that has its answer was sent */
    bool broken;
    bool writing;       /* somebody writes: what is added meanwhile goes with it */
    bool keeper;        /* the keeper is the driver */
    lki_caller *driver; /* a caller is */
    lki_bytes out;      /* committed, not yet written */
    lki_bytes rest;     /* the writer's: taken from `out` */
    size_t rest_sent;
    size_t begun;              /* where in `out` the request begins that is being made */
    lki_request *first, *last; /* without an answer */
};

lki_connection *lki_connection_new(lki_transport *); /* NULL: out of memory */
void lki_connection_release(lki_connection *);       /* of one user; the last one closes it */

enum { LKI_REPLIES_MOST = 64 };

typedef enum { LKI_READ_SOME, LKI_READ_NOTHING, LKI_READ_BROKEN } lki_read_result;

/*
 * Reads what is there and parses it, up to LKI_REPLIES_MOST replies. Call it without the monitor,
 * as the driver. More may be in the reader: ask again until it says 0 replies. Patiently: the
 * transport is, and may wait.
 */
lki_read_result lki_connection_read(lki_connection *, bool patiently, redisReply *replies[],
                                    size_t *count, lki_error *);

/* Takes complete replies out of the reader without reading; false: what came is no reply. */
bool lki_connection_parse(lki_connection *, redisReply *replies[], size_t *count, lki_error *);

/* ---- the parser of hiredis, with limits: no reply about locks is longer ---- */

redisReader *lki_reader_new(void); /* freed with redisReaderFree(); NULL: out of memory */

/* Whether it keeps more bytes of an incomplete reply than any reply has. */
bool lki_reader_is_overfull(const redisReader *);

#endif
