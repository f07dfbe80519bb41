/* tests/support/history.c and history_check.c: histories made by hand, and what is proven of them. */
#include "history.h"
#include "history_check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------ the judge */

static const history_rules even_clock = {0};

static history_hold hold(bool writes, uint64_t fence, int64_t from_ns, int64_t to_ns) {
    return (history_hold){.writes = writes,
                          .fence = fence,
                          .asked_ns = from_ns - 5,
                          .from_ns = from_ns,
                          .to_ns = to_ns};
}

static history_hold reads(uint64_t fence, int64_t from_ns, int64_t to_ns) {
    return hold(false, fence, from_ns, to_ns);
}

static history_hold writes(uint64_t fence, int64_t from_ns, int64_t to_ns) {
    return hold(true, fence, from_ns, to_ns);
}

/* In both orders. */
static history_verdict judge(history_hold a, history_hold b, history_rules rules) {
    history_hold holds[] = {a, b}, turned[] = {b, a};
    history_verdict verdict = history_check(holds, 2, rules, NULL);
    history_verdict same = history_check(turned, 2, rules, NULL);
    assert_int_equal(verdict.clashes, same.clashes);
    assert_int_equal(verdict.old_fences, same.old_fences);
    return verdict;
}

#define assert_clashes(a, b, count) \
    assert_int_equal(judge((a), (b), even_clock).clashes, (size_t)(count))
#define assert_old_fences(a, b, count) \
    assert_int_equal(judge((a), (b), even_clock).old_fences, (size_t)(count))

static void holds_that_overlap_clash_unless_both_read(void **state) {
    (void)state;
    assert_clashes(writes(1, 100, 200), writes(2, 150, 300), 1);
    assert_clashes(writes(1, 100, 200), reads(1, 150, 300), 1);
    assert_clashes(reads(1, 100, 200), writes(2, 150, 300), 1);
    assert_clashes(writes(1, 100, 400), reads(1, 150, 300), 1);
    assert_clashes(reads(1, 100, 200), reads(1, 150, 300), 0);
}

static void holds_one_after_the_other_do_not_clash(void **state) {
    (void)state;
    assert_clashes(writes(1, 100, 200), writes(2, 201, 300), 0);
    assert_clashes(writes(1, 100, 200), writes(2, 200, 300), 0);
    assert_clashes(writes(1, 100, 200), reads(1, 250, 300), 0);
}

static void holds_of_different_locks_do_not_clash(void **state) {
    (void)state;
    history_hold other = writes(2, 150, 300);
    other.lock = 1;
    assert_clashes(writes(1, 100, 200), other, 0);
    other.fence = 0;
    assert_old_fences(writes(1, 100, 120), other, 0);
}

/* from_ns after to_ns: it was valid at an instant between, and nobody knows at which. */
static void one_true_answer_clashes_only_if_it_lies_within_the_other_hold(void **state) {
    (void)state;
    assert_clashes(writes(1, 100, 200), writes(2, 150, 140), 1);
    assert_clashes(writes(1, 100, 200), writes(2, 205, 195), 0);
    assert_clashes(writes(1, 100, 200), writes(2, 105, 95), 0);
    assert_clashes(writes(1, 150, 140), writes(2, 155, 135), 0);
}

static void every_pair_of_a_crowd_is_counted(void **state) {
    (void)state;
    history_hold holds[] = {reads(7, 100, 900), reads(7, 110, 300), writes(8, 200, 250),
                            reads(8, 260, 280), writes(9, 950, 960)};
    assert_int_equal(history_check(holds, 5, even_clock, NULL).clashes, 2);
}

static void the_fence_of_a_write_is_above_all_before_it(void **state) {
    (void)state;
    assert_old_fences(writes(5, 100, 200), writes(6, 300, 400), 0);
    assert_old_fences(writes(5, 100, 200), writes(5, 300, 400), 1);
    assert_old_fences(writes(5, 100, 200), writes(4, 300, 400), 1);
    assert_old_fences(reads(5, 100, 200), writes(5, 300, 400), 1);
    assert_old_fences(reads(5, 100, 200), writes(6, 300, 400), 0);
}

static void the_fence_of_a_read_is_not_below_a_write_before_it(void **state) {
    (void)state;
    assert_old_fences(writes(5, 100, 200), reads(5, 300, 400), 0);
    assert_old_fences(writes(5, 100, 200), reads(4, 300, 400), 1);
    assert_old_fences(reads(5, 100, 200), reads(4, 300, 400), 0);
}

static void a_fence_is_compared_with_all_before_it_and_not_with_the_last_alone(void **state) {
    (void)state;
    history_hold holds[] = {writes(9, 100, 200), reads(3, 300, 400), writes(8, 500, 600)};
    assert_int_equal(history_check(holds, 3, even_clock, NULL).old_fences, 2);
}

/* The clock jumps at 150; the server may then give the lock away while the first believes in it. */
static void a_jump_excuses_the_holds_that_lived_through_it_and_no_others(void **state) {
    (void)state;
    history_span jump = {150, 150};
    history_rules rules = {.jumps = &jump, .jump_count = 1};
    assert_int_equal(judge(writes(1, 100, 200), writes(2, 160, 300), rules).clashes, 0);
    assert_int_equal(judge(writes(1, 100, 200), reads(1, 160, 300), rules).clashes, 0);
    assert_int_equal(judge(writes(1, 100, 200), writes(2, 160, 300), rules).excused, 1);
    assert_int_equal(judge(writes(1, 100, 120), writes(2, 160, 300), rules).excused, 0);
    assert_int_equal(judge(writes(1, 170, 250), writes(2, 180, 300), rules).clashes, 1);
    assert_int_equal(judge(writes(1, 100, 200), writes(2, 120, 300), rules).clashes, 1);
    assert_int_equal(judge(writes(2, 100, 200), writes(1, 160, 300), rules).clashes, 1);
    assert_int_equal(judge(reads(1, 100, 200), writes(1, 160, 300), rules).clashes, 1);
}

