/* See server_cost_alone.h. */
#include "server_cost_alone.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
    const char *sha1, *text;
} floor_script;

static const floor_script return_script = {"e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "return 1"};
static const floor_script delete_script = {
    "6fbe84d1140fd2047394924af9d845b83c070bec",
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"};

static void load(bench_link *link, const floor_script *script) {
    bench_command command = {0};
    command_add(&command, "SCRIPT");
    command_add(&command, "LOAD");
    command_add(&command, script->text);
    link_send(link, &command, (bench_expectation){.answer = script->sha1});
}

void alone_open(alone_part *part, bench_link *link) {
    *part = (alone_part){.series = {[ALONE_SET].command = "set"}};
    for (size_t i = 0; i < ALONE_BATCH; i++) {
        char *name = test_print("alone-%zu", i);
        part->keys[i] = lock_keys_of(name, 1);
        part->handles[i] = bench_handle_of(UINT64_MAX / 2 + i);
        free(name);
    }
    load(link, &return_script);
    load(link, &delete_script);
    link_flush(link);
}

void alone_send_return(bench_link *link, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bench_command command = {0};
        command_add(&command, "EVALSHA");
        command_add(&command, return_script.sha1);
        command_add(&command, "0");
        link_send(link, &command, (bench_expectation){.answer = "1"});
    }
}

static void send_set(bench_link *link, const lock_keys *keys, const bench_handle *token) {
    bench_command command = {0};
    command_add(&command, "SET");
    command_add(&command, keys->texts[0]);
    command_add(&command, token->text);
    command_add(&command, "NX");
    command_add(&command, "PX");
    command_add(&command, "86400000");
    link_send(link, &command, (bench_expectation){.answer = "OK"});
}

static void send_delete(bench_link *link, const lock_keys *keys, const bench_handle *token) {
    bench_command command = {0};
    command_add(&command, "EVALSHA");
    command_add(&command, delete_script.sha1);
    command_add(&command, "1");
    command_add(&command, keys->texts[0]);
    command_add(&command, token->text);
    link_send(link, &command, (bench_expectation){.answer = "1"});
}

static void floor_turn(alone_part *part, stopwatch *watch) {
    watch_measure(watch, &part->series[ALONE_RETURN]);
    alone_send_return(watch->link, ALONE_BATCH);
    watch_measure(watch, &part->series[ALONE_SET]);
    for (size_t i = 0; i < ALONE_BATCH; i++)
        send_set(watch->link, &part->keys[i], &part->handles[i]);
    watch_measure(watch, &part->series[ALONE_DELETE]);
    for (size_t i = 0; i < ALONE_BATCH; i++)
        send_delete(watch->link, &part->keys[i], &part->handles[i]);
    watch_end(watch);
}

/* These name no floor, as it would change the way that the script takes: fences are read. */
static void lock_turn(alone_part *part, stopwatch *watch, const char *mode, cost_series *acquire,
                      cost_series *release) {
    uint64_t fences[ALONE_BATCH];
    watch_measure(watch, acquire);
    for (size_t i = 0; i < ALONE_BATCH; i++)
        request_acquire(watch->link, (lock_request){&part->keys[i], &part->handles[i], 1, mode}, 0,
                        "granted", &fences[i]);
    watch_end(watch);
    watch_measure(watch, release);
    for (size_t i = 0; i < ALONE_BATCH; i++)
        request_release(watch->link, (lock_request){&part->keys[i], &part->handles[i], 2, mode},
                        fences[i]);
    watch_end(watch);
}

void alone_turn(alone_part *part, stopwatch *watch) {
    floor_turn(part, watch);
    lock_turn(part, watch, "read", &part->series[ALONE_ACQUIRE_READ],
              &part->series[ALONE_RELEASE_READ]);
    lock_turn(part, watch, "write", &part->series[ALONE_ACQUIRE_WRITE],
              &part->series[ALONE_RELEASE_WRITE]);
}
