/*
 * The core beyond the scenarios of protocol/conformance: rare orders of events, a lock that lives on
 * in its memory after it expired, and outcomes that the protocol has no words for.
 */
#include "core_world.h"

static lkc_reply take_for(world *w, char letter, lkc_mode mode, uint64_t req, uint32_t lease_ms) {
    lkc_acquire_args args = world_request(letter, mode, req);
    args.lease_ms = lease_ms;
    return world_acquire(w, &args);
}

static void the_text_of_a_handle_is_the_owner_of_that_handle(void **state) {
    world *w = *state;
    char text[LKC_HANDLE_LENGTH + 1];
    lkc_handle parent = world_handle('a');
    lkc_handle_print(&parent, text);
    world_write(w, 'a', 1);
    lkc_acquire_args child = world_request('b', LKC_WRITE, 1);
    child.owner = world_text(text);
    assert_int_equal(world_acquire(w, &child).answer, LKC_GRANTED);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_int_equal(world_write(w, 'a', 3).answer, LKC_GRANTED);
    assert_int_equal(world_force(w, text).count, 2);
}

/* SPEC 3.7: from the first write on, the order is that of a write phase. */
static void settling_that_grants_a_write_goes_on_in_a_write_phase(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.policy = LKC_PHASE_FAIR;
    args.group = world_text("g");
    world_acquire(w, &args);
    for (char letter = 'b'; letter <= 'd'; letter++) {
        args = world_request(letter, letter == 'd' ? LKC_READ : LKC_WRITE, 1);
        args.owner = world_text("all");
        world_acquire(w, &args);
    }
    world_release_hold(w, 'a', LKC_READ, 2);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "bdc");
}

static void a_granted_waiter_has_a_second_to_claim(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    take_for(w, 'b', LKC_WRITE, 1, 30000);
    take_for(w, 'c', LKC_WRITE, 1, 500);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_int_equal(w->events[0].ms, 1000);
    assert_true(world_hold(w, 'b')->provisional);
    world_renew(w, 'c', 0, 1, 30000);
    world_pass(w, WORLD_SECOND);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "c");
    assert_int_equal(w->events[0].ms, 500); /* the lease is shorter */
}

static void the_mark_is_forgotten_an_hour_after_its_instant(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 1000);
    uint64_t gone_ms = (WORLD_START_US + WORLD_SECOND + WORLD_HOUR) / WORLD_MS;
    assert_int_equal(lkc_lock_expires_ms(w->lock), gone_ms);
    world_pass(w, 2 * WORLD_SECOND);
    assert_int_equal(lkc_lock_expires_ms(w->lock), gone_ms);
    w->now_us = gone_ms * WORLD_MS - 1;
    world_look(w);
    assert_true(w->info.abandoned);
    w->now_us++;
    world_look(w);
    assert_false(w->info.abandoned);
    assert_int_equal(w->info.fence, 0);
    assert_int_equal(world_write(w, 'b', 1).flags, 0);
}

static void a_life_that_outlasts_the_hour_takes_the_mark_with_it(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 1000);
    w->now_us += 2 * WORLD_SECOND;
    take_for(w, 'b', LKC_READ, 1, 86400000);
    w->now_us += 2 * WORLD_HOUR;
    world_look(w);
    assert_true(w->info.abandoned);
    world_release_hold(w, 'b', LKC_READ, 2);
    assert_int_equal(lkc_lock_expires_ms(w->lock), 0);
}

static void a_life_without_a_mark_leaves_nothing(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    assert_true(lkc_lock_expires_ms(w->lock) > 0);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_int_equal(lkc_lock_expires_ms(w->lock), 0);
    world_look(w);
    assert_false(w->info.alive);
    assert_int_equal(w->info.fence, 0);
}

static void an_expired_lock_that_nobody_freed_is_empty(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.policy = LKC_PREFER_READER;
    world_acquire(w, &args);
    args = world_request('b', LKC_WRITE, 1);
    args.floor = w->now_us + 23 * WORLD_HOUR;
    world_acquire(w, &args);
    w->now_us = lkc_lock_expires_ms(w->lock) * WORLD_MS;
    world_look(w);
    assert_false(w->info.alive);
    assert_false(w->info.abandoned);
    assert_int_equal(w->info.fence, 0);
    args = world_request('c', LKC_READ, 1);
    args.policy = LKC_PHASE_FAIR;
    lkc_reply reply = world_acquire(w, &args);
    assert_int_equal(reply.fence, w->now_us);
    assert_int_equal(reply.flags, LKC_PHASE_FAIR << LKC_FLAG_POLICY_SHIFT);
    assert_int_equal(w->event_count, 0);
    assert_string_equal(world_holders(w), "c");
    assert_string_equal(world_waiters(w), "");
}

static void a_fence_that_the_clock_has_passed_is_forgotten(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.floor = w->now_us + WORLD_HOUR;
    uint64_t fence = world_acquire(w, &args).fence;
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_int_equal(lkc_lock_expires_ms(w->lock), fence / WORLD_MS + 1);
    w->now_us = fence - 1;
    world_look(w);
    assert_int_equal(w->info.fence, fence);
    w->now_us = lkc_lock_expires_ms(w->lock) * WORLD_MS;
    world_look(w);
    assert_int_equal(w->info.fence, 0);
    world_pass(w, 0);
    assert_int_equal(lkc_lock_expires_ms(w->lock), 0);
    assert_int_equal(world_write(w, 'b', 1).fence, w->now_us);
}

