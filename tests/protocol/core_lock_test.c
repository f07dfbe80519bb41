/* Who holds together and who comes next: SPEC 1 to 4. */
#include "core_world.h"

static void readers_of_one_group_share(void **state) {
    world *w = *state;
    assert_int_equal(world_read(w, 'a', 1).answer, LKC_GRANTED);
    assert_int_equal(world_read(w, 'b', 1).answer, LKC_GRANTED);
    assert_string_equal(world_holders(w), "ab");
}

static void readers_of_another_group_wait_their_turn(void **state) {
    world *w = *state;
    world_read_in(w, 'a', 1, "g");
    assert_int_equal(world_read_in(w, 'b', 1, "h").answer, LKC_QUEUED);
    assert_int_equal(world_read_in(w, 'c', 1, "g").answer, LKC_QUEUED); /* SPEC 3.2 */
    world_release_hold(w, 'a', LKC_READ, 2);
    assert_string_equal(world_holders(w), "b");
    assert_string_equal(world_waiters(w), "c");
}

static void a_writer_excludes_all_other_owners(void **state) {
    world *w = *state;
    assert_int_equal(world_write(w, 'a', 1).answer, LKC_GRANTED);
    assert_int_equal(world_read(w, 'b', 1).answer, LKC_QUEUED);
    assert_int_equal(world_write(w, 'c', 1).answer, LKC_QUEUED);
    assert_string_equal(world_holders(w), "a");
}

static void holds_of_one_owner_never_conflict(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.owner = world_text("job 7");
    world_acquire(w, &args);
    args.handle = world_handle('b');
    args.mode = LKC_READ;
    args.group = world_text("another");
    assert_int_equal(world_acquire(w, &args).answer, LKC_GRANTED);
    args.handle = world_handle('c');
    args.mode = LKC_WRITE;
    assert_int_equal(world_acquire(w, &args).answer, LKC_GRANTED);
    assert_string_equal(world_holders(w), "abc");
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

static void a_lock_keeps_the_policy_that_began_its_life(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.policy = LKC_PREFER_READER;
    assert_int_equal(world_acquire(w, &args).flags, LKC_PREFER_READER << 1);
    args = world_request('b', LKC_READ, 1);
    args.policy = LKC_PHASE_FAIR;
    assert_int_equal(world_acquire(w, &args).flags, LKC_PREFER_READER << 1);
    world_release_hold(w, 'a', LKC_READ, 2);
    world_release_hold(w, 'b', LKC_READ, 2);
    assert_int_equal(world_acquire(w, &args).flags, LKC_PHASE_FAIR << 1);
}

/* In a write phase and in a read phase; the readers are of another group than who holds. */
static void waiters_stand_in_the_order_of_the_policy(void **state) {
    static const struct {
        lkc_policy policy;
        lkc_mode held;
        const char *order;
    } cases[] = {
        {LKC_FAIR, LKC_WRITE, "bcde"},          {LKC_FAIR, LKC_READ, "bcde"},
        {LKC_PHASE_FAIR, LKC_WRITE, "cebd"},    {LKC_PHASE_FAIR, LKC_READ, "bced"},
        {LKC_PREFER_WRITER, LKC_WRITE, "bdce"}, {LKC_PREFER_WRITER, LKC_READ, "bdce"},
        {LKC_PREFER_READER, LKC_WRITE, "cebd"}, {LKC_PREFER_READER, LKC_READ, "cebd"},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lkc_acquire_args args = world_request('a', cases[i].held, 1);
        args.policy = cases[i].policy;
        world_acquire(w, &args);
        world_write(w, 'b', 1);
        world_read_in(w, 'c', 1, "g");
        world_write(w, 'd', 1);
        world_read_in(w, 'e', 1, "g");
        assert_string_equal(world_waiters(w), cases[i].order);
        for (size_t place = 1; place <= 4; place++)
            assert_int_equal(world_renew(w, cases[i].order[place - 1], 0, 1, 100).place, place);
        w->now_us += 25 * WORLD_HOUR; /* the lock is gone by then */
    }
}

static void a_new_reader_passes_waiting_writers_only_where_readers_are_preferred(void **state) {
    world *w = *state;
    for (lkc_policy policy = LKC_FAIR; policy <= LKC_PREFER_READER; policy++) {
        lkc_acquire_args args = world_request('a', LKC_READ, 1);
        args.policy = policy;
        world_acquire(w, &args);
        world_write(w, 'b', 1);
        lkc_answer answer = policy == LKC_PREFER_READER ? LKC_GRANTED : LKC_QUEUED;
        assert_int_equal(world_read(w, 'c', 1).answer, answer);
        w->now_us += WORLD_HOUR;
    }
}

static void fair_grants_the_run_of_readers_up_to_the_first_writer(void **state) {
    world *w = *state;
    world_write(w, 'a', 1);
    world_read(w, 'b', 1);
    world_read(w, 'c', 1);
    world_write(w, 'd', 1);
    world_read(w, 'e', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "bc");
    assert_string_equal(world_waiters(w), "de");
}

static void phase_fair_alternates_readers_and_one_writer(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.policy = LKC_PHASE_FAIR;
    world_acquire(w, &args);
    world_write(w, 'b', 1);
    world_write(w, 'c', 1);
    world_read(w, 'd', 1);
    world_read(w, 'e', 1);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "de");
    world_read(w, 'f', 1);
    world_release_hold(w, 'd', LKC_READ, 2);
    world_release_hold(w, 'e', LKC_READ, 2);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "b");
    world_release_hold(w, 'b', LKC_WRITE, 2);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "f");
    assert_string_equal(world_waiters(w), "c");
}

