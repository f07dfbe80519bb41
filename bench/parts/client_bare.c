/* See client_bare.h. */
#include "client_bare.h"

#include "client_figures.h"
#include "lk_scripts.h"
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEYS = 4, HEAD = 3 + KEYS, TAKE_WORDS = HEAD + 1, GIVE_WORDS = HEAD + 4 };
enum { NUMBER_ROOM = 24, ARGUMENTS_ROOM = 512 };

static const char lease_ms[] = "30000"; /* the library's default */

void bare_init(bare_lock *lock, redisContext *context, const char *name, uint64_t number) {
    static const char *const ends[KEYS] = {"", ":d", ":r", ":w"};
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    *lock = (bare_lock){.context = context};
    for (size_t i = 0; i < KEYS; i++)
        snprintf(lock->keys[i], sizeof lock->keys[i], "lk:{%s}%s", name, ends[i]);
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

static void put_head(const bare_lock *lock, lkc_op op, const char **words) {
    words[0] = "EVALSHA";
    words[1] = lki_scripts[op].sha1;
    words[2] = "4";
    for (size_t i = 0; i < KEYS; i++)
        words[3 + i] = lock->keys[i];
    words[HEAD] = lock->handle;
}

static const char *print_number(char *room, uint64_t number) {
    snprintf(room, NUMBER_ROOM, "%" PRIu64, number);
    return room;
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
    char arguments[ARGUMENTS_ROOM];
    const char *words[TAKE_WORDS];
    size_t lengths[TAKE_WORDS];
    put_head(lock, LKC_OP_ACQUIRE, words);
    words[HEAD] = arguments; /* as one (SPEC 11.5) */
    for (size_t i = 0; i < HEAD; i++)
        lengths[i] = strlen(words[i]);
    lengths[HEAD] = (size_t)snprintf(arguments, sizeof arguments,
                                     "%s%c%" PRIu64 "%c0%cwrite%c%d%c%s%cfair%c%" PRIu64 "%c%c%c%s",
                                     lock->handle, 0, lock->request, 0, 0, 0, wait, 0, lease_ms, 0,
                                     0, lock->floor, 0, 0, 0, lock->who);
    redisReply *reply = server_ask_bytes(lock->context, TAKE_WORDS, words, lengths);
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
    const char *words[GIVE_WORDS];
    put_head(lock, LKC_OP_RELEASE, words);
    words[HEAD + 1] = print_number(request, ++lock->request);
    words[HEAD + 2] = print_number(fence, lock->fence);
    words[HEAD + 3] = "write";
    redisReply *reply = server_ask(lock->context, GIVE_WORDS, words);
    if (!is_answer(reply, "released"))
        bench_fail("a bare release was refused");
    lock->floor = answer_number(reply, 1);
    freeReplyObject(reply);
}
