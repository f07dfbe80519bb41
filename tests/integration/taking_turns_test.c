/* Upgrade and downgrade, and the order of grants under each policy. */
#include "world.h"

/* ------------------------------------------------------------------------------ upgrade */

TEST(the_only_reader_upgrades_at_once) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:up"), new_lock(client, "t:up")};
    assert_ok(lk_rdlock(locks[0]));
    uint64_t fence = lk_fence(locks[0]);
    assert_ok(lk_trywrlock(locks[0]));
    assert_true(lk_fence(locks[0]) > fence);
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
}

TEST(an_upgrade_beside_other_readers_is_busy_without_waiting) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:up-busy"), new_lock(client, "t:up-busy")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_status(lk_trywrlock(locks[0]), LK_BUSY);
    assert_status(lk_timedwrlock(locks[0], 20), LK_TIMEOUT);
    assert_true(lk_valid(locks[0]));
    assert_int_equal(look_at(client, "t:up-busy").waiters, 0);
}

TEST(an_upgrade_comes_before_everybody_who_waits) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:up-first"), new_lock(client, "t:up-first"),
                        new_lock(client, "t:up-first")};
    call writer, upgrader;
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    begin_wait(&writer, locks[2], LK_WRITE, client, "t:up-first", 1);
    begin_wait(&upgrader, locks[0], LK_WRITE, client, "t:up-first", 2);
    assert_ok(lk_rdunlock(locks[1]));
    assert_call(&upgrader, LK_OK);
    assert_false(is_holder(client, "t:up-first", locks[2]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_false(is_holder(client, "t:up-first", locks[2]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_call(&writer, LK_OK);
}

TEST(the_second_upgrader_is_told_of_the_deadlock_at_once) {
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {new_lock(clients[0], "t:up-2"), new_lock(clients[1], "t:up-2")};
    call first;
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    begin_wait(&first, locks[0], LK_WRITE, clients[0], "t:up-2", 1);
    assert_status(lk_wrlock(locks[1]), LK_DEADLOCK);
    assert_status(lk_trywrlock(locks[1]), LK_DEADLOCK);
    assert_status(lk_timedwrlock(locks[1], 60000), LK_DEADLOCK);
    assert_true(lk_valid(locks[1]));
    assert_false(atomic_load(&first.over));
    assert_ok(lk_rdunlock(locks[1]));
    assert_call(&first, LK_OK);
    assert_true(is_holder(clients[0], "t:up-2", locks[0]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ downgrade */

TEST(a_downgrade_lets_readers_in_and_no_writer) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:down"), new_lock(client, "t:down"),
                        new_lock(client, "t:down"), new_lock(client, "t:down")};
    call readers[2], writer;
    assert_ok(lk_wrlock(locks[0]));
    uint64_t fence = lk_fence(locks[0]);
    begin_wait(&readers[0], locks[1], LK_READ, client, "t:down", 1);
    begin_wait(&readers[1], locks[2], LK_READ, client, "t:down", 2);
    begin_wait(&writer, locks[3], LK_WRITE, client, "t:down", 3);
    assert_ok(lk_downgrade(locks[0]));
    assert_true(lk_valid(locks[0]));
    assert_true(lk_fence(locks[0]) == fence);
    assert_call(&readers[0], LK_OK);
    assert_call(&readers[1], LK_OK);
    assert_false(is_holder(client, "t:down", locks[3]));
    assert_status(lk_wrunlock(locks[0]), LK_NOT_HELD);
    for (size_t i = 0; i < 3; i++)
        assert_ok(lk_rdunlock(locks[i]));
    assert_call(&writer, LK_OK);
}

TEST(a_downgrade_of_one_of_two_writes_lets_nobody_in) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:down-2"), new_lock(client, "t:down-2")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_downgrade(locks[0]));
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
}

/* ------------------------------------------------------------------------------ policies */

/*
 * A writer holds. Waiters queue behind it in the order of the letters of `modes`: r or w. In each
 * step the test unlocks every holder; `steps` has the numbers of the holders after each.
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
    lk_lock *first = new_policy_lock(client, turns->name, turns->policy), *locks[8];
    call takers[8];
    size_t count = strlen(turns->modes);
    assert_ok(lk_wrlock(first));
    for (size_t i = 0; i < count; i++) {
        locks[i] = new_lock(client, turns->name);
        begin_wait(&takers[i], locks[i], mode_of(turns->modes[i]), client, turns->name, i + 1);
    }
    assert_ok(lk_wrunlock(first));
    for (const char *const *step = turns->steps; *step; step++) {
        assert_holders(client, turns, *step, locks);
        for (const char *who = *step; *who; who++)
            assert_call(&takers[*who - '0'], LK_OK);
        for (const char *who = *step; *who; who++)
            assert_ok(unlock_as(locks[*who - '0'], mode_of(turns->modes[*who - '0'])));
    }
    assert_nothing_left();
}

TEST(fair_is_the_order_of_asking) {
    play(&(order_of_turns){LK_FAIR, "t:fair", "rrwrww", {"01", "2", "3", "4", "5"}});
}

TEST(phase_fair_is_all_readers_and_one_writer_by_turns) {
    play(&(order_of_turns){LK_PHASE_FAIR, "t:phase-fair", "wrwr", {"13", "0", "2"}});
}

TEST(writer_preference_lets_all_writers_go_first) {
    play(&(order_of_turns){LK_PREFER_WRITER, "t:prefer-writer", "rwrw", {"1", "3", "02"}});
}

TEST(reader_preference_lets_all_readers_go_first) {
    play(&(order_of_turns){LK_PREFER_READER, "t:prefer-reader", "wrwr", {"13", "0", "2"}});
}

/* A reader holds and a writer waits: is another reader granted? */
static void assert_new_reader(lk_policy policy, const char *name, lk_status wanted) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_policy_lock(client, name, policy), new_lock(client, name),
                        new_lock(client, name)};
    call writer;
    assert_ok(lk_rdlock(locks[0]));
    begin_wait(&writer, locks[1], LK_WRITE, client, name, 1);
    assert_status(lk_tryrdlock(locks[2]), wanted);
    if (wanted == LK_OK)
        assert_ok(lk_rdunlock(locks[2]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_call(&writer, LK_OK);
}

TEST(a_new_reader_passes_a_waiting_writer_under_reader_preference_alone) {
    assert_new_reader(LK_FAIR, "t:new-fair", LK_BUSY);
    assert_new_reader(LK_PHASE_FAIR, "t:new-phase-fair", LK_BUSY);
    assert_new_reader(LK_PREFER_WRITER, "t:new-writer", LK_BUSY);
    assert_new_reader(LK_PREFER_READER, "t:new-reader", LK_OK);
}

TEST(a_lock_has_the_policy_of_the_request_that_found_it_free) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_policy_lock(client, "t:policy", LK_PREFER_READER),
                        new_policy_lock(client, "t:policy", LK_PHASE_FAIR)};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
    lk_info *info = inspect(client, "t:policy");
    assert_int_equal(info->policy, LK_PREFER_READER);
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(lk_rdlock(locks[1]));
    info = inspect(client, "t:policy");
    assert_int_equal(info->policy, LK_PHASE_FAIR);
}

int main(void) {
    return world_run(begin_world);
}