/* SPEC 3.7: what the readers of a write phase leave first may be their own owner's writer. */
static void settling_goes_on_in_the_phase_that_it_ends_in(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.policy = LKC_PHASE_FAIR;
    world_acquire(w, &args);
    args = world_request('b', LKC_READ, 1);
    args.owner = world_text("both");
    world_acquire(w, &args);
    world_read_in(w, 'c', 1, "g");
    args = world_request('d', LKC_WRITE, 1);
    args.owner = world_text("both");
    world_acquire(w, &args);
    world_release_hold(w, 'a', LKC_WRITE, 2);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "bd");
    assert_string_equal(world_waiters(w), "c");
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

static void a_sole_reader_upgrades_at_once_with_a_new_fence(void **state) {
    world *w = *state;
    uint64_t before = world_read(w, 'a', 1).fence;
    lkc_reply reply = world_more(w, 'a', LKC_WRITE, 2);
    assert_int_equal(reply.answer, LKC_GRANTED);
    assert_true(reply.fence > before);
    assert_int_equal(world_hold(w, 'a')->reads, 1);
    assert_int_equal(world_hold(w, 'a')->writes, 1);
}

static void an_upgrade_waits_before_everyone(void **state) {
    world *w = *state;
    world_read(w, 'a', 1);
    world_read(w, 'b', 1);
    world_write(w, 'c', 1);
    assert_int_equal(world_more(w, 'a', LKC_WRITE, 2).place, 1);
    assert_string_equal(world_waiters(w), "ac");
    assert_int_equal(w->waiters[0].mode, LKC_WAITS_UPGRADE);
    assert_int_equal(world_read(w, 'd', 1).answer, LKC_QUEUED);
    assert_int_equal(world_more(w, 'b', LKC_READ, 2).answer, LKC_GRANTED); /* SPEC 4.2 */
}

