/* Fences, and requests that come twice, late, or for a hold that is gone: SPEC 8 to 10. */
#include "core_world.h"

static void a_fence_is_above_the_last_one_the_clock_and_the_floor(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    assert_int_equal(world_acquire(w, &args).fence, w->now_us);
    world_write(w, 'b', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_int_equal(world_hold(w, 'b')->fence, w->now_us + 1);
    world_release_hold(w, 'b', LKC_WRITE, 2);
    args.floor = w->now_us + 500;
    args.req = 3;
    assert_int_equal(world_acquire(w, &args).fence, w->now_us + 501);
}

static void the_floor_of_a_queued_request_counts_for_its_life(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    lkc_acquire_args args = world_request('b', LKC_WRITE, 1);
    args.floor = w->now_us + 700;
    world_acquire(w, &args);
    world_cancel(w, 'b', 2, 1);
    world_write(w, 'c', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_int_equal(world_hold(w, 'c')->fence, w->now_us + 701);
}

static void readers_share_a_fence_until_the_group_changes(void **state) {
    world *w = *state;
    uint64_t first = world_read_in(w, 'a', 1, "g").fence;
    w->now_us += WORLD_MS;
    assert_int_equal(world_read_in(w, 'b', 1, "g").fence, first);
    world_read_in(w, 'c', 1, "h");
    world_release_hold(w, 'a', LKC_READ, 2);
    world_release_hold(w, 'b', LKC_READ, 2);
    assert_true(world_hold(w, 'c')->fence > first);
}

static void re_entry_keeps_the_fence(void **state) {
    world *w = *state;
    uint64_t fence = world_write(w, 'a', 1).fence;
    w->now_us += WORLD_MS;
    assert_int_equal(world_more(w, 'a', LKC_WRITE, 2).fence, fence);
    assert_int_equal(world_more(w, 'a', LKC_READ, 3).fence, fence);
}

static void a_hold_answers_to_every_fence_that_it_has_had(void **state) {
    world *w = *state;
    uint64_t first = world_read(w, 'a', 1).fence;
    w->now_us += WORLD_MS;
    uint64_t second = world_more(w, 'a', LKC_WRITE, 2).fence;
    assert_int_equal(world_renew(w, 'a', first, 0, 100).answer, LKC_LEASE);
    assert_int_equal(world_renew(w, 'a', second, 0, 100).answer, LKC_LEASE);
    assert_int_equal(world_renew(w, 'a', first - 1, 0, 100).answer, LKC_NOT_HELD);
    assert_int_equal(world_renew(w, 'a', second + 1, 0, 100).answer, LKC_NOT_HELD);
}

static void a_repeated_acquire_is_answered_again_and_counted_once(void **state) {
    world *w = *state;
    uint64_t fence = world_write(w, 'a', 1).fence;
    w->now_us += 5 * WORLD_SECOND;
    lkc_reply again = world_write(w, 'a', 1);
    assert_int_equal(again.answer, LKC_GRANTED);
    assert_int_equal(again.fence, fence);
    assert_int_equal(again.ms, WORLD_LEASE_MS);
    assert_int_equal(world_hold(w, 'a')->writes, 1);
    world_write(w, 'b', 7);
    assert_int_equal(world_write(w, 'b', 7).place, 1);
    assert_string_equal(world_waiters(w), "b");
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_int_equal(world_write(w, 'b', 7).answer, LKC_GRANTED);
    assert_int_equal(world_hold(w, 'b')->writes, 1);
}

/* The number that settling granted is remembered even after others changed the hold. */
static void the_number_of_a_granted_waiter_is_remembered(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_write(w, 'b', 4);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    world_more(w, 'b', LKC_WRITE, 5);
    assert_int_equal(world_write(w, 'b', 4).answer, LKC_GRANTED);
    assert_int_equal(world_hold(w, 'b')->writes, 2);
    assert_int_equal(world_write(w, 'b', 3).answer, LKC_STALE);
}

static void a_repeated_release_or_downgrade_is_counted_once(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    world_more(w, 'a', LKC_WRITE, 3);
    assert_int_equal(world_release_hold(w, 'a', LKC_WRITE, 4).writes, 2);
    assert_int_equal(world_release_hold(w, 'a', LKC_WRITE, 4).writes, 2);
    assert_int_equal(world_convert(w, 'a', 4).answer, LKC_STALE); /* another operation */
    assert_int_equal(world_convert(w, 'a', 5).answer, LKC_GRANTED);
    assert_int_equal(world_convert(w, 'a', 5).answer, LKC_GRANTED);
    assert_int_equal(world_hold(w, 'a')->writes, 1);
    assert_int_equal(world_hold(w, 'a')->reads, 1);
}

static void a_number_not_above_the_last_is_stale(void **state) {
    world *w = *state;
    world_read(w, 'a', 5);
    world_read(w, 'b', 1);
    assert_int_equal(world_read(w, 'a', 4).answer, LKC_STALE);
    assert_int_equal(world_release_hold(w, 'a', LKC_READ, 5).answer, LKC_STALE);
    world_more(w, 'a', LKC_WRITE, 6); /* waits */
    assert_int_equal(world_read(w, 'a', 5).answer, LKC_STALE);
    assert_int_equal(world_release_hold(w, 'a', LKC_READ, 6).answer, LKC_STALE);
}

static void a_request_for_a_hold_that_is_gone_is_not_held(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.lease_ms = 100;
    args.fence = world_acquire(w, &args).fence;
    args.req = 2;
    w->now_us += WORLD_SECOND;
    assert_int_equal(world_acquire(w, &args).answer, LKC_NOT_HELD);
    assert_string_equal(world_holders(w), "");
}

static void an_acquire_that_knows_of_no_hold_replaces_what_there_was(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    world_write(w, 'b', 1);
    assert_int_equal(world_write(w, 'a', 3).answer, LKC_QUEUED);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "b");
    assert_int_equal(w->events[0].flags, LKC_FLAG_ABANDONED); /* SPEC 6.1 */
    assert_int_equal(world_read(w, 'a', 4).answer, LKC_QUEUED);
    assert_string_equal(world_waiters(w), "a");
    assert_int_equal(w->waiters[0].req, 4);
}

static void a_cancelled_waiter_lets_others_in(void **state) {
    world *w = *state;
    world_read(w, 'a', 1);
    world_write(w, 'b', 1);
    world_read(w, 'c', 1);
    assert_int_equal(world_cancel(w, 'b', 2, 1).answer, LKC_CANCELLED);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "c");
    assert_int_equal(world_cancel(w, 'b', 2, 1).answer, LKC_CANCELLED);
}

