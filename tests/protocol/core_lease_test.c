/* Leases, who watches, the mark, and what is left behind: SPEC 5 to 7. */
#include "core_world.h"

static lkc_reply take_for(world *w, char letter, lkc_mode mode, uint64_t req, uint32_t lease_ms) {
    lkc_acquire_args args = world_request(letter, mode, req);
    args.lease_ms = lease_ms;
    return world_acquire(w, &args);
}

static void a_lease_is_set_and_never_shortened(void **state) {
    world *w = *state;
    uint64_t fence = take_for(w, 'a', LKC_READ, 1, 30000).fence;
    w->now_us += 10 * WORLD_SECOND;
    assert_int_equal(world_renew(w, 'a', fence, 0, 100).ms, 20000);
    lkc_acquire_args more = world_request('a', LKC_READ, 2);
    more.fence = fence;
    more.lease_ms = 25000;
    assert_int_equal(world_acquire(w, &more).ms, 25000); /* set, not added */
}

static void a_hold_goes_at_its_deadline_and_the_next_is_granted(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 5000);
    world_write(w, 'b', 1);
    world_pass(w, 5 * WORLD_SECOND - 1);
    assert_string_equal(world_holders(w), "a");
    world_pass(w, 1);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "b");
    assert_string_equal(world_holders(w), "b");
}

static void a_dead_waiter_goes_after_ten_seconds_and_lets_others_in(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_READ, 1, 60000);
    world_write(w, 'b', 1);
    w->now_us += 5 * WORLD_SECOND;
    world_read(w, 'c', 1);
    world_pass(w, 5 * WORLD_SECOND);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "c");
    assert_string_equal(world_waiters(w), "");
}

static void asking_again_and_renewing_keep_a_waiter_alive(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 86400000);
    world_write(w, 'b', 1);
    for (int i = 0; i < 4; i++) {
        w->now_us += 9 * WORLD_SECOND;
        lkc_reply reply = i % 2 ? world_write(w, 'b', 1) : world_renew(w, 'b', 0, 1, 30000);
        assert_int_equal(reply.answer, LKC_QUEUED);
        assert_int_equal(reply.ms, 10000);
    }
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

static void a_claim_gives_the_whole_lease(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_write(w, 'b', 1);
    world_write(w, 'c', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    lkc_reply reply = world_renew(w, 'b', 0, 1, 20000);
    assert_int_equal(reply.answer, LKC_GRANTED);
    assert_int_equal(reply.ms, 20000);
    assert_false(world_hold(w, 'b')->provisional);
    world_release_hold(w, 'b', LKC_WRITE, 2);
    assert_int_equal(world_write(w, 'c', 1).ms, WORLD_LEASE_MS); /* an acquire claims, too */
    assert_false(world_hold(w, 'c')->provisional);
}

static void the_first_in_order_is_told_to_watch(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 7500);
    assert_int_equal(world_write(w, 'b', 1).ms, 7500);
    assert_string_equal(world_told(w, LKC_EVENT_WATCH), ""); /* its answer told it */
    world_write(w, 'c', 1);
    assert_string_equal(world_told(w, LKC_EVENT_WATCH), ""); /* it is still the first */
    world_cancel(w, 'b', 2, 1);
    assert_string_equal(world_told(w, LKC_EVENT_WATCH), "c");
    assert_int_equal(w->events[0].req, 1);
    assert_int_equal(w->events[0].ms, 7500);
    assert_int_equal(w->events[0].fence, 0);
}

static void a_provisional_grant_is_watched_by_the_first_that_remains(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_write(w, 'b', 1);
    world_write(w, 'c', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_string_equal(world_told(w, LKC_EVENT_WATCH), "c");
    assert_int_equal(w->events[1].ms, 1000);
}

/* Although it is who was first before: the upgrade, now a writer behind the reader. */
static void a_provisional_grant_is_watched_even_by_who_was_first_before(void **state) {
    world *w = *state;
    world_read(w, 'a', 1);
    world_read(w, 'b', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    world_read(w, 'c', 1);
    world_release_hold(w, 'a', LKC_READ, 3);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "c");
    assert_string_equal(world_told(w, LKC_EVENT_WATCH), "a");
}

static void a_renewal_that_finds_itself_first_is_not_told_again(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 60000);
    world_write(w, 'b', 1);
    w->now_us += 5 * WORLD_SECOND;
    world_write(w, 'c', 1);
    w->now_us += 5 * WORLD_SECOND; /* b has run out */
    assert_int_equal(world_renew(w, 'c', 0, 1, 30000).place, 1);
    assert_int_equal(w->event_count, 0);
}

