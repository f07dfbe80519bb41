/* See seed.h. */
#include "topology/seed.h"

#include "net/connection.h"

lk_status lki_seed_connect(const lki_endpoint *seed, const lki_reach *reach, _Atomic int *fd_seen,
                           lki_talk *out, lki_error *error) {
    lki_talk talk = {.deadline_us = reach->deadline_us,
                     .stop_fd = reach->stop_fd,
                     .shown = seed->shown,
                     .may_want_tls = !seed->tls,
                     .reader = lki_reader_new()};
    lk_status status = talk.reader ? LK_OK : lki_error_no_memory(error);
    if (status == LK_OK)
        status = lki_transport_open(seed, &reach->tls, reach->deadline_us, reach->stop_fd, fd_seen,
                                    &talk.transport, error);
    if (status == LK_OK)
        status = lki_greet_login(&talk, seed, error);
    if (status == LK_OK)
        *out = talk;
    else
        lki_seed_close(&talk);
    return status;
}

void lki_seed_close(lki_talk *talk) {
    lki_transport_close(talk->transport);
    if (talk->reader)
        redisReaderFree(talk->reader);
}

/* The reasons that a user can do something about come first. */
int lki_seed_error_weight(lk_status status) {
    switch (status) {
    case LK_CANCELED:
        return 5;
    case LK_DENIED:
        return 4;
    case LK_INVALID:
        return 3;
    case LK_UNSUPPORTED:
        return 2;
    default:
        return 1;
    }
}
