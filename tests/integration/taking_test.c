/* Taking and giving back: who shares, who is kept out, what nests, what is left in the server. */
#include "old_world.h"

/* --------------------------------------------------------------------- sharing and excluding */

static void readers_of_two_clients_share(void **state) {
    (void)state;
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {handle_of(clients[0], "t:share"), handle_of(clients[1], "t:share")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_int_equal(holder_total(clients[0], "t:share"), 2);
    assert_true(lk_valid(locks[0]) && lk_valid(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[1]));
    free_handles(locks, 2);
    lk_close(clients[0]);
    lk_close(clients[1]);
}

static void a_writer_keeps_out_everybody_else(void **state) {
    (void)state;
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {handle_of(clients[0], "t:writer"), handle_of(clients[1], "t:writer"),
                        handle_of(clients[0], "t:writer")};
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
    free_handles(locks, 3);
    lk_close(clients[0]);
    lk_close(clients[1]);
}

static void a_reader_keeps_out_writers_alone(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:reader"), handle_of(client, "t:reader")};
    assert_ok(lk_tryrdlock(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_ok(lk_tryrdlock(locks[1]));
    free_handles(locks, 2);
    lk_close(client);
}

static void processes_keep_each_other_out(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "t:process");
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
    lk_lock_free(lock);
    lk_close(client);
}

static void locks_of_other_names_have_nothing_to_do_with_each_other(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:one"), handle_of(client, "t:two")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
    free_handles(locks, 2);
    lk_close(client);
}

static void locks_of_other_databases_have_nothing_to_do_with_each_other(void **state) {
    (void)state;
    char *url = test_print("%s?db=1", world_url);
    lk_client *clients[] = {open_client(), NULL};
    assert_ok(lk_open(url, NULL, &clients[1]));
    lk_lock *locks[] = {handle_of(clients[0], "t:db"), handle_of(clients[1], "t:db")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
    free_handles(locks, 2);
    lk_close(clients[0]);
    lk_close(clients[1]);
    free(url);
}

static void threads_that_share_a_handle_are_one_holder(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "t:threads");
    taker other;
    assert_ok(lk_wrlock(lock));
    taker_start(&other, lock, LK_WRITE, -1);
    assert_ok(taker_join(&other));
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_wrunlock(lock));
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ nesting */

static void reads_nest(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:reads"), handle_of(client, "t:reads")};
    for (int i = 0; i < 3; i++)
        assert_ok(lk_rdlock(locks[0]));
    for (int i = 0; i < 3; i++) {
        assert_status(lk_trywrlock(locks[1]), LK_BUSY);
        assert_true(lk_valid(locks[0]));
        assert_ok(lk_rdunlock(locks[0]));
    }
    assert_false(lk_valid(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
    free_handles(locks, 2);
    lk_close(client);
}

static void writes_nest(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:writes"), handle_of(client, "t:writes")};
    for (int i = 0; i < 3; i++)
        assert_ok(lk_wrlock(locks[0]));
    for (int i = 0; i < 3; i++) {
        assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
        assert_ok(lk_wrunlock(locks[0]));
    }
    assert_ok(lk_tryrdlock(locks[1]));
    free_handles(locks, 2);
    lk_close(client);
}

static void a_read_inside_a_write_stays_when_the_write_ends(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:inside"), handle_of(client, "t:inside")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[0]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_true(lk_valid(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_ok(lk_tryrdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
    free_handles(locks, 2);
    lk_close(client);
}

static void a_write_goes_on_when_the_read_inside_it_ends(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:outside"), handle_of(client, "t:outside")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
    free_handles(locks, 2);
    lk_close(client);
}

static void a_holder_reads_again_though_a_writer_waits(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:again"), handle_of(client, "t:again")};
    taker writer;
    assert_ok(lk_rdlock(locks[0]));
    taker_queue(&writer, locks[1], LK_WRITE, client, "t:again", 1);
    assert_ok(lk_tryrdlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(taker_join(&writer));
    free_handles(locks, 2);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ giving back */

static void what_is_not_held_cannot_be_given_back(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "t:unheld");
    assert_status(lk_rdunlock(lock), LK_NOT_HELD);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_status(lk_downgrade(lock), LK_NOT_HELD);
    assert_status(lk_renew(lock, 0), LK_NOT_HELD);
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

static void an_unlock_of_the_other_kind_changes_nothing(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:kind"), handle_of(client, "t:kind")};
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
    free_handles(locks, 2);
    lk_close(client);
}

static void a_handle_cannot_give_back_what_another_holds(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "t:other"), handle_of(client, "t:other")};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
    assert_true(is_holder(client, "t:other", locks[0]));
    assert_ok(lk_wrunlock(locks[0]));
    free_handles(locks, 2);
    lk_close(client);
}

static void nothing_is_left_in_the_server_when_all_is_given_back(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[4];
    taker writer;
    for (size_t i = 0; i < 4; i++)
        locks[i] = handle_of(client, "t:clean");
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_ok(lk_rdlock(locks[1]));
    taker_queue(&writer, locks[2], LK_WRITE, client, "t:clean", 1);
    assert_status(lk_timedrdlock(locks[3], 1), LK_TIMEOUT);
    assert_true(world_key_count() > 0);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(taker_join(&writer));
    assert_ok(lk_rdlock(locks[2]));
    assert_ok(lk_downgrade(locks[2]));
    assert_ok(lk_rdunlock(locks[2]));
    assert_ok(lk_rdunlock(locks[2]));
    assert_nothing_left();
    free_handles(locks, 4);
    lk_close(client);
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ owners, groups */

static void handles_of_one_owner_never_exclude_each_other(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock_options options = {.owner = "a crew"};
    lk_lock *locks[] = {handle_with(client, "t:owner", &options),
                        handle_with(client, "t:owner", &options), handle_of(client, "t:owner")};
    assert_string_equal(lk_owner(locks[0]), "a crew");
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[0]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    assert_ok(lk_wrunlock(locks[1]));
    assert_ok(lk_tryrdlock(locks[2]));
    free_handles(locks, 3);
    lk_close(client);
}

static void another_process_comes_in_under_the_owner_of_a_handle(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "t:owners");
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
    lk_lock_free(lock);
    lk_close(client);
    assert_nothing_left();
}

static void readers_of_one_group_share_and_groups_exclude_each_other(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock_options red = {.group = "red"}, blue = {.group = "blue"};
    lk_lock *locks[] = {handle_with(client, "t:group", &red), handle_with(client, "t:group", &red),
                        handle_with(client, "t:group", &blue), handle_of(client, "t:group")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    assert_status(lk_tryrdlock(locks[3]), LK_BUSY);
    assert_ok(lk_rdunlock(locks[0]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(lk_tryrdlock(locks[2]));
    assert_status(lk_tryrdlock(locks[0]), LK_BUSY);
    free_handles(locks, 4);
    lk_close(client);
}

static void a_group_does_not_starve_another(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock_options red = {.group = "red"}, blue = {.group = "blue"};
    lk_lock *locks[] = {handle_with(client, "t:groups", &red),
                        handle_with(client, "t:groups", &red),
                        handle_with(client, "t:groups", &blue)};
    taker waiting;
    assert_ok(lk_rdlock(locks[0]));
    taker_queue(&waiting, locks[2], LK_READ, client, "t:groups", 1);
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(taker_join(&waiting));
    free_handles(locks, 3);
    lk_close(client);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(readers_of_two_clients_share),
        world_test(a_writer_keeps_out_everybody_else),
        world_test(a_reader_keeps_out_writers_alone),
        world_test(processes_keep_each_other_out),
        world_test(locks_of_other_names_have_nothing_to_do_with_each_other),
        world_test(locks_of_other_databases_have_nothing_to_do_with_each_other),
        world_test(threads_that_share_a_handle_are_one_holder),
        world_test(reads_nest),
        world_test(writes_nest),
        world_test(a_read_inside_a_write_stays_when_the_write_ends),
        world_test(a_write_goes_on_when_the_read_inside_it_ends),
        world_test(a_holder_reads_again_though_a_writer_waits),
        world_test(what_is_not_held_cannot_be_given_back),
        world_test(an_unlock_of_the_other_kind_changes_nothing),
        world_test(a_handle_cannot_give_back_what_another_holds),
        world_test(nothing_is_left_in_the_server_when_all_is_given_back),
        world_test(handles_of_one_owner_never_exclude_each_other),
        world_test(another_process_comes_in_under_the_owner_of_a_handle),
        world_test(readers_of_one_group_share_and_groups_exclude_each_other),
        world_test(a_group_does_not_starve_another),
    };
    return world_main(argc, argv, tests);
}
