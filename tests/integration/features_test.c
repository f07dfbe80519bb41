/* One test for each thing that users of other locks ask for by name. */
#include "old_world.h"

/* ------------------------------------------------------------------------------ preferences */

static void reader_preference(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_under(client, "x:readers", LK_PREFER_READER),
                        handle_of(client, "x:readers"), handle_of(client, "x:readers")};
    taker writer;
    assert_ok(lk_rdlock(locks[0]));
    taker_queue(&writer, locks[1], LK_WRITE, client, "x:readers", 1);
    assert_ok(lk_rdlock(locks[2]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_false(is_holder(client, "x:readers", locks[1]));
    assert_ok(lk_rdunlock(locks[2]));
    assert_ok(taker_join(&writer));
    free_handles(locks, 3);
    lk_close(client);
}

static void writer_preference(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_under(client, "x:writers", LK_PREFER_WRITER),
                        handle_of(client, "x:writers"), handle_of(client, "x:writers")};
    taker reader, writer;
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&reader, locks[1], LK_READ, client, "x:writers", 1);
    taker_queue(&writer, locks[2], LK_WRITE, client, "x:writers", 2);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(taker_join(&writer));
    assert_false(is_holder(client, "x:writers", locks[1]));
    assert_ok(lk_wrunlock(locks[2]));
    assert_ok(taker_join(&reader));
    free_handles(locks, 3);
    lk_close(client);
}

static void writer_intention_holds_back_new_readers(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "x:intention"), handle_of(client, "x:intention"),
                        handle_of(client, "x:intention")};
    taker writer, reader;
    assert_ok(lk_rdlock(locks[0]));
    taker_queue(&writer, locks[1], LK_WRITE, client, "x:intention", 1);
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    taker_queue(&reader, locks[2], LK_READ, client, "x:intention", 2);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(taker_join(&writer));
    assert_ok(lk_wrunlock(locks[1]));
    assert_ok(taker_join(&reader));
    free_handles(locks, 3);
    lk_close(client);
}

static void separate_groups_of_readers(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_with(client, "x:groups", &(lk_lock_options){.group = "scan"}),
                        handle_with(client, "x:groups", &(lk_lock_options){.group = "scan"}),
                        handle_with(client, "x:groups", &(lk_lock_options){.group = "index"})};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    free_handles(locks, 3);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ leases */

static int64_t held_ms(lk_client *client, const char *name) {
    lk_info *info = look(client, name);
    int64_t held = info->holder_count ? info->holders[0].held_ms : -1;
    lk_info_free(info);
    return held;
}

static void a_lease_is_refreshed_while_its_holder_lives(void **state) {
    (void)state;
    lk_client *client = open_client();
    tally lost = {0};
    lk_lock_options options = {.lease_ms = 500, .on_lost = tally_lost, .on_lost_arg = &lost};
    lk_lock *locks[] = {handle_with(client, "x:refresh", &options), handle_of(client, "x:refresh")};
    assert_ok(lk_wrlock(locks[0]));
    for (int64_t held = 0; held < 4 * options.lease_ms; held = held_ms(client, "x:refresh")) {
        assert_true(held >= 0);
        assert_true(lk_valid(locks[0]));
        assert_true(lk_remaining_ms(locks[0]) > 0);
        assert_true(lk_remaining_ms(locks[0]) <= options.lease_ms);
        assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
        pause_ms(20);
    }
    assert_ok(lk_wrunlock(locks[0]));
    assert_int_equal(atomic_load(&lost.losses), 0);
    free_handles(locks, 2);
    lk_close(client);
}

static void a_holder_that_dies_expires_alone(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_leased(client, "x:alone", 500), handle_of(client, "x:alone")};
    taker writer;
    actor doomed = actor_start("doomed");
    actor_does(&doomed, "new 0 300 x:alone");
    actor_does(&doomed, "read 0 -1");
    assert_ok(lk_rdlock(locks[0]));
    assert_int_equal(holder_total(client, "x:alone"), 2);
    actor_kill(&doomed);
    assert_eventually(holder_total(client, "x:alone") == 1);
    assert_true(is_holder(client, "x:alone", locks[0]));
    assert_true(lk_valid(locks[0]));
    taker_queue(&writer, locks[1], LK_WRITE, client, "x:alone", 1);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(taker_join(&writer));
    free_handles(locks, 2);
    lk_close(client);
}

