/* A plain client for the tests of what stands in a server's place. Include after cmocka.h. */
#ifndef TEST_PLAIN_CLIENT_H
#define TEST_PLAIN_CLIENT_H

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_MS = 10000 }; /* for what must happen; nothing waits that long when all is well */

static inline redisContext *client_open(const char *path) {
    redisContext *client = redisConnectUnix(path);
    assert_non_null(client);
    assert_int_equal(client->err, 0);
    redisSetTimeout(client, (struct timeval){.tv_sec = LONG_MS / 1000});
    return client;
}

/* Sends a command without waiting for its answer. */
static inline void client_send(redisContext *client, const char *command) {
    int done = 0;
    redisAppendCommand(client, command);
    while (!done)
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
}

static inline void client_expect_reply(const redisReply *reply, const char *expected) {
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_INTEGER)
        assert_int_equal(reply->integer, strtoll(expected, NULL, 10));
    else if (reply->type == REDIS_REPLY_ARRAY)
        client_expect_reply(reply->element[reply->elements - 1], expected);
    else
        assert_string_equal(reply->str, expected);
}

/* The next answer; of an array, its last element. */
static inline void client_expect(redisContext *client, const char *expected) {
    void *reply = NULL;
    assert_int_equal(redisGetReply(client, &reply), REDIS_OK);
    client_expect_reply(reply, expected);
    freeReplyObject(reply);
}

static inline void client_ask(redisContext *client, const char *command, const char *expected) {
    client_send(client, command);
    client_expect(client, expected);
}

/* The connection has ended, with no answer before. */
static inline void client_expect_end(redisContext *client) {
    void *reply = NULL;
    assert_int_equal(redisGetReply(client, &reply), REDIS_ERR);
    assert_null(reply);
    bool timed_out = client->err == REDIS_ERR_IO && errno == EAGAIN;
    assert_true(client->err == REDIS_ERR_EOF || client->err == REDIS_ERR_IO);
    assert_false(timed_out);
}

/* Nothing has come. */
static inline void client_expect_nothing(redisContext *client) {
    struct pollfd wait = {.fd = client->fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 0), 0);
}

/* Neither the socket nor its folder is there any more. Takes a copy of the path, and frees it. */
static inline void expect_removed(char *path) {
    assert_int_not_equal(access(path, F_OK), 0);
    *strrchr(path, '/') = '\0';
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
}

#endif
