/* Upgrade and downgrade, and who comes next under each policy. */
#include "old_world.h"

/* ------------------------------------------------------------------------------ upgrade */

static void the_only_reader_upgrades_at_once(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:up"), handle_of(client, "t:up")};
    assert_ok(lk_rdlock(locks[0]));
    uint64_t fence = lk_fence(locks[0]);
    assert_ok(lk_trywrlock(locks[0]));
    assert_true(lk_fence(locks[0]) > fence);
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
    free_handles(locks, 2);
    lk_close(client);
}

static void an_upgrade_beside_other_readers_is_busy_without_waiting(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:up-busy"), handle_of(client, "t:up-busy")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_status(lk_trywrlock(locks[0]), LK_BUSY);
    assert_status(lk_timedwrlock(locks[0], 20), LK_TIMEOUT);
    assert_true(lk_valid(locks[0]));
    assert_int_equal(waiter_total(client, "t:up-busy"), 0);
    free_handles(locks, 2);
    lk_close(client);
}

static void an_upgrade_comes_before_everybody_who_waits(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:up-first"), handle_of(client, "t:up-first"),
                        handle_of(client, "t:up-first")};
    taker writer, upgrader;
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    taker_queue(&writer, locks[2], LK_WRITE, client, "t:up-first", 1);
    taker_queue(&upgrader, locks[0], LK_WRITE, client, "t:up-first", 2);
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(taker_join(&upgrader));
    assert_false(is_holder(client, "t:up-first", locks[2]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_false(is_holder(client, "t:up-first", locks[2]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(taker_join(&writer));
    free_handles(locks, 3);
    lk_close(client);
}

static void the_second_upgrader_is_told_of_the_deadlock_at_once(void **state) {
    (void)state;
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {handle_of(clients[0], "t:up-2"), handle_of(clients[1], "t:up-2")};
    taker first;
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    taker_queue(&first, locks[0], LK_WRITE, clients[0], "t:up-2", 1);
    assert_status(lk_wrlock(locks[1]), LK_DEADLOCK);
    assert_status(lk_trywrlock(locks[1]), LK_DEADLOCK);
    assert_status(lk_timedwrlock(locks[1], 60000), LK_DEADLOCK);
    assert_true(lk_valid(locks[1]));
    assert_false(atomic_load(&first.over));
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(taker_join(&first));
    assert_true(is_holder(clients[0], "t:up-2", locks[0]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_nothing_left();
    free_handles(locks, 2);
    lk_close(clients[0]);
    lk_close(clients[1]);
}

/* ------------------------------------------------------------------------------ downgrade */

static void a_downgrade_lets_readers_in_and_no_writer(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:down"), handle_of(client, "t:down"),
                        handle_of(client, "t:down"), handle_of(client, "t:down")};
    taker readers[2], writer;
    assert_ok(lk_wrlock(locks[0]));
    uint64_t fence = lk_fence(locks[0]);
    taker_queue(&readers[0], locks[1], LK_READ, client, "t:down", 1);
    taker_queue(&readers[1], locks[2], LK_READ, client, "t:down", 2);
    taker_queue(&writer, locks[3], LK_WRITE, client, "t:down", 3);
    assert_ok(lk_downgrade(locks[0]));
    assert_true(lk_valid(locks[0]));
    assert_true(lk_fence(locks[0]) == fence);
    assert_ok(taker_join(&readers[0]));
    assert_ok(taker_join(&readers[1]));
    assert_false(is_holder(client, "t:down", locks[3]));
    assert_status(lk_wrunlock(locks[0]), LK_NOT_HELD);
    for (size_t i = 0; i < 3; i++)
        assert_ok(lk_rdunlock(locks[i]));
    assert_ok(taker_join(&writer));
    free_handles(locks, 4);
    lk_close(client);
}

static void a_downgrade_of_one_of_two_writes_lets_nobody_in(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:down-2"), handle_of(client, "t:down-2")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_downgrade(locks[0]));
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
    free_handles(locks, 2);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ policies */

/*
 * A writer holds, and behind it queue, in this order, as many as `modes` has letters: r or w. Each
 * step ends everything that is held, and `steps` says who holds then, by their numbers.
 */
typedef struct {
    lk_policy policy;
    const char *name, *modes;
    const char *steps[8];
} order_of_turns;

static lk_mode mode_of(char letter) {
    return letter == 'r' ? LK_READ : LK_WRITE;
}

static void assert_holders(lk_client *client, const order_of_turns *turns, const char *step,
                           lk_lock *const *locks) {
    char holders[16] = "";
    size_t length = 0;
    for (size_t i = 0; turns->modes[i]; i++)
        if (is_holder(client, turns->name, locks[i]))
            holders[length++] = (char)('0' + i);
    assert_string_equal(holders, step);
}

static void play(const order_of_turns *turns) {
    lk_client *client = open_client();
    lk_lock *first = handle_under(client, turns->name, turns->policy), *locks[8];
    taker takers[8];
    size_t count = strlen(turns->modes);
    assert_ok(lk_wrlock(first));
    for (size_t i = 0; i < count; i++) {
        locks[i] = handle_of(client, turns->name);
        taker_queue(&takers[i], locks[i], mode_of(turns->modes[i]), client, turns->name, i + 1);
    }
    assert_ok(lk_wrunlock(first));
    for (const char *const *step = turns->steps; *step; step++) {
        assert_holders(client, turns, *step, locks);
        for (const char *who = *step; *who; who++)
            assert_ok(taker_join(&takers[*who - '0']));
        for (const char *who = *step; *who; who++)
            assert_ok(give(locks[*who - '0'], mode_of(turns->modes[*who - '0'])));
    }
    assert_nothing_left();
    lk_lock_free(first);
    free_handles(locks, count);
    lk_close(client);
}

static void fair_is_the_order_of_asking(void **state) {
    (void)state;
    play(&(order_of_turns){LK_FAIR, "t:fair", "rrwrww", {"01", "2", "3", "4", "5"}});
}

static void phase_fair_is_all_readers_and_one_writer_by_turns(void **state) {
    (void)state;
    play(&(order_of_turns){LK_PHASE_FAIR, "t:phase-fair", "wrwr", {"13", "0", "2"}});
}

static void writer_preference_lets_all_writers_go_first(void **state) {
    (void)state;
    play(&(order_of_turns){LK_PREFER_WRITER, "t:prefer-writer", "rwrw", {"1", "3", "02"}});
}

static void reader_preference_lets_all_readers_go_first(void **state) {
    (void)state;
    play(&(order_of_turns){LK_PREFER_READER, "t:prefer-reader", "wrwr", {"13", "0", "2"}});
}

/* A reader holds and a writer waits: may another reader come in? */
static void assert_new_reader(lk_policy policy, const char *name, lk_status wanted) {
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_under(client, name, policy), handle_of(client, name),
                        handle_of(client, name)};
    taker writer;
    assert_ok(lk_rdlock(locks[0]));
    taker_queue(&writer, locks[1], LK_WRITE, client, name, 1);
    assert_status(lk_tryrdlock(locks[2]), wanted);
    if (wanted == LK_OK)
        assert_ok(lk_rdunlock(locks[2]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(taker_join(&writer));
    free_handles(locks, 3);
    lk_close(client);
}

static void a_new_reader_passes_a_waiting_writer_under_reader_preference_alone(void **state) {
    (void)state;
    assert_new_reader(LK_FAIR, "t:new-fair", LK_BUSY);
    assert_new_reader(LK_PHASE_FAIR, "t:new-phase-fair", LK_BUSY);
    assert_new_reader(LK_PREFER_WRITER, "t:new-writer", LK_BUSY);
    assert_new_reader(LK_PREFER_READER, "t:new-reader", LK_OK);
}

static void a_lock_has_the_policy_of_the_request_that_found_it_free(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_under(client, "t:policy", LK_PREFER_READER),
                        handle_under(client, "t:policy", LK_PHASE_FAIR)};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
    lk_info *info = look(client, "t:policy");
    assert_int_equal(info->policy, LK_PREFER_READER);
    lk_info_free(info);
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(lk_rdlock(locks[1]));
    info = look(client, "t:policy");
    assert_int_equal(info->policy, LK_PHASE_FAIR);
    lk_info_free(info);
    free_handles(locks, 2);
    lk_close(client);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(the_only_reader_upgrades_at_once),
        world_test(an_upgrade_beside_other_readers_is_busy_without_waiting),
        world_test(an_upgrade_comes_before_everybody_who_waits),
        world_test(the_second_upgrader_is_told_of_the_deadlock_at_once),
        world_test(a_downgrade_lets_readers_in_and_no_writer),
        world_test(a_downgrade_of_one_of_two_writes_lets_nobody_in),
        world_test(fair_is_the_order_of_asking),
        world_test(phase_fair_is_all_readers_and_one_writer_by_turns),
        world_test(writer_preference_lets_all_writers_go_first),
        world_test(reader_preference_lets_all_readers_go_first),
        world_test(a_new_reader_passes_a_waiting_writer_under_reader_preference_alone),
        world_test(a_lock_has_the_policy_of_the_request_that_found_it_free),
    };
    return world_main(argc, argv, tests);
}
