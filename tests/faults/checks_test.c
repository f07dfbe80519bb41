/*
 * checks.c and store.c: histories made by hand. Each kind of violation is counted, and what looks
 * like one and is none is not. tests/support/history_test.c does the same for exclusion and fences.
 */
#include "checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MS = 1000000 };

/* ------------------------------------------------------------------------------ order */

/* A blocking call on the lock "fair", from one ms to another. */
static journal_call call(unsigned handle, lk_mode mode, uint64_t fence, int64_t from_ms,
                         int64_t to_ms) {
    return (journal_call){.worker = handle,
                          .handle = handle,
                          .kind = CALL_BLOCKING,
                          .mode = mode,
                          .fence = fence,
                          .began_ns = from_ms * MS,
                          .ended_ns = to_ms * MS};
}

/* The handle was seen waiting, just after it had begun. */
static journal_sighting sighting(unsigned handle, int64_t at_ms) {
    return (journal_sighting){
        .handle = handle, .before_ns = at_ms * MS, .after_ns = at_ms * MS + 1};
}

static size_t overtaken(journal_call first, journal_call second, int64_t seen_ms,
                        const journal_stall *stall, const history_span *fault) {
    journal_call calls[] = {second, first};
    journal_sighting seen = sighting(first.handle, seen_ms);
    order_evidence evidence = {.calls = calls,
                               .call_count = 2,
                               .sightings = &seen,
                               .sighting_count = 1,
                               .stalls = stall,
                               .stall_count = stall != NULL,
                               .faults = fault,
                               .fault_count = fault != NULL};
    return check_order(&evidence, NULL);
}

#define assert_overtaken(first, second, count) \
    assert_int_equal(overtaken((first), (second), 110, NULL, NULL), (count))

static void a_call_that_begins_later_and_is_granted_first_is_an_inversion(void **state) {
    (void)state;
    assert_overtaken(call(1, LK_WRITE, 8, 100, 300), call(2, LK_WRITE, 7, 120, 200), 1);
    assert_overtaken(call(1, LK_WRITE, 8, 100, 300), call(2, LK_READ, 7, 120, 200), 1);
    assert_overtaken(call(1, LK_READ, 7, 100, 300), call(2, LK_WRITE, 7, 120, 200), 1);
}

static void waiters_that_are_granted_in_their_order_are_in_order(void **state) {
    (void)state;
    assert_overtaken(call(1, LK_WRITE, 7, 100, 300), call(2, LK_WRITE, 8, 120, 400), 0);
    assert_overtaken(call(1, LK_WRITE, 7, 100, 300), call(2, LK_READ, 7, 120, 400), 0);
    assert_overtaken(call(1, LK_READ, 7, 100, 300), call(2, LK_WRITE, 8, 120, 400), 0);
}

static void readers_may_be_granted_together(void **state) {
    (void)state;
    assert_overtaken(call(1, LK_READ, 8, 100, 300), call(2, LK_READ, 7, 120, 200), 0);
}

/* Its answer may have come late. */
static void the_order_of_the_answers_does_not_matter(void **state) {
    (void)state;
    assert_overtaken(call(1, LK_WRITE, 7, 100, 500), call(2, LK_WRITE, 8, 120, 400), 0);
}

static void a_call_that_began_before_the_waiter_was_seen_may_be_first(void **state) {
    (void)state;
    assert_overtaken(call(1, LK_WRITE, 8, 100, 300), call(2, LK_WRITE, 7, 105, 200), 0);
}

static void an_upgrade_may_go_first(void **state) {
    (void)state;
    journal_call upgrade = call(2, LK_WRITE, 7, 120, 200);
    upgrade.kind = CALL_UPGRADE;
    assert_overtaken(call(1, LK_WRITE, 8, 100, 300), upgrade, 0);
}