/* Who comes back after the ms must find something run out: they are rounded up. */
static void the_ms_to_the_next_deadline_are_not_too_few(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 5000);
    w->now_us += 1;
    lkc_acquire_args args = world_request('b', LKC_READ, 1);
    args.wait = false;
    lkc_reply reply = world_acquire(w, &args);
    assert_int_equal(reply.answer, LKC_BUSY);
    assert_int_equal(reply.ms, 5000);
}

static void a_write_that_runs_out_leaves_the_mark(void **state) {
    world *w = *state;
    uint64_t fence = take_for(w, 'a', LKC_WRITE, 1, 100).fence;
    w->now_us += WORLD_SECOND;
    lkc_reply reply = world_read(w, 'b', 1);
    assert_int_equal(reply.flags, LKC_FLAG_ABANDONED);
    assert_true(reply.fence > fence); /* SPEC 8.2 */
    assert_true(world_hold(w, 'b') && w->info.abandoned);
}

static void inspect_knows_a_write_that_ran_out(void **state) {
    world *w = *state;
    uint64_t fence = take_for(w, 'a', LKC_WRITE, 1, 100).fence;
    w->now_us += WORLD_SECOND;
    world_look(w);
    assert_true(w->info.abandoned);
    assert_false(w->info.alive);
    assert_int_equal(w->info.fence, fence);
}

static void a_waiting_reader_gets_a_fence_above_that_of_the_mark(void **state) {
    world *w = *state;
    uint64_t fence = take_for(w, 'a', LKC_WRITE, 1, 100).fence;
    world_read(w, 'b', 1);
    world_pass(w, WORLD_SECOND);
    assert_int_equal(w->events[0].flags, LKC_FLAG_ABANDONED);
    assert_true(w->events[0].fence > fence);
}

/* Its writer holds since before the mark, and was not told of it. */
static void an_older_write_does_not_clear_the_mark(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.owner = world_text("both");
    world_acquire(w, &args);
    args.handle = world_handle('b');
    args.lease_ms = 100;
    world_acquire(w, &args);
    w->now_us += WORLD_SECOND;
    world_release_hold(w, 'a', LKC_WRITE, 2);
    world_look(w);
    assert_true(w->info.abandoned);
}

static void a_read_that_runs_out_leaves_nothing(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_READ, 1, 100);
    world_pass(w, WORLD_SECOND);
    assert_int_equal(lkc_lock_expires_ms(w->lock), 0);
    assert_int_equal(world_write(w, 'b', 1).flags, 0);
}

static void a_write_release_or_downgrade_clears_the_mark(void **state) {
    world *w = *state;
    for (uint64_t req = 1; req < 6; req += 4) {
        take_for(w, 'a', LKC_WRITE, 1, 100);
        w->now_us += WORLD_SECOND;
        assert_int_equal(world_write(w, 'b', req).flags, LKC_FLAG_ABANDONED);
        if (req == 1)
            world_release_hold(w, 'b', LKC_WRITE, req + 1);
        else
            assert_int_equal(world_convert(w, 'b', req + 1).flags, 0);
        world_look(w);
        assert_false(w->info.abandoned);
    }
}

static void a_read_release_leaves_the_mark(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 100);
    w->now_us += WORLD_SECOND;
    world_read(w, 'b', 1);
    world_release_hold(w, 'b', LKC_READ, 2);
    assert_int_equal(world_write(w, 'c', 1).flags, LKC_FLAG_ABANDONED);
}

static void forcing_a_writer_leaves_the_mark_and_tells_it(void **state) {
    world *w = *state;
    uint64_t fence = world_write(w, 'a', 1).fence;
    world_write(w, 'b', 1);
    assert_int_equal(world_force(w, "").count, 1);
    assert_string_equal(world_told(w, LKC_EVENT_LOST), "a");
    assert_int_equal(w->events[0].fence, fence);
    assert_int_equal(w->events[0].time_us, w->now_us);
    assert_int_equal(w->events[0].req + w->events[0].ms + w->events[0].flags, 0);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "b");
    assert_int_equal(w->events[1].flags, LKC_FLAG_ABANDONED);
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

