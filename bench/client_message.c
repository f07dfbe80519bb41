/* See client_message.h. */
#include "client_message.h"

#include "client_figures.h"

static const char *const channels[] = {"message:0", "message:1"};

/* As long as the line of a grant (protocol/SPEC.md, 10.10). */
static const char text[] = "granted 00000000000000000000000000000001-000000000001 17 "
                           "1700000000000000 1700000000000000 1000 0";

void messenger_open(bench_messenger *messenger, const char *socket, int role) {
    const char *words[] = {"SUBSCRIBE", channels[role]};
    *messenger =
        (bench_messenger){server_connect(socket), server_connect(socket), channels[1 - role]};
    freeReplyObject(server_ask(messenger->listens, 2, words));
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

void messenger_hear(bench_messenger *messenger) {
    void *reply;
    if (redisGetReply(messenger->listens, &reply) != REDIS_OK)
        bench_fail("a message did not come: %s", messenger->listens->errstr);
    freeReplyObject(reply);
}