static void a_cancel_that_comes_too_late_is_told_and_claims_nothing(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_write(w, 'b', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    lkc_reply reply = world_cancel(w, 'b', 2, 1);
    assert_int_equal(reply.answer, LKC_GRANTED);
    assert_int_equal(reply.ms, 1000);
    assert_true(world_hold(w, 'b')->provisional);
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

/* Granted when the operation began, dropped by it: who is told both must end up without it. */
static void an_operation_tells_what_happened_in_its_order(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.lease_ms = 1000;
    world_acquire(w, &args);
    world_write(w, 'b', 1);
    world_write(w, 'c', 1);
    world_write(w, 'd', 1);
    w->now_us += WORLD_SECOND;
    assert_int_equal(world_force(w, "").count, 1);
    assert_int_equal(w->event_count, 4);
    assert_string_equal(world_told(w, LKC_EVENT_LOST), "b");
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "bc");
    assert_string_equal(world_told(w, LKC_EVENT_WATCH), "d");
    assert_int_equal(w->events[0].kind, LKC_EVENT_GRANTED);
    assert_int_equal(w->events[1].kind, LKC_EVENT_LOST);
    assert_int_equal(w->events[0].fence, w->events[1].fence);
    assert_int_equal(w->events[2].kind, LKC_EVENT_GRANTED);
    assert_int_equal(w->events[3].kind, LKC_EVENT_WATCH);
}

/* Even if the same operation goes on to claim the hold. */
static void a_granted_event_tells_the_instant_of_granting(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.lease_ms = 1000;
    world_acquire(w, &args);
    world_write(w, 'b', 1);
    w->now_us += WORLD_SECOND;
    lkc_reply reply = world_renew(w, 'b', 0, 1, 20000);
    assert_int_equal(reply.ms, 20000);
    assert_int_equal(w->event_count, 1);
    assert_int_equal(w->events[0].ms, 1000);
    assert_int_equal(w->events[0].fence, reply.fence);
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
        WORLD_TEST(a_fence_is_above_the_last_one_the_clock_and_the_floor),
        WORLD_TEST(the_floor_of_a_queued_request_counts_for_its_life),
        WORLD_TEST(readers_share_a_fence_until_the_group_changes),
        WORLD_TEST(re_entry_keeps_the_fence),
        WORLD_TEST(a_hold_answers_to_every_fence_that_it_has_had),
        WORLD_TEST(a_repeated_acquire_is_answered_again_and_counted_once),
        WORLD_TEST(the_number_of_a_granted_waiter_is_remembered),
        WORLD_TEST(a_repeated_release_or_downgrade_is_counted_once),
        WORLD_TEST(a_number_not_above_the_last_is_stale),
        WORLD_TEST(a_request_for_a_hold_that_is_gone_is_not_held),
        WORLD_TEST(an_acquire_that_knows_of_no_hold_replaces_what_there_was),
        WORLD_TEST(a_cancelled_waiter_lets_others_in),
        WORLD_TEST(a_cancel_that_comes_too_late_is_told_and_claims_nothing),
        WORLD_TEST(a_cancelled_upgrade_leaves_the_hold),
        WORLD_TEST(a_count_stops_at_65535),
        WORLD_TEST(an_operation_tells_what_happened_in_its_order),
        WORLD_TEST(a_granted_event_tells_the_instant_of_granting),
        WORLD_TEST(a_granted_event_tells_the_fence_of_granting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