static void what_runs_out_under_the_mark_is_its_instant_too(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_WRITE, 1, 1000);
    w->now_us += 2 * WORLD_SECOND;
    take_for(w, 'b', LKC_READ, 1, 60000);
    uint64_t gone_ms = (w->now_us + 60 * WORLD_SECOND + WORLD_HOUR) / WORLD_MS;
    assert_int_equal(lkc_lock_expires_ms(w->lock), gone_ms);
    world_pass(w, WORLD_HOUR);
    assert_int_equal(lkc_lock_expires_ms(w->lock), gone_ms); /* SPEC 7.3 */
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

static void everything_goes_at_the_latest_deadline(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_READ, 1, 1000);
    take_for(w, 'b', LKC_READ, 1, 60000);
    assert_int_equal(lkc_lock_expires_ms(w->lock), (w->now_us + 60 * WORLD_SECOND) / WORLD_MS);
    w->now_us++;
    take_for(w, 'c', LKC_READ, 1, 60000);
    assert_int_equal(lkc_lock_expires_ms(w->lock), (w->now_us + 60 * WORLD_SECOND) / WORLD_MS + 1);
}

static void a_clock_that_steps_back_lengthens_leases(void **state) {
    world *w = *state;
    uint64_t fence = take_for(w, 'a', LKC_WRITE, 1, 1000).fence;
    w->now_us -= 10 * WORLD_SECOND;
    assert_int_equal(world_renew(w, 'a', fence, 0, 1000).ms, 11000);
    assert_int_equal(world_hold(w, 'a')->held_ms, 0);
    world_write(w, 'b', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_true(world_hold(w, 'b')->fence > fence);
}

static void inspect_hides_what_has_run_out_and_changes_nothing(void **state) {
    world *w = *state;
    take_for(w, 'a', LKC_READ, 1, 1000);
    world_read(w, 'b', 1);
    take_for(w, 'c', LKC_WRITE, 1, 1000);
    world_more(w, 'a', LKC_WRITE, 2);
    uint64_t expires_ms = lkc_lock_expires_ms(w->lock);
    w->now_us += WORLD_SECOND;
    assert_string_equal(world_holders(w), "b");
    assert_string_equal(world_waiters(w), ""); /* the upgrade would go with its hold */
    assert_int_equal(lkc_lock_expires_ms(w->lock), expires_ms);
    w->now_us -= WORLD_SECOND;
    assert_string_equal(world_holders(w), "ab");
    assert_string_equal(world_waiters(w), "ac");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_lease_is_set_and_never_shortened),
        WORLD_TEST(a_hold_goes_at_its_deadline_and_the_next_is_granted),
        WORLD_TEST(a_dead_waiter_goes_after_ten_seconds_and_lets_others_in),
        WORLD_TEST(asking_again_and_renewing_keep_a_waiter_alive),
        WORLD_TEST(a_granted_waiter_has_a_second_to_claim),
        WORLD_TEST(a_claim_gives_the_whole_lease),
        WORLD_TEST(the_first_in_order_is_told_to_watch),
        WORLD_TEST(a_provisional_grant_is_watched_by_the_first_that_remains),
        WORLD_TEST(a_provisional_grant_is_watched_even_by_who_was_first_before),
        WORLD_TEST(a_renewal_that_finds_itself_first_is_not_told_again),
        WORLD_TEST(the_ms_to_the_next_deadline_are_not_too_few),
        WORLD_TEST(a_write_that_runs_out_leaves_the_mark),
        WORLD_TEST(inspect_knows_a_write_that_ran_out),
        WORLD_TEST(a_waiting_reader_gets_a_fence_above_that_of_the_mark),
        WORLD_TEST(an_older_write_does_not_clear_the_mark),
        WORLD_TEST(a_read_that_runs_out_leaves_nothing),
        WORLD_TEST(a_write_release_or_downgrade_clears_the_mark),
        WORLD_TEST(a_read_release_leaves_the_mark),
        WORLD_TEST(forcing_a_writer_leaves_the_mark_and_tells_it),
        WORLD_TEST(the_mark_is_forgotten_an_hour_after_its_instant),
        WORLD_TEST(what_runs_out_under_the_mark_is_its_instant_too),
        WORLD_TEST(a_life_that_outlasts_the_hour_takes_the_mark_with_it),
        WORLD_TEST(a_life_without_a_mark_leaves_nothing),
        WORLD_TEST(everything_goes_at_the_latest_deadline),
        WORLD_TEST(a_clock_that_steps_back_lengthens_leases),
        WORLD_TEST(inspect_hides_what_has_run_out_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
