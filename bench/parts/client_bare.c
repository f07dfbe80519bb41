/* See client_bare.h. */
#include "client_bare.h"

#include "client_figures.h"
#include "lk_scripts.h"
#include "packed.h"
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBER_ROOM = 24 };

static const char lease_ms[] = "30000"; /* the library's default */

void bare_init(bare_lock *lock, redisContext *context, const char *name, uint64_t number) {
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    *lock = (bare_lock){.context = context};
    snprintf(lock->key, sizeof lock->key, "lk:{%s}", name);
    snprintf(lock->handle, sizeof lock->handle, "%032" PRIx64 "-%012x", number, 1U);
    snprintf(lock->who, sizeof lock->who, "%ld %s %s", (long)getpid(), host,
             program_invocation_short_name);
}

void bare_load_scripts(redisContext *context) {
    for (size_t i = 0; i < sizeof lki_scripts / sizeof *lki_scripts; i++) {
        const char *words[] = {"SCRIPT", "LOAD", lki_scripts[i].text};
        freeReplyObject(server_ask(context, 3, words));
    }
}

static const char *print_number(char *room, uint64_t number) {
    snprintf(room, NUMBER_ROOM, "%" PRIu64, number);
    return room;
}

/* Sends one operation, with its words packed as the library packs them (SPEC 11.5). */
static redisReply *run(bare_lock *lock, lkc_op op, const char *const *given, size_t count) {
    test_text packed = {0};
    packed_add(&packed, lki_scripts[op].name, given, count);
    const char *words[] = {"EVALSHA", lki_scripts[op].sha1, "1", lock->key, packed.bytes};
    enum { WORDS = sizeof words / sizeof *words };
    size_t lengths[WORDS];
    for (size_t i = 0; i + 1 < WORDS; i++)
        lengths[i] = strlen(words[i]);
    lengths[WORDS - 1] = packed.length;
    redisReply *reply = server_ask_bytes(lock->context, WORDS, words, lengths);
    free(packed.bytes);
    return reply;
}

static bool is_answer(const redisReply *reply, const char *word) {
    size_t length = strlen(word);
    return reply->type == REDIS_REPLY_STRING && strncmp(reply->str, word, length) == 0 &&
           reply->str[length] == ' ';
}

/* The number that so many words stand before. */
static uint64_t answer_number(const redisReply *reply, int before) {
    const char *at = reply->str;
    for (; before > 0; before--)
        at = strchr(at, ' ') + 1;
    return strtoull(at, NULL, 10);
}

static bool ask_for_it(bare_lock *lock, bool wait) {
    char request[NUMBER_ROOM], floor[NUMBER_ROOM];
    const char *words[] = {lock->handle,
                           print_number(request, lock->request),
                           "0",
                           "write",
                           wait ? "1" : "0",
                           lease_ms,
                           "fair",
                           print_number(floor, lock->floor),
                           "",
                           "",
                           lock->who};
    redisReply *reply = run(lock, LKC_OP_ACQUIRE, words, sizeof words / sizeof *words);
    bool granted = is_answer(reply, "granted");
    if (granted)
        lock->floor = lock->fence = answer_number(reply, 2);
    else if (!wait || !is_answer(reply, "queued"))
        bench_fail("a bare acquire was refused");
    freeReplyObject(reply);
    return granted;
}

bool bare_take(bare_lock *lock, bool wait) {
    lock->request++;
    return ask_for_it(lock, wait);
}

void bare_claim(bare_lock *lock) {
    if (!ask_for_it(lock, true))
        bench_fail("a bare lock was not handed over");
}

void bare_give_back(bare_lock *lock) {
    char request[NUMBER_ROOM], fence[NUMBER_ROOM];
    const char *words[] = {lock->handle, print_number(request, ++lock->request),
                           print_number(fence, lock->fence), "write", "1"};
    redisReply *reply = run(lock, LKC_OP_RELEASE, words, sizeof words / sizeof *words);
    if (!is_answer(reply, "released"))
        bench_fail("a bare release was refused");
    lock->floor = answer_number(reply, 1);
    freeReplyObject(reply);
}
