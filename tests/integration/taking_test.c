/* Locking and unlocking: sharing, excluding, nesting, and an empty server afterwards. */
#include "world.h"

/* --------------------------------------------------------------------- sharing and excluding */

TEST(readers_of_two_clients_share) {
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {new_lock(clients[0], "t:share"), new_lock(clients[1], "t:share")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_int_equal(look_at(clients[0], "t:share").holders, 2);
    assert_true(lk_valid(locks[0]) && lk_valid(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[1]));
}

TEST(a_writer_keeps_out_everybody_else) {
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {new_lock(clients[0], "t:writer"), new_lock(clients[1], "t:writer"),
                        new_lock(clients[0], "t:writer")};
    assert_ok(lk_wrlock(locks[0]));
    for (size_t i = 1; i < 3; i++) {
        assert_status(lk_tryrdlock(locks[i]), LK_BUSY);
        assert_status(lk_trywrlock(locks[i]), LK_BUSY);
        assert_status(lk_timedrdlock(locks[i], 0), LK_BUSY);
        assert_status(lk_timedwrlock(locks[i], 0), LK_BUSY);
        assert_false(lk_valid(locks[i]));
    }
    assert_ok(lk_wrunlock(locks[0]));
    for (size_t i = 1; i < 3; i++) {
        assert_ok(lk_trywrlock(locks[i]));
        assert_ok(lk_wrunlock(locks[i]));
    }
}

TEST(a_reader_keeps_out_writers_alone) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:reader"), new_lock(client, "t:reader")};
    assert_ok(lk_tryrdlock(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_ok(lk_tryrdlock(locks[1]));
}

TEST(processes_keep_each_other_out) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "t:process");
    actor other = actor_start("other");
    actor_does(&other, "new 0 30000 t:process");
    actor_does(&other, "write 0 -1");
    assert_status(lk_trywrlock(lock), LK_BUSY);
    assert_status(lk_tryrdlock(lock), LK_BUSY);
    actor_does(&other, "unwrite 0");
    actor_does(&other, "read 0 -1");
    assert_status(lk_trywrlock(lock), LK_BUSY);
    assert_ok(lk_tryrdlock(lock));
    actor_does(&other, "unread 0");
    assert_ok(lk_rdunlock(lock));
    assert_ok(lk_trywrlock(lock));
    actor_tell(&other, "read 0 0");
    assert_int_equal(actor_hear(&other).status, LK_BUSY);
    assert_ok(lk_wrunlock(lock));
    actor_end(&other);
}

TEST(locks_of_other_names_have_nothing_to_do_with_each_other) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:one"), new_lock(client, "t:two")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
}

TEST(locks_of_other_databases_have_nothing_to_do_with_each_other) {
    char *url = world_print("%s?db=1", server_url);
    lk_client *clients[] = {open_client(), NULL};
    clients[1] = open_client_url(url, NULL);
    lk_lock *locks[] = {new_lock(clients[0], "t:db"), new_lock(clients[1], "t:db")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
}

TEST(threads_that_share_a_handle_are_one_holder) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "t:threads");
    call other;
    assert_ok(lk_wrlock(lock));
    begin_call(&other, lk_wrlock, lock);
    assert_call(&other, LK_OK);
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ nesting */

TEST(reads_nest) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:reads"), new_lock(client, "t:reads")};
    for (int i = 0; i < 3; i++)
        assert_ok(lk_rdlock(locks[0]));
    for (int i = 0; i < 3; i++) {
        assert_status(lk_trywrlock(locks[1]), LK_BUSY);
        assert_true(lk_valid(locks[0]));
        assert_ok(lk_rdunlock(locks[0]));
    }
    assert_false(lk_valid(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
}

TEST(writes_nest) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:writes"), new_lock(client, "t:writes")};
    for (int i = 0; i < 3; i++)
        assert_ok(lk_wrlock(locks[0]));
    for (int i = 0; i < 3; i++) {
        assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
        assert_ok(lk_wrunlock(locks[0]));
    }
    assert_ok(lk_tryrdlock(locks[1]));
}

TEST(a_read_inside_a_write_stays_when_the_write_ends) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:inside"), new_lock(client, "t:inside")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[0]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_true(lk_valid(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_ok(lk_tryrdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
}

TEST(a_write_goes_on_when_the_read_inside_it_ends) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:outside"), new_lock(client, "t:outside")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
}

TEST(a_holder_reads_again_though_a_writer_waits) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:again"), new_lock(client, "t:again")};
    call writer;
    assert_ok(lk_rdlock(locks[0]));
    begin_wait(&writer, locks[1], LK_WRITE, client, "t:again", 1);
    assert_ok(lk_tryrdlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_call(&writer, LK_OK);
}