static void a_hold_that_is_to_be_renewed_by_hand_is_lost_when_it_is_not(void **state) {
    (void)state;
    lk_client *client = open_client();
    tally lost = {0};
    lk_lock_options options = {
        .lease_ms = 200, .manual_renew = true, .on_lost = tally_lost, .on_lost_arg = &lost};
    lk_lock *locks[] = {handle_with(client, "x:unrenewed", &options),
                        handle_of(client, "x:unrenewed")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[1])); /* when the lease has run out */
    assert_eventually(atomic_load(&lost.losses) == 1);
    assert_false(lk_valid(locks[0]));
    assert_int_equal(lk_remaining_ms(locks[0]), 0);
    assert_status(lk_renew(locks[0], 0), LK_LOST);
    assert_status(lk_tryrdlock(locks[0]), LK_LOST);
    assert_status(lk_downgrade(locks[0]), LK_LOST);
    assert_status(lk_wrunlock(locks[0]), LK_LOST);
    assert_status(lk_trywrlock(locks[0]), LK_LOST);
    assert_status(lk_rdunlock(locks[0]), LK_LOST);
    assert_status(lk_rdunlock(locks[0]), LK_NOT_HELD);
    assert_status(lk_tryrdlock(locks[0]), LK_BUSY); /* it can be used again */
    assert_ok(lk_wrunlock(locks[1]));
    assert_ok(lk_tryrdlock(locks[0]));
    assert_int_equal(atomic_load(&lost.losses), 1);
    free_handles(locks, 2);
    lk_close(client);
}

static void a_hold_that_is_renewed_by_hand_stays(void **state) {
    (void)state;
    lk_client *client = open_client();
    tally lost = {0};
    lk_lock_options options = {
        .lease_ms = 1000, .manual_renew = true, .on_lost = tally_lost, .on_lost_arg = &lost};
    lk_lock *lock = handle_with(client, "x:renewed", &options);
    assert_ok(lk_wrlock(lock));
    for (int64_t held = 0; held < 2200; held = held_ms(client, "x:renewed")) {
        assert_ok(lk_renew(lock, 0));
        assert_true(lk_valid(lock));
        pause_ms(20);
    }
    assert_int_equal(atomic_load(&lost.losses), 0);
    assert_ok(lk_wrunlock(lock));
    lk_lock_free(lock);
    lk_close(client);
}

static void a_renewal_by_hand_may_be_longer_and_never_shortens(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock_options options = {.lease_ms = 5000, .manual_renew = true};
    lk_lock *lock = handle_with(client, "x:longer", &options);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_remaining_ms(lock) <= 5000);
    assert_ok(lk_renew(lock, 60000));
    assert_true(lk_remaining_ms(lock) > 40000);
    assert_ok(lk_renew(lock, 100));
    assert_true(lk_remaining_ms(lock) > 40000);
    assert_ok(lk_renew(lock, 0));
    assert_true(lk_remaining_ms(lock) > 40000);
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ re-entry */

static void re_entrant_reads(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "x:reads");
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_true(lk_valid(lock));
    assert_ok(lk_rdunlock(lock));
    assert_status(lk_rdunlock(lock), LK_NOT_HELD);
    lk_lock_free(lock);
    lk_close(client);
}

static void re_entrant_writes(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "x:writes");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_true(lk_valid(lock));
    assert_ok(lk_wrunlock(lock));
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    lk_lock_free(lock);
    lk_close(client);
}

static void a_read_inside_a_write(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "x:inside");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

static void upgrade_of_the_only_reader(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "x:up");
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_trywrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

static void downgrade(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "x:down"), handle_of(client, "x:down")};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_downgrade(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
    free_handles(locks, 2);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ the rest */

static void bounded_retries_are_a_wait_in_ms(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "x:bounded"), handle_of(client, "x:bounded")};
    assert_ok(lk_wrlock(locks[0]));
    int64_t began_ms = now_ms();
    assert_status(lk_timedwrlock(locks[1], 100), LK_TIMEOUT);
    assert_true(now_ms() - began_ms >= 100);
    free_handles(locks, 2);
    lk_close(client);
}