/* Its lock expires with the hold (SPEC 7.3), though the memory is still there. */
static void a_sole_reader_cannot_miss_its_grant(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_read(w, 'b', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    w->now_us = lkc_lock_expires_ms(w->lock) * WORLD_MS;
    assert_int_equal(world_renew(w, 'b', 0, 1, WORLD_LEASE_MS).answer, LKC_NOT_HELD);
    assert_int_equal(lkc_lock_expires_ms(w->lock), 0);
}

static void an_expired_lock_that_nobody_freed_has_no_missed_waiter(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_read(w, 'b', 1);
    world_read(w, 'c', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    world_renew(w, 'c', 0, 1, 2000);
    world_pass(w, WORLD_SECOND); /* b misses its grant, and could come back for nine seconds */
    assert_string_equal(world_holders(w), "c");
    w->now_us = lkc_lock_expires_ms(w->lock) * WORLD_MS;
    assert_int_equal(world_renew(w, 'b', 0, 1, WORLD_LEASE_MS).answer, LKC_NOT_HELD);
    assert_int_equal(lkc_lock_expires_ms(w->lock), 0);
}

static void a_lock_is_freed_with_its_missed_waiters(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_write(w, 'b', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    w->now_us += WORLD_SECOND;
    assert_int_equal(world_write(w, 'c', 1).flags, LKC_FLAG_ABANDONED);
    assert_string_equal(world_waiters(w), ""); /* world_free counts the blocks */
}

static void a_cancelled_upgrade_leaves_the_hold(void **state) {
    world *w = *state;
    world_read(w, 'a', 1);
    world_read(w, 'b', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    assert_int_equal(world_cancel(w, 'a', 3, 2).answer, LKC_CANCELLED);
    assert_int_equal(world_hold(w, 'a')->reads, 1);
    assert_int_equal(world_release_hold(w, 'a', LKC_READ, 3).answer, LKC_STALE); /* SPEC 9.1 */
    assert_int_equal(world_read(w, 'a', 3).answer, LKC_STALE);
    assert_int_equal(world_release_hold(w, 'a', LKC_READ, 4).answer, LKC_RELEASED);
}

static void a_count_stops_at_65535(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_more(w, 'a', LKC_READ, 2);
    lkc_acquire_args args = world_request('a', LKC_READ, 3);
    args.fence = world_hold(w, 'a')->fence;
    lkc_reply reply = {.place = 42};
    for (unsigned i = 1; i < LKC_COUNT_MOST; i++, args.req++)
        assert_int_equal(lkc_lock_acquire(w->lock, w->now_us, &args, &reply), LKC_DONE);
    reply.place = 42;
    assert_int_equal(lkc_lock_acquire(w->lock, w->now_us, &args, &reply), LKC_TOO_DEEP);
    assert_int_equal(reply.place, 42);
    lkc_convert_args convert = {args.handle, args.req, args.fence};
    assert_int_equal(lkc_lock_convert(w->lock, w->now_us, &convert, &reply), LKC_TOO_DEEP);
    world_after(w);
    assert_int_equal(world_hold(w, 'a')->reads, LKC_COUNT_MOST);
    assert_int_equal(world_hold(w, 'a')->writes, 1);
}

/* The reader shares the lock's fence, so it can name it in the operation that grants it. */
static void a_granted_event_tells_the_fence_of_granting(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.lease_ms = 1000;
    uint64_t fence = world_acquire(w, &args).fence;
    args = world_request('c', LKC_WRITE, 1);
    args.lease_ms = 1000;
    world_acquire(w, &args);
    world_read(w, 'b', 1);
    w->now_us += WORLD_SECOND;
    args = world_request('b', LKC_WRITE, 2);
    args.fence = fence;
    assert_true(world_acquire(w, &args).fence > fence);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "b");
    assert_int_equal(w->events[0].fence, fence);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_text_of_a_handle_is_the_owner_of_that_handle),
        WORLD_TEST(settling_that_grants_a_write_goes_on_in_a_write_phase),
        WORLD_TEST(a_granted_waiter_has_a_second_to_claim),
        WORLD_TEST(the_mark_is_forgotten_an_hour_after_its_instant),
        WORLD_TEST(a_life_that_outlasts_the_hour_takes_the_mark_with_it),
        WORLD_TEST(a_life_without_a_mark_leaves_nothing),
        WORLD_TEST(an_expired_lock_that_nobody_freed_is_empty),
        WORLD_TEST(a_fence_that_the_clock_has_passed_is_forgotten),
        WORLD_TEST(a_sole_reader_cannot_miss_its_grant),
        WORLD_TEST(an_expired_lock_that_nobody_freed_has_no_missed_waiter),
        WORLD_TEST(a_lock_is_freed_with_its_missed_waiters),
        WORLD_TEST(a_cancelled_upgrade_leaves_the_hold),
        WORLD_TEST(a_count_stops_at_65535),
        WORLD_TEST(a_granted_event_tells_the_fence_of_granting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
