/* Fences, and the mark that a writer leaves when it does not release the lock. */
#include "world.h"

/* ------------------------------------------------------------------------------ fences */

TEST(nothing_held_has_no_fence) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "f:none");
    assert_true(lk_fence(lock) == 0);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_fence(lock) > 0);
    assert_true(lk_fence(lock) < UINT64_C(1) << 53);
    assert_ok(lk_wrunlock(lock));
    assert_true(lk_fence(lock) == 0);
}

TEST(a_holder_keeps_its_fence_when_it_takes_the_lock_again) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "f:again");
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_fence(lock) == fence);
    assert_ok(lk_rdlock(lock));
    assert_true(lk_fence(lock) == fence);
}

TEST(fences_of_writers_rise_from_one_to_the_next) {
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {new_lock(clients[0], "f:rise"), new_lock(clients[0], "f:rise"),
                        new_lock(clients[1], "f:rise")};
    uint64_t fence = 0;
    for (size_t i = 0; i < 60; i++) {
        assert_ok(lk_wrlock(locks[i % 3]));
        assert_true(lk_fence(locks[i % 3]) > fence);
        fence = lk_fence(locks[i % 3]);
        assert_ok(lk_wrunlock(locks[i % 3]));
    }
}

TEST(fences_rise_by_hand_over_too) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "f:hand"), new_lock(client, "f:hand")};
    call next;
    assert_ok(lk_wrlock(locks[0]));
    uint64_t fence = lk_fence(locks[0]);
    begin_wait(&next, locks[1], LK_WRITE, client, "f:hand", 1);
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&next, LK_OK);
    assert_true(lk_fence(locks[1]) > fence);
}

TEST(a_reader_is_above_the_writer_before_and_below_the_writer_after) {
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {new_lock(clients[0], "f:read"), new_lock(clients[1], "f:read")};
    assert_ok(lk_wrlock(locks[0]));
    uint64_t before = lk_fence(locks[0]);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    uint64_t read = lk_fence(locks[1]);
    assert_true(read > before);
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(lk_wrlock(locks[0]));
    assert_true(lk_fence(locks[0]) > read);
}

TEST(a_reader_that_is_handed_the_lock_is_not_below_the_writer_that_gave_it) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "f:give"), new_lock(client, "f:give")};
    call next;
    assert_ok(lk_wrlock(locks[0]));
    uint64_t fence = lk_fence(locks[0]);
    begin_wait(&next, locks[1], LK_READ, client, "f:give", 1);
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&next, LK_OK);
    assert_true(lk_fence(locks[1]) >= fence);
}

/* A writer in another process dies while it holds the lock. Returns its fence. */
static uint64_t let_a_writer_die(const char *name) {
    actor writer = actor_start("doomed");
    actor_does(&writer, "new 0 200 %s", name);
    uint64_t fence = actor_does(&writer, "write 0 -1").fence;
    actor_kill(&writer);
    return fence;
}

TEST(a_reader_is_above_a_writer_that_died) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "f:dead");
    uint64_t fence = let_a_writer_die("f:dead");
    assert_ok(lk_rdlock(lock));
    assert_true(lk_fence(lock) > fence);
}

TEST(readers_beside_each_other_have_one_fence) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "f:reads"), new_lock(client, "f:reads")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_true(lk_fence(locks[0]) > 0);
    assert_true(lk_fence(locks[0]) == lk_fence(locks[1]));
}

TEST(a_fence_is_above_that_of_a_writer_that_died) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "f:died");
    uint64_t fence = let_a_writer_die("f:died");
    assert_true(fence > 0);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_fence(lock) > fence);
}

TEST(a_lost_hold_keeps_its_fence_until_it_is_unlocked) {
    lk_client *client = open_client();
    lk_lock *lock = new_leased_lock(client, "f:lost", 300);
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    assert_ok(lk_force_release(client, "f:lost", NULL));
    eventually(!lk_valid(lock));
    assert_true(lk_fence(lock) == fence);
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_true(lk_fence(lock) == 0);
}

/* ------------------------------------------------------------------------------ abandoned */

TEST(the_next_writer_learns_that_the_last_one_died) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "f:writer"), new_lock(client, "f:writer")};
    let_a_writer_die("f:writer");
    assert_ok(lk_wrlock(locks[0]));
    assert_true(lk_abandoned(locks[0]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_wrlock(locks[1]));
    assert_false(lk_abandoned(locks[1]));
    assert_ok(lk_wrunlock(locks[1]));
    assert_nothing_left();
}

TEST(readers_learn_it_and_leave_the_mark) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "f:reader"), new_lock(client, "f:reader")};
    let_a_writer_die("f:reader");
    for (size_t i = 0; i < 2; i++) {
        assert_ok(lk_rdlock(locks[i]));
        assert_true(lk_abandoned(locks[i]));
        assert_ok(lk_rdunlock(locks[i]));
    }
    assert_ok(lk_wrlock(locks[0]));
    assert_true(lk_abandoned(locks[0]));
    assert_ok(lk_downgrade(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_false(lk_abandoned(locks[1]));
}

TEST(a_waiter_learns_it_with_the_hand_over) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "f:waiter");
    call waiter;
    actor writer = actor_start("doomed");
    actor_does(&writer, "new 0 300 f:waiter");
    actor_does(&writer, "write 0 -1");
    begin_wait(&waiter, lock, LK_WRITE, client, "f:waiter", 1);
    actor_kill(&writer);
    assert_call(&waiter, LK_OK);
    assert_true(lk_abandoned(lock));
}

TEST(a_reader_that_died_leaves_no_mark) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "f:dead-reader");
    actor reader = actor_start("doomed");
    actor_does(&reader, "new 0 200 f:dead-reader");
    actor_does(&reader, "read 0 -1");
    actor_kill(&reader);
    assert_ok(lk_wrlock(lock));
    assert_false(lk_abandoned(lock));
}

TEST(a_writer_in_good_order_leaves_no_mark) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "f:good");
    actor writer = actor_start("good");
    actor_does(&writer, "new 0 200 f:good");
    actor_does(&writer, "write 0 -1");
    actor_end(&writer);
    assert_ok(lk_wrlock(lock));
    assert_false(lk_abandoned(lock));
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
