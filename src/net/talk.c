/* See talk.h. */
#include "net/talk.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>

static lk_status await(lki_talk *talk, bool writing, lki_error *error) {
    struct pollfd polled[2] = {
        {lki_transport_fd(talk->transport), lki_transport_events(talk->transport, writing), 0},
        {talk->stop_fd, POLLIN, 0}};
    int ready;
    do {
        ready = poll(polled, 2, lki_poll_ms(talk->deadline_us));
    } while (ready < 0 && errno == EINTR);
    if (ready > 0 && polled[1].revents)
        return lki_error_set(error, LK_CANCELED, "%s: broken off", talk->shown);
    if (ready > 0)
        return LK_OK;
    return lki_error_set(error, LK_UNAVAILABLE, "%s: accepted the connection and says nothing",
                         talk->shown);
}

lk_status lki_talk_write(lki_talk *talk, const lki_bytes *bytes, lki_error *error) {
    size_t sent = 0;
    if (bytes->failed)
        return lki_error_no_memory(error);
    while (sent < bytes->length) {
        ssize_t length =
            lki_transport_write(talk->transport, bytes->data + sent, bytes->length - sent, error);
        if (length == LKI_BROKEN)
            return error->status;
        if (length > 0)
            sent += (size_t)length;
        else if (await(talk, true, error) != LK_OK)
            return error->status;
    }
    return LK_OK;
}

lk_status lki_talk_read(lki_talk *talk, redisReply **out, lki_error *error) {
    for (;;) {
        char buffer[4096];
        void *reply = NULL;
        if (redisReaderGetReply(talk->reader, &reply) != REDIS_OK)
            return lki_error_set(error, LK_UNAVAILABLE,
                                 "%s: this is no Redis or Valkey server (%s)", talk->shown,
                                 talk->reader->errstr);
        if (reply) {
            *out = reply;
            return LK_OK;
        }
        ssize_t length = lki_transport_read(talk->transport, buffer, sizeof buffer, error);
        if (length == LKI_BROKEN)
            return error->status;
        if (length == LKI_WOULD_BLOCK) {
            if (await(talk, false, error) != LK_OK)
                return error->status;
        } else if (redisReaderFeed(talk->reader, buffer, (size_t)length) != REDIS_OK) {
            return lki_error_no_memory(error);
        }
    }
}