/* A grant after a jump has a greater fence, also if the one before it is believed in for longer. */
static void after_a_jump_fences_follow_the_order_of_asking(void **state) {
    (void)state;
    history_span jump = {150, 150};
    history_rules rules = {.jumps = &jump, .jump_count = 1};
    assert_int_equal(judge(writes(1, 100, 500), writes(2, 160, 300), rules).old_fences, 0);
    assert_int_equal(judge(writes(2, 100, 500), writes(1, 160, 300), rules).old_fences, 1);
}

static void a_read_may_have_the_fence_of_readers_that_another_server_granted(void **state) {
    (void)state;
    history_rules rules = {.two_servers = true};
    assert_int_equal(judge(writes(5, 100, 200), reads(4, 300, 400), rules).old_fences, 0);
    assert_int_equal(judge(writes(5, 100, 200), writes(4, 300, 400), rules).old_fences, 1);
}

static void a_clock_that_went_back_leaves_each_clients_writes_above_what_it_knew(void **state) {
    (void)state;
    history_rules rules = {.clock_went_back = true};
    history_hold mine = writes(5, 100, 200), next = writes(4, 300, 400);
    assert_int_equal(judge(mine, next, rules).old_fences, 1);
    next.writes = false; /* it may share the fence of others who read */
    assert_int_equal(judge(mine, next, rules).old_fences, 0);
    next.writes = true;
    next.asked_ns = 99; /* it did not know of the first */
    assert_int_equal(judge(mine, next, rules).old_fences, 0);
    next = writes(4, 300, 400);
    next.client = 1;
    assert_int_equal(judge(mine, next, rules).old_fences, 0);
    assert_int_equal(judge(mine, writes(6, 150, 400), rules).clashes, 1);
}

/* ------------------------------------------------------------------------------ the history */

static void a_hold_is_proven_from_after_its_first_answer_to_before_its_last(void **state) {
    (void)state;
    size_t count;
    history *past = history_new(4);
    history_slot *slot = history_begin(past, writes(7, 0, 0));
    history_begin(past, writes(8, 0, 0)); /* it was never seen valid */
    history_saw_valid(slot, 10, 20);
    history_saw_valid(slot, 30, 40);
    history_saw_valid(slot, 50, 60);
    history_hold *holds = history_read(past, &count);
    assert_int_equal(count, 1);
    assert_int_equal(holds[0].fence, 7);
    assert_int_equal(holds[0].from_ns, 20);
    assert_int_equal(holds[0].to_ns, 50);
    free(holds);
    history_free(past);
}

static void a_history_that_is_full_says_so(void **state) {
    (void)state;
    size_t count;
    history *past = history_new(1);
    history_saw_valid(history_begin(past, writes(1, 0, 0)), 10, 20);
    assert_null(history_begin(past, writes(2, 0, 0)));
    free(history_read(past, &count));
    assert_int_equal(count, 1);
    history_free(past);
}

static void note_until_killed(const char *path) {
    history *past = history_open(path);
    if (!past || history_new_client(past) != 1)
        _exit(1);
    history_slot *slot = history_begin(past, writes(3, 0, 0));
    while (!history_is_over(past))
        history_saw_valid(slot, history_now_ns(), history_now_ns());
    _exit(2);
}

static void what_a_killed_process_noted_stays(void **state) {
    (void)state;
    size_t count = 0;
    int status;
    history *past = history_new(4);
    assert_int_equal(history_new_client(past), 0);
    pid_t child = fork();
    if (child == 0)
        note_until_killed(history_path(past));
    history_hold *holds = NULL;
    while (count == 0 && waitpid(child, &status, WNOHANG) == 0) {
        free(holds);
        holds = history_read(past, &count);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    free(holds);
    holds = history_read(past, &count);
    assert_int_equal(count, 1);
    assert_true(holds[0].to_ns < history_now_ns());
    assert_int_equal(holds[0].fence, 3);
    free(holds);
    history_free(past);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_that_overlap_clash_unless_both_read),
        cmocka_unit_test(holds_one_after_the_other_do_not_clash),
        cmocka_unit_test(holds_of_different_locks_do_not_clash),
        cmocka_unit_test(one_true_answer_clashes_only_if_it_lies_within_the_other_hold),
        cmocka_unit_test(every_pair_of_a_crowd_is_counted),
        cmocka_unit_test(the_fence_of_a_write_is_above_all_before_it),
        cmocka_unit_test(the_fence_of_a_read_is_not_below_a_write_before_it),
        cmocka_unit_test(a_fence_is_compared_with_all_before_it_and_not_with_the_last_alone),
        cmocka_unit_test(a_jump_excuses_the_holds_that_lived_through_it_and_no_others),
        cmocka_unit_test(after_a_jump_fences_follow_the_order_of_asking),
        cmocka_unit_test(a_read_may_have_the_fence_of_readers_that_another_server_granted),
        cmocka_unit_test(a_clock_that_went_back_leaves_each_clients_writes_above_what_it_knew),
        cmocka_unit_test(a_hold_is_proven_from_after_its_first_answer_to_before_its_last),
        cmocka_unit_test(a_history_that_is_full_says_so),
        cmocka_unit_test(what_a_killed_process_noted_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
