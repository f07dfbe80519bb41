/*
 * Blocking writes and reads on a connection that no other thread uses. They end at the deadline,
 * even if the server keeps sending.
 */
#ifndef LKI_TALK_H
#define LKI_TALK_H

#include "base/bytes.h"
#include "net/transport.h"

#include <hiredis/hiredis.h>

typedef struct {
    lki_transport *transport;
    redisReader *reader;
    int64_t deadline_us;
    int stop_fd;            /* readable: give up with LK_CANCELED; -1: never */
    const char *shown;      /* the URL of the server, for error texts */
    size_t heard;           /* bytes received so far */
    const char *if_replica; /* for lki_greet: the advice if the server is a replica */
    bool is_node;           /* for lki_greet: see lki_greeting */
    bool may_want_tls;      /* plain TCP that has never worked: errors may hint at rediss:// */
} lki_talk;

/* LK_UNAVAILABLE, LK_DENIED (by TLS), LK_CANCELED for stop_fd, LK_NOMEM. */
lk_status lki_talk_write(lki_talk *, const lki_bytes *, lki_error *);
lk_status lki_talk_read(lki_talk *, redisReply **out, lki_error *); /* the caller frees *out */

/* Sends a command and reads its reply. The words end with NULL. The caller frees *out. */
lk_status lki_talk_ask(lki_talk *, const char *const *words, redisReply **out, lki_error *);

/*
 * A reply that is a list of fields and their values: the value of the field. NULL: it has none, or
 * is no such list.
 */
const char *lki_reply_value(const redisReply *, const char *field);

void lki_talk_close(lki_talk *); /* closes its transport, frees its reader */

#endif
