/*
 * A conversation on a connection that nobody else uses: write, then read, until a deadline, however
 * busily the other side goes on sending.
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
    int stop_fd;
    const char *shown; /* the server, for sentences */
    size_t heard;      /* bytes so far */
    bool may_want_tls; /* plain, and to a port that was never heard of: it may be one of TLS */
} lki_talk;

lk_status lki_talk_write(lki_talk *, const lki_bytes *, lki_error *);
lk_status lki_talk_read(lki_talk *, redisReply **out, lki_error *);

#endif
