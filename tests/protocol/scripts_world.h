/* A server of a test's own, and the scripts as they are shipped run on it. */
#ifndef SCRIPTS_WORLD_H
#define SCRIPTS_WORLD_H

#include "lk_scripts.h"
#include "server.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    test_server *server;
    redisContext *link;
} world;

enum { WORLD_ACQUIRE_WORDS = 11, WORLD_KEY_MOST = 600 };

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

/* Runs a script on the lock whose first key is `key`; `words` are ended by NULL. */
static inline redisReply *world_run_text(world *one, const char *key, const char *text,
                                         const char *const *words) {
    static const char suffixes[] = "drw";
    char others[3][WORLD_KEY_MOST];
    const char *argv[32] = {"EVAL", text, "4", key};
    int argc = 4;
    for (size_t i = 0; i < 3; i++) {
        snprintf(others[i], sizeof others[i], "%s:%c", key, suffixes[i]);
        argv[argc++] = others[i];
    }
    size_t lengths[32], count = 0;
    char joined[WORLD_KEY_MOST] = "";
    for (; words[count]; count++)
        argv[argc++] = words[count];
    for (int i = 0; i < argc; i++)
        lengths[i] = strlen(argv[i]);
    if (count == WORLD_ACQUIRE_WORDS) { /* as one, as the client passes them (SPEC 11.5) */
        size_t length = 0;
        for (size_t i = 0; i < count; i++) {
            assert_true(length + strlen(words[i]) + 1 < sizeof joined);
            memcpy(joined + length, words[i], strlen(words[i]) + 1);
            length += strlen(words[i]) + 1;
        }
        argc -= (int)count - 1;
        argv[argc - 1] = joined;
        lengths[argc - 1] = length - 1;
    }
    redisReply *reply = redisCommandArgv(one->link, argc, argv, lengths);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", key, reply->str);
    return reply;
}

static inline redisReply *world_run(world *one, const char *key, const char *operation,
                                    const char *const *words) {
    return world_run_text(one, key, world_text_of(operation), words);
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