static void nobody_new_passes_an_upgrade(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.policy = LKC_PREFER_READER;
    world_acquire(w, &args);
    world_read(w, 'b', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    assert_int_equal(world_read(w, 'c', 1).answer, LKC_QUEUED);
}

static void an_upgrade_that_is_granted_leaves_the_deadline(void **state) {
    world *w = *state;
    uint64_t before = world_read(w, 'a', 1).fence;
    world_read(w, 'b', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    w->now_us += 5 * WORLD_SECOND;
    world_release_hold(w, 'b', LKC_READ, 2);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "a");
    const lkc_hold_row *hold = world_hold(w, 'a');
    assert_int_equal(w->events[0].ms, WORLD_LEASE_MS - 5000);
    assert_int_equal(hold->left_ms, WORLD_LEASE_MS - 5000);
    assert_int_equal(w->events[0].fence, hold->fence);
    assert_true(hold->fence > before);
    assert_false(hold->provisional);
    assert_string_equal(world_waiters(w), "");
}

static void a_second_upgrade_is_a_deadlock_whether_it_would_wait_or_not(void **state) {
    world *w = *state;
    world_read(w, 'a', 1);
    world_read(w, 'b', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    assert_int_equal(world_more(w, 'b', LKC_WRITE, 2).answer, LKC_DEADLOCK);
    lkc_acquire_args args = world_request('b', LKC_WRITE, 3);
    args.fence = world_hold(w, 'b')->fence;
    args.wait = false;
    assert_int_equal(world_acquire(w, &args).answer, LKC_DEADLOCK);
    assert_string_equal(world_waiters(w), "a");
}

static void an_upgrade_whose_reads_are_released_becomes_a_writer_at_the_tail(void **state) {
    world *w = *state;
    world_read(w, 'a', 1);
    world_read(w, 'b', 1);
    world_write(w, 'c', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    world_release_hold(w, 'a', LKC_READ, 3);
    assert_string_equal(world_waiters(w), "ca");
    assert_int_equal(w->waiters[1].mode, LKC_WAITS_WRITE);
    assert_int_equal(world_renew(w, 'a', 0, 2, WORLD_LEASE_MS).place, 2);
}

/* Another handle of its owner still holds. */
static void an_upgrade_stays_one_while_its_owner_holds(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.owner = world_text("both");
    world_acquire(w, &args);
    args.handle = world_handle('b');
    world_acquire(w, &args);
    world_read(w, 'c', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    world_release_hold(w, 'a', LKC_READ, 3);
    assert_string_equal(world_waiters(w), "a");
    assert_int_equal(w->waiters[0].mode, LKC_WAITS_UPGRADE);
    world_release_hold(w, 'c', LKC_READ, 2);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "a");
    assert_true(world_hold(w, 'a')->provisional);
}

static void an_upgrade_goes_when_its_hold_runs_out(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.lease_ms = 1000;
    world_acquire(w, &args);
    world_read(w, 'b', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    w->now_us += 2 * WORLD_SECOND; /* the waiter itself has 10 */
    assert_int_equal(world_write(w, 'c', 1).answer, LKC_QUEUED);
    assert_string_equal(world_holders(w), "b");
    assert_string_equal(world_waiters(w), "c");
}

/* Though another handle of its owner holds. Inspect shows it so before it is done. */
static void an_upgrade_goes_with_the_hold_of_its_own_handle(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.owner = world_text("both");
    args.lease_ms = 1000;
    world_acquire(w, &args);
    args.handle = world_handle('b');
    args.lease_ms = 30000;
    world_acquire(w, &args);
    world_read(w, 'c', 1);
    world_more(w, 'a', LKC_WRITE, 2);
    w->now_us += WORLD_SECOND;
    assert_string_equal(world_waiters(w), "");
    world_pass(w, 0);
    assert_string_equal(world_waiters(w), "");
    assert_string_equal(world_holders(w), "bc");
}

/* Though its own handle has none. */
static void an_upgrade_goes_with_the_last_hold_of_its_owner(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.owner = world_text("both");
    args.lease_ms = 1000;
    world_acquire(w, &args);
    world_read(w, 'c', 1);
    args = world_request('b', LKC_WRITE, 1);
    args.owner = world_text("both");
    assert_int_equal(world_acquire(w, &args).place, 1);
    assert_string_equal(world_waiters(w), "b");
    w->now_us += WORLD_SECOND;
    assert_string_equal(world_waiters(w), "");
    world_pass(w, 0);
    assert_string_equal(world_waiters(w), "");
}

static void an_upgrade_goes_when_the_last_hold_of_its_owner_is_forced(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_READ, 1);
    args.owner = world_text("both");
    world_acquire(w, &args);
    world_read(w, 'c', 1);
    args = world_request('b', LKC_WRITE, 1);
    args.owner = world_text("both");
    assert_int_equal(world_acquire(w, &args).answer, LKC_QUEUED);
    assert_int_equal(world_force(w, "both").count, 1);
    assert_string_equal(world_told(w, LKC_EVENT_LOST), "a");
    assert_string_equal(world_waiters(w), "");
    assert_string_equal(world_holders(w), "c");
}

static void a_downgrade_lets_the_waiting_readers_in_and_keeps_the_fence(void **state) {
    world *w = *state;
    uint64_t fence = world_write(w, 'a', 1).fence;
    world_read(w, 'b', 1);
    lkc_reply reply = world_convert(w, 'a', 2);
    assert_int_equal(reply.answer, LKC_GRANTED);
    assert_int_equal(reply.fence, fence);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "b");
    assert_int_equal(world_hold(w, 'a')->reads, 1);
    assert_int_equal(world_hold(w, 'a')->writes, 0);
}

static void the_last_write_ends_the_write_phase_though_reads_are_left(void **state) {
    world *w = *state;
    lkc_acquire_args args = world_request('a', LKC_WRITE, 1);
    args.policy = LKC_PHASE_FAIR;
    world_acquire(w, &args);
    world_more(w, 'a', LKC_READ, 2);
    world_write(w, 'b', 1);
    world_read(w, 'c', 1);
    lkc_reply reply = world_release_hold(w, 'a', LKC_WRITE, 3);
    assert_int_equal(reply.reads, 1);
    assert_int_equal(reply.writes, 0);
    assert_string_equal(world_told(w, LKC_EVENT_GRANTED), "c");
    assert_string_equal(world_waiters(w), "b");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(readers_of_one_group_share),
        WORLD_TEST(readers_of_another_group_wait_their_turn),
        WORLD_TEST(a_writer_excludes_all_other_owners),
        WORLD_TEST(holds_of_one_owner_never_conflict),
        WORLD_TEST(the_text_of_a_handle_is_the_owner_of_that_handle),
        WORLD_TEST(a_lock_keeps_the_policy_that_began_its_life),
        WORLD_TEST(waiters_stand_in_the_order_of_the_policy),
        WORLD_TEST(a_new_reader_passes_waiting_writers_only_where_readers_are_preferred),
        WORLD_TEST(fair_grants_the_run_of_readers_up_to_the_first_writer),
        WORLD_TEST(phase_fair_alternates_readers_and_one_writer),
        WORLD_TEST(settling_goes_on_in_the_phase_that_it_ends_in),
        WORLD_TEST(settling_that_grants_a_write_goes_on_in_a_write_phase),
        WORLD_TEST(a_sole_reader_upgrades_at_once_with_a_new_fence),
        WORLD_TEST(an_upgrade_waits_before_everyone),
        WORLD_TEST(nobody_new_passes_an_upgrade),
        WORLD_TEST(an_upgrade_that_is_granted_leaves_the_deadline),
        WORLD_TEST(a_second_upgrade_is_a_deadlock_whether_it_would_wait_or_not),
        WORLD_TEST(an_upgrade_whose_reads_are_released_becomes_a_writer_at_the_tail),
        WORLD_TEST(an_upgrade_stays_one_while_its_owner_holds),
        WORLD_TEST(an_upgrade_goes_when_its_hold_runs_out),
        WORLD_TEST(an_upgrade_goes_with_the_hold_of_its_own_handle),
        WORLD_TEST(an_upgrade_goes_with_the_last_hold_of_its_owner),
        WORLD_TEST(an_upgrade_goes_when_the_last_hold_of_its_owner_is_forced),
        WORLD_TEST(a_downgrade_lets_the_waiting_readers_in_and_keeps_the_fence),
        WORLD_TEST(the_last_write_ends_the_write_phase_though_reads_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
