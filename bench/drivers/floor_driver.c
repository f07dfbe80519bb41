/*
 * The floors, as hiredis alone: a key set with NX and PX and deleted by the script that compares, which
 * is the least that a lock on this server costs; and a message there and back, which is the least
 * that waking somebody costs.
 */
#include "driver.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char delete_script[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

struct drive_handle {
    redisContext *link;
    char key[128], token[48], lease[24], script[48];
};

static drive_setting setting;

static redisContext *connect_to(const char *socket) {
    redisContext *link = redisConnectUnix(socket);
    if (!link || link->err)
        drive_fail("%s: %s", socket, link ? link->errstr : "out of memory");
    return link;
}

static redisReply *ask(redisContext *link, int count, const char **words) {
    redisReply *reply = redisCommandArgv(link, count, words, NULL);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        drive_fail("%s: %s", words[0], reply ? reply->str : link->errstr);
    return reply;
}

static void open_floor(const drive_setting *given, size_t handles) {
    (void)handles;
    setting = *given;
}

static drive_handle *new_handle(size_t number) {
    const char *words[] = {"SCRIPT", "LOAD", delete_script};
    drive_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        drive_fail("out of memory");
    handle->link = connect_to(setting.socket);
    snprintf(handle->key, sizeof handle->key, "%s:%zu", setting.lock, number);
    snprintf(handle->token, sizeof handle->token, "%040zu", number);
    snprintf(handle->lease, sizeof handle->lease, "%" PRId64, setting.lease_ms);
    redisReply *reply = ask(handle->link, 3, words);
    snprintf(handle->script, sizeof handle->script, "%s", reply->str);
    freeReplyObject(reply);
    return handle;
}

static bool take(drive_handle *handle, bool write, int64_t until_us) {
    const char *words[] = {"SET", handle->key, handle->token, "NX", "PX", handle->lease};
    (void)write;
    (void)until_us;
    redisReply *reply = ask(handle->link, 6, words);
    bool taken = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return taken;
}

static void give_back(drive_handle *handle, bool write) {
    const char *words[] = {"EVALSHA", handle->script, "1", handle->key, handle->token};
    (void)write;
    freeReplyObject(ask(handle->link, 5, words));
}

typedef struct {
    redisContext *speaks, *hears;
    const char *to;
} speaker;

static speaker new_speaker(const char *from, const char *to) {
    const char *words[] = {"SUBSCRIBE", from};
    speaker one = {
        .speaks = connect_to(setting.socket), .hears = connect_to(setting.socket), .to = to};
    freeReplyObject(ask(one.hears, 2, words));
    return one;
}

static void speak(const speaker *one) {
    const char *words[] = {"PUBLISH", one->to, "x"};
    freeReplyObject(ask(one->speaks, 3, words));
}

static void hear(const speaker *one) {
    void *reply;
    if (redisGetReply(one->hears, &reply) != REDIS_OK)
        drive_fail("a message did not come: %s", one->hears->errstr);
    freeReplyObject(reply);
}

static void *answer(void *arg) {
    for (;;) {
        hear(arg);
        speak(arg);
    }
    return NULL;
}

static void ping_pong(const drive_setting *given, double seconds) {
    setting = *given;
    speaker here = new_speaker("bench-here", "bench-there");
    speaker there = new_speaker("bench-there", "bench-here");
    size_t count = 0, room = 1 << 22;
    double *legs = malloc(room * sizeof *legs);
    pthread_t thread;
    if (!legs || pthread_create(&thread, NULL, answer, &there) != 0)
        drive_fail("out of memory");
    drive_ready();
    int64_t began = drive_now_us(), last = began, end = began + (int64_t)(seconds * 1e6);
    while (last < end && count < room) {
        speak(&here);
        hear(&here);
        int64_t now = drive_now_us();
        legs[count++] = (double)(now - last) / 2;
        last = now;
    }
    drive_print_pairs(legs, count, (double)(last - began) / 1e6);
    exit(0);
}

static void about(void) {
    printf(
        "{\"name\": \"floor\", \"version\": \"hiredis %d.%d.%d\", \"url\": \"\", \"reads\": false, "
        "\"setting\": \"SET NX PX, compare and delete; PUBLISH\"}\n",
        HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}

int main(int count, char **words) {
    static const drive_lock lock = {
        .about = about,
        .open = open_floor,
        .handle = new_handle,
        .lock = take,
        .unlock = give_back,
        .ping_pong = ping_pong,
    };
    return drive(&lock, count, words);
}