static void other_policies_have_another_order(void **state) {
    (void)state;
    journal_call first = call(1, LK_WRITE, 8, 100, 300), second = call(2, LK_WRITE, 7, 120, 200);
    first.lock = second.lock = JOURNAL_LOCKS - 1;
    assert_int_not_equal(journal_locks[first.lock].policy, LK_FAIR);
    assert_overtaken(first, second, 0);
}

/* The waiter is of an earlier call of the handle, if it waits for longer than this one. */
static void a_waiter_of_an_earlier_call_is_not_judged(void **state) {
    (void)state;
    journal_call calls[] = {call(1, LK_WRITE, 8, 100, 300), call(2, LK_WRITE, 7, 120, 200)};
    journal_sighting seen = sighting(1, 110);
    order_evidence evidence = {
        .calls = calls, .call_count = 2, .sightings = &seen, .sighting_count = 1};
    seen.waited_ms = 10;
    assert_int_equal(check_order(&evidence, NULL), 1);
    seen.waited_ms = 11;
    assert_int_equal(check_order(&evidence, NULL), 0);
}

static void a_stall_excuses_its_own_worker_and_one_of_the_server_all(void **state) {
    (void)state;
    journal_call first = call(1, LK_WRITE, 8, 100, 300), second = call(2, LK_WRITE, 7, 120, 200);
    journal_stall stall = {.worker = 1, .from_ns = 150 * MS, .to_ns = 160 * MS};
    assert_int_equal(overtaken(first, second, 110, &stall, NULL), 0);
    stall.worker = 2;
    assert_int_equal(overtaken(first, second, 110, &stall, NULL), 1);
    stall.worker = STALL_OF_ALL;
    assert_int_equal(overtaken(first, second, 110, &stall, NULL), 0);
    stall = (journal_stall){.worker = 1, .from_ns = 310 * MS, .to_ns = 320 * MS};
    assert_int_equal(overtaken(first, second, 110, &stall, NULL), 1);
}

static void a_fault_excuses_the_waiters_near_it(void **state) {
    (void)state;
    journal_call first = call(1, LK_WRITE, 8, 9100, 9300);
    journal_call second = call(2, LK_WRITE, 7, 9120, 9200);
    history_span fault = {9150 * INT64_C(1000000), 9160 * INT64_C(1000000)};
    assert_int_equal(overtaken(first, second, 9110, NULL, &fault), 0);
    fault = (history_span){8000 * INT64_C(1000000), 8100 * INT64_C(1000000)};
    assert_int_equal(overtaken(first, second, 9110, NULL, &fault), 0);
    fault = (history_span){1000 * INT64_C(1000000), 1100 * INT64_C(1000000)};
    assert_int_equal(overtaken(first, second, 9110, NULL, &fault), 1);
}

/* ------------------------------------------------------------------------------ the store */

static bool write_to(store *cells, unsigned hold, uint64_t fence) {
    return store_write(cells, (store_run){.hold = hold, .fence = fence});
}

static size_t count_late(const store *cells) {
    size_t count;
    store_run *runs = store_read(cells, 0, &count);
    size_t late = check_store(runs, count, NULL);
    free(runs);
    return late;
}

static void the_store_refuses_a_fence_below_the_greatest(void **state) {
    (void)state;
    store *cells = store_new(10);
    assert_true(write_to(cells, 1, 5));
    assert_true(write_to(cells, 1, 5));
    assert_true(write_to(cells, 2, 6));
    assert_false(write_to(cells, 1, 5));
    assert_true(write_to(cells, 2, 6));
    assert_int_equal(store_refused(cells), 1);
    assert_int_equal(count_late(cells), 0);
    store_free(cells);
}

/* The store cannot tell holds with the same fence apart; the judge can. */
static void a_write_that_follows_that_of_a_later_hold_is_late(void **state) {
    (void)state;
    store *cells = store_new(10);
    assert_true(write_to(cells, 1, 5));
    assert_true(write_to(cells, 2, 5));
    assert_int_equal(count_late(cells), 0);
    assert_true(write_to(cells, 1, 5));
    assert_int_equal(count_late(cells), 1);
    store_free(cells);
}

