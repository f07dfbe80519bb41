/* See server_cost_requests.h. */
#include "server_cost_requests.h"

#include "lk_scripts.h"
#include "packed.h"
#include "words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char lease_ms[] = "86400000";   /* the longest there is: nothing here runs out */
enum { PACKED_MOST = 12, NUMBER_ROOM = 24 }; /* see protocol/lua/limits.lua */
static const char who[] = "4711 host.example.net server_cost";

lock_keys lock_keys_of(const char *name, size_t most) {
    static const char *const ends[] = {"", ":i"};
    lock_keys keys = {.count = most > PACKED_MOST ? 2 : 1};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int length = snprintf(keys.texts[i], sizeof keys.texts[i], "lk:{%s}%s", name, ends[i]);
        assert((size_t)length < sizeof keys.texts[i]);
        (void)length;
    }
    return keys;
}

/* SplitMix64's mixing: a bijection, so that different numbers give different clients. */
static uint64_t mix(uint64_t value) {
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

bench_handle bench_handle_of(uint64_t number) {
    bench_handle handle;
    snprintf(handle.text, sizeof handle.text, "%016" PRIx64 "%016" PRIx64 "-%012x", mix(number),
             mix(~number), 1U);
    return handle;
}

void requests_load_scripts(bench_link *link) {
    for (size_t i = 0; i < sizeof lki_scripts / sizeof *lki_scripts; i++) {
        bench_command command = {0};
        command_add(&command, "SCRIPT");
        command_add(&command, "LOAD");
        command_add_bytes(&command, lki_scripts[i].text, lki_scripts[i].length);
        link_send(link, &command, (bench_expectation){.answer = lki_scripts[i].sha1});
    }
    link_flush(link);
}

/* EVALSHA with the keys of `locks` times the same lock. */
static bench_command command_of(lkc_op op, const lock_keys *keys, size_t locks) {
    bench_command command = {0};
    command_add(&command, "EVALSHA");
    command_add(&command, lki_scripts[op].sha1);
    command_add_number(&command, keys->count * locks);
    for (size_t i = 0; i < keys->count * locks; i++)
        command_add(&command, keys->texts[i % keys->count]);
    return command;
}

/* Adds the words of an operation, packed (SPEC 11.5). */
static void add_packed(bench_command *command, lkc_op op, const char *const *words, size_t count) {
    test_text packed = {0};
    packed_add(&packed, lki_scripts[op].name, words, count);
    command_add_bytes(command, packed.bytes, packed.length);
    free(packed.bytes);
}

static const char *print(char room[NUMBER_ROOM], uint64_t number) {
    snprintf(room, NUMBER_ROOM, "%" PRIu64, number);
    return room;
}

void request_acquire(bench_link *link, lock_request request, uint64_t floor, const char *answer,
                     uint64_t *fence) {
    bench_command command = command_of(LKC_OP_ACQUIRE, request.keys, 1);
    char req[NUMBER_ROOM], floor_text[NUMBER_ROOM];
    const char *words[] = {request.handle->text,
                           print(req, request.req),
                           "0",
                           request.mode,
                           "1",
                           lease_ms,
                           "fair",
                           print(floor_text, floor),
                           "",
                           "",
                           who};
    add_packed(&command, LKC_OP_ACQUIRE, words, sizeof words / sizeof *words);
    link_send(link, &command, (bench_expectation){.answer = answer, .third = fence});
}

void request_release(bench_link *link, lock_request request, uint64_t fence) {
    bench_command command = command_of(LKC_OP_RELEASE, request.keys, 1);
    char req[NUMBER_ROOM], fence_text[NUMBER_ROOM];
    const char *words[] = {request.handle->text, print(req, request.req), print(fence_text, fence),
                           request.mode, "1"};
    add_packed(&command, LKC_OP_RELEASE, words, sizeof words / sizeof *words);
    link_send(link, &command, (bench_expectation){.answer = "released"});
}

void request_cancel(bench_link *link, lock_request request, uint64_t target) {
    bench_command command = command_of(LKC_OP_CANCEL, request.keys, 1);
    char req[NUMBER_ROOM], target_text[NUMBER_ROOM];
    const char *words[] = {request.handle->text, print(req, request.req),
                           print(target_text, target)};
    add_packed(&command, LKC_OP_CANCEL, words, sizeof words / sizeof *words);
    link_send(link, &command, (bench_expectation){.answer = "cancelled"});
}

void request_inspect(bench_link *link, const lock_keys *keys, uint64_t limit) {
    bench_command command = command_of(LKC_OP_INSPECT, keys, 1);
    char limit_text[NUMBER_ROOM];
    const char *words[] = {print(limit_text, limit)};
    add_packed(&command, LKC_OP_INSPECT, words, 1);
    link_send(link, &command, (bench_expectation){.answer = "lock"});
}

void request_renew(bench_link *link, const lock_keys *keys, const renew_entry *entries,
                   size_t count, const char *entry_answer) {
    bench_command command = command_of(LKC_OP_RENEW, keys, count);
    for (size_t i = 0; i < count; i++) {
        char fence[NUMBER_ROOM], req[NUMBER_ROOM];
        const char *words[] = {entries[i].handle->text, print(fence, entries[i].fence),
                               print(req, entries[i].req), lease_ms};
        add_packed(&command, LKC_OP_RENEW, words, sizeof words / sizeof *words);
    }
    link_send(link, &command, (bench_expectation){.answer = "renewed", .entry = entry_answer});
}
