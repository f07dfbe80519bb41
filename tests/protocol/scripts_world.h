/* A server of a test's own, and the scripts as they are shipped run on it. */
#ifndef SCRIPTS_WORLD_H
#define SCRIPTS_WORLD_H

#include "lk_scripts.h"
#include "packed.h"
#include "server.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    test_server *server;
    redisContext *link;
} world;

enum { WORLD_WORDS_MOST = 11, WORLD_KEY_MOST = 600 };

/* `options` as those of test_server_start. 0, or -1 when there is no server. */
static inline int world_begin(void **state, const char *const *options) {
    static world one;
    one.server = test_server_start(test_server_any(), options);
    one.link = one.server ? redisConnectUnix(test_server_socket(one.server)) : NULL;
    *state = &one;
    return one.link && !one.link->err ? 0 : -1;
}

static inline int world_end(void **state) {
    world *one = *state;
    redisFree(one->link);
    test_server_stop(one->server);
    return 0;
}

static inline const char *world_text_of(const char *operation) {
    for (size_t i = 0; i < sizeof lki_scripts / sizeof *lki_scripts; i++)
        if (strcmp(lki_scripts[i].name, operation) == 0)
            return lki_scripts[i].text;
    fail_msg("there is no operation %s", operation);
    return NULL;
}

/*
 * Runs an operation on the lock whose first key is `key`, with both keys (SPEC 11.1); `text` is its
 * script, `words` are its arguments, ended by NULL.
 */
static inline redisReply *world_run_text(world *one, const char *key, const char *operation,
                                         const char *text, const char *const *words) {
    lkc_text arguments[WORLD_WORDS_MOST];
    char second[WORLD_KEY_MOST];
    size_t count = 0;
    for (; words[count]; count++) {
        assert_true(count < WORLD_WORDS_MOST);
        arguments[count] = (lkc_text){words[count], strlen(words[count])};
    }
    assert_int_equal(count, packed_count(operation));
    lkc_text packed = packed_arguments(operation, arguments);
    snprintf(second, sizeof second, "%s:i", key);
    redisReply *reply = redisCommand(one->link, "EVAL %s 2 %s %s %b", text, key, second,
                                     packed.bytes, packed.length);
    free((char *)packed.bytes);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", key, reply->str);
    return reply;
}

static inline redisReply *world_run(world *one, const char *key, const char *operation,
                                    const char *const *words) {
    return world_run_text(one, key, operation, world_text_of(operation), words);
}

/* More readers than a packed lock can have (SPEC 11.2). Their lease may be over soon. */
static inline void world_crowd(world *one, const char *key, const char *lease_ms) {
    enum { READERS = 20 };
    for (int i = 1; i <= READERS; i++) {
        char handle[64];
        snprintf(handle, sizeof handle, "0000000000000000000000000000000f-%012d", i);
        const char *words[] = {handle, "1", "0", "read", "1", lease_ms,
                               "fair", "0", "", "", "", NULL};
        redisReply *reply = world_run(one, key, "acquire", words);
        assert_memory_equal(reply->str, "granted ", strlen("granted "));
        freeReplyObject(reply);
    }
}

/* The answer's word, with which its line begins (SPEC 11.4). */
static inline void world_expect(redisReply *reply, const char *answer) {
    const char *line = reply->elements > 0 ? reply->element[0]->str : reply->str;
    char word[32] = "";
    sscanf(line, "%31s", word);
    assert_string_equal(word, answer);
    freeReplyObject(reply);
}

#endif
