/* See scan.h. */
#include "engine/scan.h"

#include "net/resp.h"

#include <string.h>

lki_sent lki_scan(lki_bytes *out, const char *prefix, const char *cursor, const char *start,
                  size_t start_length) {
    char pattern[LKI_KEY_PATTERN_MOST];
    size_t length = lki_key_pattern(prefix, start, start_length, pattern);
    lki_resp_command(out, 6);
    lki_resp_text(out, "SCAN");
    lki_resp_text(out, cursor);
    lki_resp_text(out, "MATCH");
    lki_resp_word(out, pattern, length);
    lki_resp_text(out, "COUNT");
    lki_resp_text(out, "500");
    return (lki_sent){.script = LKI_SCRIPTS};
}

static bool is_scan_reply(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           reply->element[0]->len < LKI_CURSOR_SIZE &&
           strspn(reply->element[0]->str, "0123456789") == (size_t)reply->element[0]->len &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

static lk_status read_key(const redisReply *key, const char *prefix, lki_scan_fn *each, void *arg,
                          lki_error *error) {
    char name[LKI_NAME_MOST + 1];
    size_t length;
    if (key->type != REDIS_REPLY_STRING)
        return LK_OK;
    const char *found = lki_key_name(prefix, key->str, key->len, &length);
    if (!found)
        return LK_OK; /* the pattern also matches keys that are not first keys of locks */
    memcpy(name, found, length);
    name[length] = 0;
    return each(arg, name, error);
}

lk_status lki_scan_read(const redisReply *reply, const char *prefix, char cursor[LKI_CURSOR_SIZE],
                        lki_scan_fn *each, void *arg, lki_error *error) {
    if (!is_scan_reply(reply))
        return lki_error_set(error, LK_INTERNAL, "the server sent an invalid reply to SCAN");
    const redisReply *keys = reply->element[1];
    for (size_t i = 0; i < keys->elements; i++) {
        lk_status status = read_key(keys->element[i], prefix, each, arg, error);
        if (status != LK_OK)
            return status;
    }
    memcpy(cursor, reply->element[0]->str, reply->element[0]->len + 1);
    return LK_OK;
}
