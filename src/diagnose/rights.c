/* See rights.h. */
#include "diagnose/rights.h"

#include "base/clock.h"
#include "net/resp.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MOST = 6, NAME_SIZE = 192 };

/*
 * A server first checks the number of arguments, then the rights, then everything else. So each
 * command has enough arguments, and does nothing if it is permitted. "$k" is a key that does not
 * exist, "$c" a channel without subscribers.
 */
static const struct {
    const char *right; /* without the plus */
    const char *words[WORDS_MOST];
} attempts[] = {
    {"evalsha", {"EVALSHA", "0000000000000000000000000000000000000000", "1", "$k"}},
    {"eval", {"EVAL", "return 1", "1", "$k"}},
    {"publish", {"PUBLISH", "$c", ""}},
    {"ping", {"PING"}},
    {"scan", {"SCAN", "0", "COUNT", "1"}},
    {"info", {"INFO", "server"}},
    {"client|setname", {"CLIENT", "SETNAME", "latchkey:doctor"}},
    {"client|id", {"CLIENT", "ID"}},
    {"client|kill", {"CLIENT", "KILL", "ID", "0"}}, /* no client has this id */
    {"time", {"TIME"}},
    {"wait", {"WAIT", "0", "0"}}, /* does not wait: there are always 0 replicas */
    {"get", {"GET", "$k"}},
    {"set", {"SET", "$k", "value", "odd"}}, /* fails: no such option */
    {"del", {"DEL", "$k"}},
    {"hget", {"HGET", "$k", "field"}},
    {"lrem", {"LREM", "$k", "0", "element"}},
    {"pexpireat", {"PEXPIREAT", "$k", "1"}},
    {"zadd", {"ZADD", "$k", "no number", "member"}}, /* fails: not a number */
    {"zrem", {"ZREM", "$k", "member"}},
    {"zrangebyscore", {"ZRANGEBYSCORE", "$k", "0", "0"}},
    {"zrevrangebyscore", {"ZREVRANGEBYSCORE", "$k", "0", "0"}},
    {"zscore", {"ZSCORE", "$k", "member"}},
    {"zcount", {"ZCOUNT", "$k", "0", "0"}},
    {"setrange", {"SETRANGE", "$k", "0", ""}}, /* changes nothing */
    {"cluster|slots", {"CLUSTER", "SLOTS"}},
    {"cluster|info", {"CLUSTER", "INFO"}},
    {"asking", {"ASKING"}},
    {"subscribe", {"SUBSCRIBE", "$c"}}, /* must be last: commands after it would be refused */
};
enum { ATTEMPTS = sizeof attempts / sizeof *attempts };
static_assert(ATTEMPTS + 3 <= LKI_RIGHTS_MOST, "room for keys, channels and SELECT, too");

static void add_attempt(lki_bytes *out, size_t attempt, const char *key, const char *channel) {
    const char *const *words = attempts[attempt].words;
    size_t count = 0;
    while (count < WORDS_MOST && words[count])
        count++;
    lki_resp_command(out, count);
    for (size_t i = 0; i < count; i++)
        lki_resp_text(out, strcmp(words[i], "$k") == 0   ? key
                           : strcmp(words[i], "$c") == 0 ? channel
                                                         : words[i]);
}

static void add_once(char list[][LKI_RIGHT_SIZE], size_t *count, const char *text) {
    for (size_t i = 0; i < *count; i++)
        if (strcmp(list[i], text) == 0)
            return;
    snprintf(list[*count], LKI_RIGHT_SIZE, "%s", text);
    ++*count;
}

void lki_rights_lack(lki_rights *rights, const char *right) {
    add_once(rights->missing, &rights->missing_count, right);
}

static bool has_word(size_t attempt, const char *word) {
    const char *const *words = attempts[attempt].words;
    for (size_t i = 0; i < WORDS_MOST && words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* Adds "~lk:*" or "&lk:*". ACL patterns are globs, so special characters are escaped. */
static void lack_pattern(lki_rights *rights, char kind, const char *prefix) {
    char text[LKI_RIGHT_SIZE];
    size_t length = 0;
    text[length++] = kind;
    for (const char *c = prefix; *c && length < sizeof text - sizeof "\\x:*"; c++) {
        if (strchr("*?[]\\^", *c))
            text[length++] = '\\';
        text[length++] = *c;
    }
    memcpy(text + length, ":*", sizeof ":*");
    lki_rights_lack(rights, text);
}

/*
 * Reads an error reply. False: the command itself was refused, so nothing is known about its keys
 * or channels. Errors without NOPERM are expected, or are not about rights.
 */
static bool read_refusal(size_t attempt, const char *refusal, const char *prefix,
                         lki_rights *rights) {
    char text[LKI_RIGHT_SIZE];
    if (strstr(refusal, "unknown command")) {
        add_once(rights->absent, &rights->absent_count, attempts[attempt].words[0]);
        return false;
    }
    if (strncmp(refusal, "NOPERM", strlen("NOPERM")) != 0)
        return true;
    if (strstr(refusal, " to run the ")) {
        snprintf(text, sizeof text, "+%s", attempts[attempt].right);
        lki_rights_lack(rights, text);
        return false;
    }
    lack_pattern(rights, has_word(attempt, "$c") ? '&' : '~', prefix);
    return true;
}

/* Only nodes of a cluster are sent the commands of clusters. */
static bool is_made(size_t attempt, const lki_rights *rights) {
    const char *command = attempts[attempt].words[0];
    if (strcmp(command, "WAIT") == 0)
        return rights->needs_wait;
    return rights->is_node || (strcmp(command, "CLUSTER") != 0 && strcmp(command, "ASKING") != 0);
}

lk_status lki_rights_try(lki_talk *talk, const char *prefix, lki_rights *rights, lki_error *error) {
    char key[NAME_SIZE], channel[NAME_SIZE];
    lki_bytes command = {0};
    snprintf(key, sizeof key, "%s:{latchkey doctor %ld %lld}", prefix, (long)getpid(),
             (long long)lki_now_us());
    snprintf(channel, sizeof channel, "%s:latchkey doctor %ld", prefix, (long)getpid());
    for (size_t i = 0; i < ATTEMPTS; i++)
        if (is_made(i, rights))
            add_attempt(&command, i, key, channel);
    lk_status status = lki_talk_write(talk, &command, error);
    bool tried_keys = false, tried_channels = false;
    for (size_t i = 0; i < ATTEMPTS && status == LK_OK; i++) {
        redisReply *reply = NULL;
        if (!is_made(i, rights))
            continue;
        status = lki_talk_read(talk, &reply, error);
        bool tried = status == LK_OK && (reply->type != REDIS_REPLY_ERROR ||
                                         read_refusal(i, reply->str, prefix, rights));
        tried_keys = tried_keys || (tried && has_word(i, "$k"));
        tried_channels = tried_channels || (tried && has_word(i, "$c"));
        freeReplyObject(reply);
    }
    if (status == LK_OK && !tried_keys)
        lack_pattern(rights, '~', prefix);
    if (status == LK_OK && !tried_channels && !rights->all_channels)
        lack_pattern(rights, '&', prefix);
    lki_bytes_free(&command);
    return status;
}