static void cells_do_not_mix(void **state) {
    (void)state;
    store *cells = store_new(10);
    assert_true(store_write(cells, (store_run){.lock = 1, .hold = 1, .fence = 9}));
    assert_true(write_to(cells, 2, 5));
    assert_int_equal(count_late(cells), 0);
    store_free(cells);
}

/* ------------------------------------------------------------------------------ progress */

static bool is_second(unsigned worker, const void *context) {
    (void)context;
    return worker == 2;
}

static void a_call_that_does_not_return_is_forgotten_unless_its_worker_was_killed(void **state) {
    (void)state;
    journal_call calls[] = {call(1, LK_WRITE, 7, 100, 300), call(2, LK_WRITE, 8, 100, 0),
                            call(3, LK_READ, 8, 100, 0)};
    assert_int_equal(check_forgotten(calls, 3, is_second, NULL, NULL), 1);
    assert_int_equal(check_forgotten(calls, 2, is_second, NULL, NULL), 0);
}

static void recovery_counts_the_calls_that_were_waiting(void **state) {
    (void)state;
    journal_call calls[] = {call(1, LK_WRITE, 7, 100, 300), call(2, LK_WRITE, 8, 100, 250),
                            call(3, LK_WRITE, 9, 210, 900), call(4, LK_READ, 9, 100, 0)};
    assert_int_equal(longest_wait_after(calls, 4, 200 * MS), 100);
}

static void the_next_grant_counts_if_a_call_is_waiting_and_from_the_end_of_the_hold(void **state) {
    (void)state;
    journal_call calls[] = {call(1, LK_WRITE, 7, 100, 190), call(2, LK_WRITE, 8, 210, 250),
                            call(3, LK_WRITE, 9, 100, 300)};
    history_hold holds[] = {{.from_ns = 190 * MS, .to_ns = 230 * MS},
                            {.from_ns = 260 * MS, .to_ns = 290 * MS}};
    history_span span = {200 * MS, 900 * MS}, brief = {200 * MS, 240 * MS};
    assert_int_equal(next_grant_within(calls, 3, holds, 0, calls[0].lock, span), 50);
    assert_int_equal(next_grant_within(calls, 3, holds, 0, calls[0].lock, brief), 40);
    assert_int_equal(next_grant_within(calls, 3, holds, 2, calls[0].lock, span), 20);
    assert_int_equal(next_grant_within(calls, 2, holds, 2, calls[0].lock, span), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_begins_later_and_is_granted_first_is_an_inversion),
        cmocka_unit_test(waiters_that_are_granted_in_their_order_are_in_order),
        cmocka_unit_test(readers_may_be_granted_together),
        cmocka_unit_test(the_order_of_the_answers_does_not_matter),
        cmocka_unit_test(a_call_that_began_before_the_waiter_was_seen_may_be_first),
        cmocka_unit_test(an_upgrade_may_go_first),
        cmocka_unit_test(other_policies_have_another_order),
        cmocka_unit_test(a_waiter_of_an_earlier_call_is_not_judged),
        cmocka_unit_test(a_stall_excuses_its_own_worker_and_one_of_the_server_all),
        cmocka_unit_test(a_fault_excuses_the_waiters_near_it),
        cmocka_unit_test(the_store_refuses_a_fence_below_the_greatest),
        cmocka_unit_test(a_write_that_follows_that_of_a_later_hold_is_late),
        cmocka_unit_test(cells_do_not_mix),
        cmocka_unit_test(a_call_that_does_not_return_is_forgotten_unless_its_worker_was_killed),
        cmocka_unit_test(recovery_counts_the_calls_that_were_waiting),
        cmocka_unit_test(the_next_grant_counts_if_a_call_is_waiting_and_from_the_end_of_the_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