/* ------------------------------------------------------------------------------ giving back */

TEST(what_is_not_held_cannot_be_given_back) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "t:unheld");
    assert_status(lk_rdunlock(lock), LK_NOT_HELD);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_status(lk_downgrade(lock), LK_NOT_HELD);
    assert_status(lk_renew(lock, 0), LK_NOT_HELD);
    assert_nothing_left();
}

TEST(an_unlock_of_the_other_kind_changes_nothing) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:kind"), new_lock(client, "t:kind")};
    assert_ok(lk_rdlock(locks[0]));
    assert_status(lk_wrunlock(locks[0]), LK_NOT_HELD);
    assert_status(lk_downgrade(locks[0]), LK_NOT_HELD);
    assert_true(lk_valid(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_rdunlock(locks[0]), LK_NOT_HELD);
    assert_true(lk_valid(locks[0]));
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
}

TEST(a_handle_cannot_give_back_what_another_holds) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "t:other"), new_lock(client, "t:other")};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
    assert_true(is_holder(client, "t:other", locks[0]));
    assert_ok(lk_wrunlock(locks[0]));
}

TEST(nothing_is_left_in_the_server_when_all_is_given_back) {
    lk_client *client = open_client();
    lk_lock *locks[4];
    call writer;
    for (size_t i = 0; i < 4; i++)
        locks[i] = new_lock(client, "t:clean");
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_ok(lk_rdlock(locks[1]));
    begin_wait(&writer, locks[2], LK_WRITE, client, "t:clean", 1);
    assert_status(lk_timedrdlock(locks[3], 1), LK_TIMEOUT);
    assert_true(key_count() > 0);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(lk_rdunlock(locks[1]));
    assert_call(&writer, LK_OK);
    assert_ok(lk_rdlock(locks[2]));
    assert_ok(lk_downgrade(locks[2]));
    assert_ok(lk_rdunlock(locks[2]));
    assert_ok(lk_rdunlock(locks[2]));
    assert_nothing_left();
    free_locks(locks, 4);
    close_client(client);
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ owners, groups */

TEST(handles_of_one_owner_never_exclude_each_other) {
    lk_client *client = open_client();
    lk_lock_options options = {.owner = "a crew"};
    lk_lock *locks[] = {new_lock_with(client, "t:owner", &options),
                        new_lock_with(client, "t:owner", &options), new_lock(client, "t:owner")};
    assert_string_equal(lk_owner(locks[0]), "a crew");
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[1]));
    assert_ok(lk_tryrdlock(locks[2]));
}

TEST(another_process_comes_in_under_the_owner_of_a_handle) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "t:owners");
    actor other = actor_start("other");
    assert_ok(lk_wrlock(lock));
    actor_does(&other, "new 0 30000 t:owners %s", lk_owner(lock));
    actor_does(&other, "new 1 30000 t:owners");
    actor_does(&other, "write 0 0");
    actor_tell(&other, "write 1 0");
    assert_int_equal(actor_hear(&other).status, LK_BUSY);
    assert_ok(lk_wrunlock(lock));
    actor_tell(&other, "write 1 0");
    assert_int_equal(actor_hear(&other).status, LK_BUSY);
    actor_does(&other, "unwrite 0");
    actor_does(&other, "write 1 0");
    actor_end(&other);
    free_lock(lock);
    close_client(client);
    assert_nothing_left();
}

TEST(readers_of_one_group_share_and_groups_exclude_each_other) {
    lk_client *client = open_client();
    lk_lock_options red = {.group = "red"}, blue = {.group = "blue"};
    lk_lock *locks[] = {new_lock_with(client, "t:group", &red),
                        new_lock_with(client, "t:group", &red),
                        new_lock_with(client, "t:group", &blue), new_lock(client, "t:group")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    assert_status(lk_tryrdlock(locks[3]), LK_BUSY);
    assert_ok(lk_rdunlock(locks[0]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(lk_tryrdlock(locks[2]));
    assert_status(lk_tryrdlock(locks[0]), LK_BUSY);
}

TEST(a_group_does_not_starve_another) {
    lk_client *client = open_client();
    lk_lock_options red = {.group = "red"}, blue = {.group = "blue"};
    lk_lock *locks[] = {new_lock_with(client, "t:groups", &red),
                        new_lock_with(client, "t:groups", &red),
                        new_lock_with(client, "t:groups", &blue)};
    call waiting;
    assert_ok(lk_rdlock(locks[0]));
    begin_wait(&waiting, locks[2], LK_READ, client, "t:groups", 1);
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_rdunlock(locks[0]));
    assert_call(&waiting, LK_OK);
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
