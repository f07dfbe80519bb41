/* See channel.h. */
#include "net/channel.h"

#include "base/memory.h"
#include "net/reader.h"

enum { READ_SIZE = 16 * 1024 };

lki_channel *lki_channel_new(lki_transport *transport) {
    lki_channel *channel = lki_new(sizeof *channel);
    if (!channel)
        return NULL;
    channel->reader = lki_reader_new();
    if (!channel->reader) {
        lki_free(channel);
        return NULL;
    }
    channel->transport = transport;
    channel->users = 1;
    return channel;
}

void lki_channel_release(lki_channel *channel) {
    if (--channel->users > 0)
        return;
    lki_transport_close(channel->transport);
    redisReaderFree(channel->reader);
    lki_bytes_free(&channel->out);
    lki_bytes_free(&channel->rest);
    lki_free(channel);
}

bool lki_channel_parse(lki_channel *channel, redisReply *replies[], size_t *count,
                       lki_error *error) {
    *count = 0;
    while (*count < LKI_REPLIES_MOST) {
        void *reply = NULL;
        if (redisReaderGetReply(channel->reader, &reply) != REDIS_OK) {
            lki_error_set(error, LK_INTERNAL, "the server's answer cannot be read: %s",
                          channel->reader->errstr);
            return false;
        }
        if (!reply)
            break;
        replies[(*count)++] = reply;
    }
    return true;
}

/* The end of the stream comes after what was read before it: that is parsed all the same. */
lki_read_result lki_channel_read(lki_channel *channel, bool patiently, redisReply *replies[],
                                 size_t *count, lki_error *error) {
    char buffer[READ_SIZE]; /* a record of TLS fits: none of it stays where poll does not see it */
    *count = 0;
    ssize_t length = (patiently ? lki_transport_read_patiently : lki_transport_read)(
        channel->transport, buffer, sizeof buffer, error);
    bool some = length > 0;
    if (some && redisReaderFeed(channel->reader, buffer, (size_t)length) != REDIS_OK) {
        lki_error_no_memory(error);
        return LKI_READ_BROKEN;
    }
    lki_error unreadable;
    if (some && !lki_channel_parse(channel, replies, count, &unreadable)) {
        *error = unreadable;
        return LKI_READ_BROKEN;
    }
    if (lki_reader_is_overfull(channel->reader)) {
        lki_error_set(error, LK_INTERNAL, "the server's answer is too long to be one");
        return LKI_READ_BROKEN;
    }
    if (length == LKI_BROKEN)
        return LKI_READ_BROKEN;
    return some ? LKI_READ_SOME : LKI_READ_NOTHING;
}
