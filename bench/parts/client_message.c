/* See client_message.h. */
#include "client_message.h"

#include "client_figures.h"

#include <stdio.h>

static const char *const channels[] = {"message:0", "message:1"};

/* As long as the line of a grant (protocol/SPEC.md, 10.10). */
static const char text[] = "granted 00000000000000000000000000000001-000000000001 17 "
                           "1700000000000000 1700000000000000 1000 0";

static const char script[] = "local t = redis.call('TIME')\n"
                             "redis.call('GET', KEYS[1])\n"
                             "redis.call('SET', KEYS[1], ARGV[2], 'PXAT', '2700000000000')\n"
                             "redis.call('PUBLISH', ARGV[1], ARGV[2])\n"
                             "return 'released ' .. t[1] .. t[2] .. ' 0 0'\n";

static void load_script(bench_messenger *messenger) {
    const char *words[] = {"SCRIPT", "LOAD", script};
    redisReply *reply = server_ask(messenger->speaks, 3, words);
    snprintf(messenger->script, sizeof messenger->script, "%s", reply->str);
    freeReplyObject(reply);
}

void messenger_open(bench_messenger *messenger, const char *address, int role) {
    const char *words[] = {"SUBSCRIBE", channels[role]};
    *messenger = (bench_messenger){.speaks = server_connect(address),
                                   .listens = server_connect(address),
                                   .to = channels[1 - role]};
    freeReplyObject(server_ask(messenger->listens, 2, words));
    load_script(messenger);
}

void messenger_close(bench_messenger *messenger) {
    redisFree(messenger->speaks);
    redisFree(messenger->listens);
}

void messenger_tell(bench_messenger *messenger) {
    const char *words[] = {"PUBLISH", messenger->to, text};
    redisReply *reply = server_ask(messenger->speaks, 3, words);
    if (reply->integer != 1)
        bench_fail("%lld heard a message that is for one", reply->integer);
    freeReplyObject(reply);
}

void messenger_tell_by_script(bench_messenger *messenger) {
    const char *words[] = {"EVALSHA", messenger->script, "1", "lk:{message}", messenger->to, text};
    freeReplyObject(server_ask(messenger->speaks, sizeof words / sizeof *words, words));
}

void messenger_hear(bench_messenger *messenger) {
    void *reply;
    if (redisGetReply(messenger->listens, &reply) != REDIS_OK)
        bench_fail("a message did not come: %s", messenger->listens->errstr);
    freeReplyObject(reply);
}
