/*
 * A lock and a clock for the tests of the core. Handles are letters: 'a' is the handle of
 * the client 'a'. Every operation checks the invariants of SPEC 12 and keeps what it told.
 */
#ifndef CORE_WORLD_H
#define CORE_WORLD_H

#include "core.h"
#include "words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORLD_START_US UINT64_C(1700000000000000)
#define WORLD_MS UINT64_C(1000)
#define WORLD_SECOND UINT64_C(1000000)
#define WORLD_HOUR UINT64_C(3600000000)

enum { WORLD_EVENTS = 64, WORLD_ROWS = 64, WORLD_LEASE_MS = 30000 };

typedef struct {
    size_t blocks; /* of memory that the lock has */
    lkc_lock *lock;
    uint64_t now_us;
    lkc_event events[WORLD_EVENTS]; /* of the last operation */
    size_t event_count;
    lkc_info info; /* these as `world_look` last saw them */
    lkc_hold_row holds[WORLD_ROWS];
    lkc_waiter_row waiters[WORLD_ROWS];
    char text[WORLD_ROWS + 1];
} world;

static inline void *world_allocate(size_t size, void *context) {
    ++*(size_t *)context;
    return malloc(size);
}

static inline void world_release(void *memory, void *context) {
    --*(size_t *)context;
    free(memory);
}

/* For cmocka's setup and teardown; nothing may be left of the lock's memory. */
static inline int world_new(void **state) {
    world *w = calloc(1, sizeof *w);
    lkc_allocator allocator = {world_allocate, world_release, &w->blocks};
    w->now_us = WORLD_START_US;
    w->lock = lkc_lock_new(&allocator);
    *state = w;
    return w->lock ? 0 : -1;
}

static inline int world_free(void **state) {
    world *w = *state;
    lkc_lock_free(w->lock);
    size_t left = w->blocks;
    free(w);
    return left == 0 ? 0 : -1;
}

static inline lkc_handle world_handle(char letter) {
    lkc_handle handle = {.number = 1};
    memset(handle.client, letter, sizeof handle.client);
    return handle;
}

static inline lkc_text world_text(const char *bytes) {
    return (lkc_text){bytes, strlen(bytes)};
}

/* Looking. */

static inline void world_keep_hold(const lkc_hold_row *row, void *context) {
    world *w = context;
    lkc_hold_row *next = w->holds;
    while (next->reads + next->writes > 0)
        next++;
    *next = *row;
}

static inline void world_keep_waiter(const lkc_waiter_row *row, void *context) {
    world *w = context;
    lkc_waiter_row *next = w->waiters;
    while (next->req > 0)
        next++;
    *next = *row;
}

/* The texts of the rows are not to be looked at afterwards. */
static inline void world_look(world *w) {
    memset(w->holds, 0, sizeof w->holds);
    memset(w->waiters, 0, sizeof w->waiters);
    lkc_lock_inspect(w->lock, w->now_us, WORLD_ROWS - 1, &w->info, world_keep_hold,
                     world_keep_waiter, w);
}

/* The letters of those who hold, by deadline. */
static inline const char *world_holders(world *w) {
    world_look(w);
    for (size_t i = 0; i <= w->info.holders; i++)
        w->text[i] = (char)w->holds[i].handle.client[0];
    return w->text;
}

/* The letters of those who wait, in order. */
static inline const char *world_waiters(world *w) {
    world_look(w);
    for (size_t i = 0; i <= w->info.waiters; i++)
        w->text[i] = (char)w->waiters[i].handle.client[0];
    return w->text;
}

/* Fails if the letter does not hold. */
static inline const lkc_hold_row *world_hold(world *w, char letter) {
    world_look(w);
    for (size_t i = 0; i < w->info.holders; i++)
        if (w->holds[i].handle.client[0] == (unsigned char)letter)
            return &w->holds[i];
    fail_msg("%c does not hold", letter);
    return NULL;
}

/* The letters of those that the last operation told this. */
static inline const char *world_told(world *w, lkc_event_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < w->event_count; i++)
        if (w->events[i].kind == kind)
            w->text[count++] = (char)w->events[i].handle.client[0];
    w->text[count] = '\0';
    return w->text;
}

/* Operations. */

static inline void world_hear(const lkc_event *event, void *context) {
    world *w = context;
    assert_true(w->event_count < WORLD_EVENTS);
    w->events[w->event_count++] = *event;
}

static inline void world_after(world *w) {
    const char *fault = lkc_lock_check(w->lock, w->now_us);
    if (fault)
        fail_msg("%s", fault);
    w->event_count = 0;
    lkc_lock_events(w->lock, world_hear, w);
}

static inline lkc_acquire_args world_request(char letter, lkc_mode mode, uint64_t req) {
    return (lkc_acquire_args){.handle = world_handle(letter),
                              .req = req,
                              .mode = mode,
                              .wait = true,
                              .lease_ms = WORLD_LEASE_MS,
                              .who = {"4242 db1 billing", 16}};
}

static inline lkc_reply world_acquire(world *w, const lkc_acquire_args *args) {
    lkc_reply reply;
    assert_int_equal(lkc_lock_acquire(w->lock, w->now_us, args, &reply), LKC_DONE);
    world_after(w);
    return reply;
}

static inline lkc_reply world_read(world *w, char letter, uint64_t req) {
    lkc_acquire_args args = world_request(letter, LKC_READ, req);
    return world_acquire(w, &args);
}

static inline lkc_reply world_write(world *w, char letter, uint64_t req) {
    lkc_acquire_args args = world_request(letter, LKC_WRITE, req);
    return world_acquire(w, &args);
}

/* One more count for the hold that the letter has. */
static inline lkc_reply world_more(world *w, char letter, lkc_mode mode, uint64_t req) {
    lkc_acquire_args args = world_request(letter, mode, req);
    args.fence = world_hold(w, letter)->fence;
    return world_acquire(w, &args);
}

static inline lkc_reply world_release_hold(world *w, char letter, lkc_mode mode, uint64_t req) {
    lkc_release_args args = {world_handle(letter), req, world_hold(w, letter)->fence, mode, true};
    lkc_reply reply;
    assert_int_equal(lkc_lock_release(w->lock, w->now_us, &args, &reply), LKC_DONE);
    world_after(w);
    return reply;
}

static inline lkc_reply world_renew(world *w, char letter, uint64_t fence, uint64_t req,
                                    uint32_t lease_ms) {
    lkc_renew_args args = {world_handle(letter), fence, req, lease_ms};
    lkc_reply reply;
    assert_int_equal(lkc_lock_renew(w->lock, w->now_us, &args, &reply), LKC_DONE);
    world_after(w);
    return reply;
}

static inline lkc_reply world_cancel(world *w, char letter, uint64_t req, uint64_t target) {
    lkc_cancel_args args = {world_handle(letter), req, target};
    lkc_reply reply;
    assert_int_equal(lkc_lock_cancel(w->lock, w->now_us, &args, &reply), LKC_DONE);
    world_after(w);
    return reply;
}

static inline lkc_reply world_force(world *w, const char *owner) {
    lkc_reply reply;
    assert_int_equal(lkc_lock_force(w->lock, w->now_us, world_text(owner), &reply), LKC_DONE);
    world_after(w);
    return reply;
}

/* Does what every operation does first (SPEC 5.2), and nothing else. */
static inline void world_pass(world *w, uint64_t us) {
    w->now_us += us;
    assert_int_equal(world_renew(w, '?', 1, 0, WORLD_LEASE_MS).answer, LKC_NOT_HELD);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_new, world_free)

#endif
