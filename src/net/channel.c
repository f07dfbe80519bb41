/* See channel.h. */
#include "net/channel.h"

#include "base/memory.h"

enum { READ_SIZE = 16 * 1024 };

lki_channel *lki_channel_new(lki_transport *transport) {
    lki_channel *channel = lki_new(sizeof *channel);
    if (!channel)
        return NULL;
    channel->reader = redisReaderCreate();
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
    char buffer[READ_SIZE];
    ssize_t length;
    bool some = false;
    *count = 0;
    do { /* a full buffer may leave bytes that TLS has decrypted already, which poll does not see */
        length = (patiently ? lki_transport_read_patiently
                            : lki_transport_read)(channel->transport, buffer, sizeof buffer, error);
        patiently = false;
        if (length > 0 && redisReaderFeed(channel->reader, buffer, (size_t)length) != REDIS_OK) {
            lki_error_no_memory(error);
            return LKI_READ_BROKEN;
        }
        some = some || length > 0;
    } while (length == sizeof buffer);
    lki_error unreadable;
    if (some && !lki_channel_parse(channel, replies, count, &unreadable)) {
        *error = unreadable;
        return LKI_READ_BROKEN;
    }
    if (length == LKI_BROKEN)
        return LKI_READ_BROKEN;
    return some ? LKI_READ_SOME : LKI_READ_NOTHING;
}
