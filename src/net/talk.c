/* See talk.h. */
#include "net/talk.h"

#include "base/clock.h"
#include "net/resp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
    HEARD_MOST = 1 << 20, /* more than any server sends during a greeting */
    READ_SIZE = 16 * 1024 /* a whole TLS record: poll(2) does not see the rest of a half-read one */
};

/* A server that expects TLS may close the connection without a reply. */
static lk_status add_tls_hint(const lki_talk *talk, lki_error *error) {
    size_t length = strlen(error->text);
    if (talk->may_want_tls && talk->heard == 0 && error->status == LK_UNAVAILABLE)
        snprintf(error->text + length, sizeof error->text - length,
                 "; the server may expect TLS: try rediss://");
    return error->status;
}

/* A TLS alert of any version: type 21, then 3, then the minor version. */
static bool is_alert(const char *bytes, size_t length) {
    return length >= 2 && bytes[0] == 0x15 && bytes[1] == 0x03;
}

/* Checked after each read, because a peer could send bytes for ever that complete no reply. */
static lk_status check_limits(const lki_talk *talk, lki_error *error) {
    struct pollfd stop = {talk->stop_fd, POLLIN, 0};
    if (poll(&stop, 1, 0) > 0)
        return lki_error_set(error, LK_CANCELED, "%s: connecting was stopped", talk->shown);
    if (talk->heard > HEARD_MOST)
        return lki_error_set(error, LK_UNAVAILABLE,
                             "%s: not a Redis or Valkey server (it sends without end)",
                             talk->shown);
    if (lki_now_us() >= talk->deadline_us)
        return lki_error_set(error, LK_UNAVAILABLE,
                             "%s: the server did not finish its reply in time", talk->shown);
    return LK_OK;
}

static lk_status await(lki_talk *talk, bool writing, lki_error *error) {
    struct pollfd polled[2] = {
        {lki_transport_fd(talk->transport), lki_transport_events(talk->transport, writing), 0},
        {talk->stop_fd, POLLIN, 0}};
    int ready, left_ms;
    do {
        left_ms = lki_poll_ms(talk->deadline_us);
        ready = poll(polled, 2, left_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready > 0 && polled[1].revents)
        return lki_error_set(error, LK_CANCELED, "%s: connecting was stopped", talk->shown);
    /* After the deadline, events do not count: a peer could send incomplete replies for ever. */
    if (ready > 0 && left_ms != 0)
        return LK_OK;
    return lki_error_set(error, LK_UNAVAILABLE,
                         "%s: the server accepted the connection but sent no reply; it may be "
                         "stopped, or not be a Redis or Valkey server",
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
            return add_tls_hint(talk, error);
        if (length > 0)
            sent += (size_t)length;
        else if (await(talk, true, error) != LK_OK)
            return error->status;
    }
    return LK_OK;
}

lk_status lki_talk_read(lki_talk *talk, redisReply **out, lki_error *error) {
    for (;;) {
        char buffer[READ_SIZE];
        void *reply = NULL;
        if (redisReaderGetReply(talk->reader, &reply) != REDIS_OK)
            return lki_error_set(error, LK_UNAVAILABLE, "%s: not a Redis or Valkey server (%s)",
                                 talk->shown, talk->reader->errstr);
        if (reply) {
            *out = reply;
            return LK_OK;
        }
        ssize_t length = lki_transport_read(talk->transport, buffer, sizeof buffer, error);
        if (length == LKI_BROKEN)
            return add_tls_hint(talk, error);
        if (length == LKI_WOULD_BLOCK) {
            if (await(talk, false, error) != LK_OK)
                return error->status;
            continue;
        }
        if (talk->may_want_tls && talk->heard == 0 && is_alert(buffer, (size_t)length))
            return lki_error_set(error, LK_UNAVAILABLE,
                                 "%s: the server expects TLS on this port; try rediss://",
                                 talk->shown);
        talk->heard += (size_t)length;
        if (redisReaderFeed(talk->reader, buffer, (size_t)length) != REDIS_OK)
            return lki_error_no_memory(error);
        if (check_limits(talk, error) != LK_OK)
            return error->status;
    }
}

lk_status lki_talk_ask(lki_talk *talk, const char *const *words, redisReply **out,
                       lki_error *error) {
    lki_bytes command = {0};
    lki_resp_words(&command, words);
    lk_status status = lki_talk_write(talk, &command, error);
    if (status == LK_OK)
        status = lki_talk_read(talk, out, error);
    lki_bytes_free(&command);
    return status;
}

const char *lki_reply_value(const redisReply *reply, const char *field) {
    if (reply->type != REDIS_REPLY_ARRAY)
        return NULL;
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (reply->element[i]->type == REDIS_REPLY_STRING &&
            reply->element[i + 1]->type == REDIS_REPLY_STRING &&
            strcmp(reply->element[i]->str, field) == 0)
            return reply->element[i + 1]->str;
    return NULL;
}

void lki_talk_close(lki_talk *talk) {
    lki_transport_close(talk->transport);
    if (talk->reader)
        redisReaderFree(talk->reader);
    talk->transport = NULL;
    talk->reader = NULL;
}
