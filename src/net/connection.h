/*
 * One connection of a link. A broken connection leaves its link immediately, but lives on while a
 * thread does I/O on it. That thread sees `broken`, and the last user frees the connection.
 *
 * The fields belong to the monitor of the link, except where a comment names another owner.
 */
#ifndef LKI_CONNECTION_H
#define LKI_CONNECTION_H

#include "net/link.h"

struct lki_connection {
    lki_transport *transport;
    redisReader *reader;      /* owned by the driver */
    unsigned users;           /* threads that do I/O, and the link itself */
    int64_t answered_us;      /* when the last whole reply or push arrived; 0: none yet */
    int64_t answered_sent_us; /* when the last request that has its reply was sent; 0: none yet */
    bool broken;
    bool writing;              /* a thread writes, and will also write what is added meanwhile */
    bool keeper_drives;        /* the keeper is the driver */
    lki_caller *driver;        /* the caller that is the driver; NULL: none */
    lki_bytes out;             /* committed, not yet taken for writing */
    lki_bytes piece;           /* taken from `out`; owned by the thread that writes */
    size_t piece_sent;         /* bytes of `piece` that are sent */
    size_t request_start;      /* offset in `out` of the request that is being composed */
    lki_request *first, *last; /* requests without a reply, oldest first */
};

lki_connection *lki_connection_new(lki_transport *); /* with one user; NULL: out of memory */
void lki_connection_release(lki_connection *);       /* removes a user; the last one closes it */

enum { LKI_REPLIES_MOST = 64 };

typedef enum { LKI_READ_SOME, LKI_READ_NOTHING, LKI_READ_BROKEN } lki_read_result;

/*
 * Reads once and parses up to LKI_REPLIES_MOST replies. Call it without the monitor, as the driver.
 * If it returns LKI_REPLIES_MOST replies, the reader may have more: call lki_connection_parse().
 * LKI_READ_BROKEN may come with replies, which were parsed before the fault. `patiently`: use
 * lki_transport_read_patiently(), which may wait.
 */
lki_read_result lki_connection_read(lki_connection *, bool patiently, redisReply *replies[],
                                    size_t *count, lki_error *);

/* Takes complete replies out of the reader, without I/O. False: the bytes are not RESP. */
bool lki_connection_parse(lki_connection *, redisReply *replies[], size_t *count, lki_error *);

/* ---- the parser of hiredis, with limits that no reply about locks exceeds ---- */

redisReader *lki_reader_new(void); /* freed with redisReaderFree(); NULL: out of memory */

/* Whether the reader has more bytes of an incomplete reply than the limit. */
bool lki_reader_is_overfull(const redisReader *);

#endif