static void an_app_id_is_seen_by_others_with_host_and_pid(void **state) {
    (void)state;
    lk_client *client = open_client();
    char host[256] = "";
    actor other = actor_start("billing-7");
    actor_does(&other, "new 0 30000 x:app");
    actor_does(&other, "write 0 -1");
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    lk_info *info = look(client, "x:app");
    assert_int_equal(info->holder_count, 1);
    assert_string_equal(info->holders[0].app, "billing-7");
    assert_string_equal(info->holders[0].host, host);
    assert_int_equal(info->holders[0].pid, other.pid);
    assert_true(world_connections("latchkey:billing-7") >= 1);
    lk_info_free(info);
    actor_end(&other);
    lk_close(client);
}

static void the_app_id_is_the_name_of_the_program_unless_given(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "x:program");
    assert_ok(lk_rdlock(lock));
    lk_info *info = look(client, "x:program");
    assert_string_equal(info->holders[0].app, "features_test");
    assert_int_equal(info->holders[0].pid, getpid());
    lk_info_free(info);
    lk_lock_free(lock);
    lk_close(client);
}

static void a_custom_prefix(void **state) {
    (void)state;
    lk_client *clients[] = {open_client(), open_with(&(lk_client_options){.prefix = "shop"})};
    lk_lock *locks[] = {handle_of(clients[0], "x:prefix"), handle_of(clients[1], "x:prefix")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
    redisReply *reply = world_ask("EXISTS lk:{x:prefix} shop:{x:prefix}");
    assert_int_equal(reply->integer, 2);
    freeReplyObject(reply);
    free_handles(locks, 2);
    lk_close(clients[0]);
    lk_close(clients[1]);
}

static void a_fifo_mutex_starves_nobody(void **state) {
    (void)state;
    enum { MANY = 8, ROUNDS = 25 };
    lk_client *client = open_client();
    lk_lock *greedy = handle_of(client, "x:mutex"), *patient = handle_of(client, "x:mutex");
    taker waiter;
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(lk_wrlock(greedy));
        taker_queue(&waiter, patient, LK_WRITE, client, "x:mutex", 1);
        assert_ok(lk_wrunlock(greedy));
        /* Whoever comes now comes after. */
        for (int j = 0; j < MANY; j++)
            assert_status(lk_trywrlock(greedy), LK_BUSY);
        assert_ok(taker_join(&waiter));
        assert_ok(lk_wrunlock(patient));
    }
    free_handles((lk_lock *[]){greedy, patient}, 2);
    lk_close(client);
}

static void wake_up_without_polling(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "x:wake"), handle_of(client, "x:wake")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&waiter, locks[1], LK_WRITE, client, "x:wake", 1);
    long long before = world_calls("evalsha");
    int64_t began_ms = now_ms();
    pause_ms(300);
    assert_true(world_calls("evalsha") - before <= 1 + (now_ms() - began_ms) / 1000);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(taker_join(&waiter));
    free_handles(locks, 2);
    lk_close(client);
}

static void *unlock_in_a_thread(void *context) {
    static lk_status status;
    status = lk_wrunlock(context);
    return &status;
}

static void another_thread_may_unlock(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "x:thread");
    void *status = NULL;
    assert_ok(lk_wrlock(lock));
    assert_int_equal(pthread_join(thread_start(unlock_in_a_thread, lock), &status), 0);
    assert_int_equal(*(lk_status *)status, LK_OK);
    assert_false(lk_valid(lock));
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(reader_preference),
        world_test(writer_preference),
        world_test(writer_intention_holds_back_new_readers),
        world_test(separate_groups_of_readers),
        world_test(a_lease_is_refreshed_while_its_holder_lives),
        world_test(a_holder_that_dies_expires_alone),
        world_test(a_hold_that_is_to_be_renewed_by_hand_is_lost_when_it_is_not),
        world_test(a_hold_that_is_renewed_by_hand_stays),
        world_test(a_renewal_by_hand_may_be_longer_and_never_shortens),
        world_test(re_entrant_reads),
        world_test(re_entrant_writes),
        world_test(a_read_inside_a_write),
        world_test(upgrade_of_the_only_reader),
        world_test(downgrade),
        world_test(bounded_retries_are_a_wait_in_ms),
        world_test(an_app_id_is_seen_by_others_with_host_and_pid),
        world_test(the_app_id_is_the_name_of_the_program_unless_given),
        world_test(a_custom_prefix),
        world_test(a_fifo_mutex_starves_nobody),
        world_test(wake_up_without_polling),
        world_test(another_thread_may_unlock),
    };
    return world_main(argc, argv, tests);
}
