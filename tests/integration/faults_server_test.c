/* Servers that will not serve: replicas, full ones, those with rights, foreign keys, old ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_world.h"

static char *url_of(const char *user, const test_server *of) {
    return test_print("unix://%s%s%s", user, *user ? "@" : "", test_server_socket(of));
}

static lk_status open_as(const char *user, const test_server *of, lk_client **out) {
    char *url = url_of(user, of);
    lk_client_options options = {.command_timeout_ms = PATIENT_MS,
                                 .connect_timeout_ms = PATIENT_MS};
    lk_status status = lk_open(url, &options, out);
    free(url);
    return status;
}

/* ------------------------------------------------------------------------------ replicas */

static void replica_cannot_be_opened(void **state) {
    (void)state;
    lk_client *client = NULL;
    test_server *replica = start_server((const char *[]){"--replicaof", "127.0.0.1", "1", NULL});
    assert_status(open_as("", replica, &client), LK_UNAVAILABLE);
    assert_said("replica");
    assert_null(client);
    test_server_stop(replica);
}

static void server_that_becomes_a_replica_refuses_until_it_is_a_master_again(void **state) {
    (void)state;
    lk_client *client = open_client(test_server_socket(server), PATIENT_MS);
    lk_lock *held = new_lock(client, "held", 0), *lock = new_lock(client, "a", 0);
    assert_status(lk_wrlock(held), LK_OK);
    ask(eye, "REPLICAOF 127.0.0.1 1");
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_said("replica");
    ask(eye, "REPLICAOF NO ONE");
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_status(lk_wrunlock(held), LK_OK);
    assert_true(is_empty(eye));
    lk_lock_free(held);
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ full */

static void full_server_takes_no_lock_and_gives_back_those_it_has(void **state) {
    (void)state;
    lk_client *client = open_client(test_server_socket(server), PATIENT_MS);
    lk_lock *held = new_lock(client, "held", 0), *nested = new_lock(client, "nested", 0);
    lk_lock *lock = new_lock(client, "a", 0);
    teach_scripts(client, eye);
    assert_status(lk_wrlock(held), LK_OK);
    assert_status(lk_wrlock(nested), LK_OK);
    assert_status(lk_rdlock(nested), LK_OK);
    ask(eye, "CONFIG SET maxmemory-policy noeviction");
    ask(eye, "CONFIG SET maxmemory 1");
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_said("out of memory");
    assert_false(lk_valid(lock));
    assert_status(lk_renew(held, 0), LK_OK);
    assert_status(lk_wrunlock(held), LK_OK);
    assert_status(lk_downgrade(nested), LK_OK);
    assert_status(lk_rdunlock(nested), LK_OK);
    assert_status(lk_rdunlock(nested), LK_OK);
    assert_true(is_empty(eye));
    ask(eye, "CONFIG SET maxmemory 0");
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(held);
    lk_lock_free(nested);
    lk_lock_free(lock);
    lk_close(client);
}

static void waiter_is_handed_the_lock_of_a_full_server(void **state) {
    (void)state;
    lk_client *client = open_client(test_server_socket(server), PATIENT_MS);
    lk_lock *holder = new_lock(client, "a", 0), *waiter = new_lock(client, "a", 0);
    call waiting;
    teach_scripts(client, eye);
    assert_status(lk_wrlock(holder), LK_OK);
    begin_wait(&waiting, waiter, client, "a");
    ask(eye, "CONFIG SET maxmemory 1");
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_status(lk_wrunlock(waiter), LK_OK);
    ask(eye, "CONFIG SET maxmemory 0");
    assert_true(is_empty(eye));
    lk_lock_free(holder);
    lk_lock_free(waiter);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ held up */

static void server_held_up_by_a_long_script_is_waited_for(void **state) {
    (void)state;
    enum { TRIES = 3 };
    fake_server *fake = start_fake();
    lk_client *client = open_client(fake_server_socket(fake), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    redisContext *culprit = look_into(server);
    call taking;
    int done = 0;
    teach_scripts(client, eye);
    ask(eye, "CONFIG SET lua-time-limit 10");
    redisAppendCommand(culprit, "EVAL %s 0", "while true do end");
    while (!done)
        assert_int_equal(redisBufferWrite(culprit, &done), REDIS_OK);
    size_t count = fake_server_count(fake, "EVALSHA");
    begin_call(&taking, lk_wrlock, lock);
    assert_true(fake_server_wait_for(fake, "EVALSHA", count + TRIES, LONG_MS));
    assert_false(atomic_load(&taking.over));
    ask(eye, "SCRIPT KILL");
    assert_call(&taking, LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
    redisFree(culprit);
    lk_lock_free(lock);
    lk_close(client);
    fake_server_stop(fake);
}

/* ------------------------------------------------------------------------------ rights */

static void user_who_may_not_run_scripts_is_denied(void **state) {
    (void)state;
    lk_client *client = NULL;
    ask(eye, "ACL SETUSER meek on >meek ~* &* +@all -@scripting");
    assert_status(open_as("meek:meek", server, &client), LK_OK);
    lk_lock *lock = new_lock(client, "a", 0);
    lk_info *info = NULL;
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("rights");
    assert_status(lk_inspect(client, "a", &info), LK_DENIED);
    assert_status(lk_force_release(client, "a", NULL), LK_DENIED);
    ask(eye, "ACL SETUSER meek +@scripting");
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(lock);
    lk_close(client);
    ask(eye, "ACL DELUSER meek");
}

static void user_who_may_not_use_the_keys_is_denied(void **state) {
    (void)state;
    lk_client *client = NULL;
    ask(eye, "ACL SETUSER meek on >meek ~other:* &* +@all");
    assert_status(open_as("meek:meek", server, &client), LK_OK);
    lk_lock *lock = new_lock(client, "a", 0);
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("rights");
    assert_true(is_empty(eye));
    lk_lock_free(lock);
    lk_close(client);
    ask(eye, "ACL DELUSER meek");
}

static void user_who_may_not_subscribe_can_take_a_free_lock_and_is_denied_a_wait(void **state) {
    (void)state;
    lk_client *client = NULL;
    ask(eye, "ACL SETUSER meek on >meek ~* resetchannels +@all");
    assert_status(open_as("meek:meek", server, &client), LK_OK);
    lk_client *other = open_client(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0), *holder = new_lock(other, "a", 0);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_status(lk_wrlock(holder), LK_OK);
    assert_status(lk_trywrlock(lock), LK_BUSY);
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("channel");
    assert_status(lk_wrlock(lock), LK_DENIED); /* and the next one is told as well */
    assert_said("channel");
    assert_int_equal(look_at(other, "a").waiters, 0);
    assert_status(lk_wrunlock(holder), LK_OK);
    lk_lock_free(lock);
    lk_lock_free(holder);
    lk_close(client);
    lk_close(other);
    ask(eye, "ACL DELUSER meek");
}

static void server_with_a_password_denies_who_has_none_or_another(void **state) {
    (void)state;
    lk_client *client = NULL;
    test_server *guarded = start_server((const char *[]){NULL});
    redisContext *inside = look_into(guarded);
    ask(inside, "CONFIG SET requirepass opensesame");
    assert_status(open_as("", guarded, &client), LK_DENIED);
    assert_said("password");
    assert_status(open_as(":sesamopen", guarded, &client), LK_DENIED);
    assert_said("password");
    assert_null(strstr(lk_last_error(), "sesamopen"));
    assert_null(client);
    assert_status(open_as(":opensesame", guarded, &client), LK_OK);
    lk_close(client);
    redisFree(inside);
    test_server_stop(guarded);
}

/* ------------------------------------------------------------------------------ foreign keys */

static void key_that_is_somebody_elses_is_invalid_and_left_alone(void **state) {
    (void)state;
    lk_client *client = open_client(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    lk_info *info = NULL;
    ask(eye, "SET lk:{a} foreign");
    assert_status(lk_wrlock(lock), LK_INVALID);
    assert_said("lk:{a}");
    assert_status(lk_tryrdlock(lock), LK_INVALID);
    assert_status(lk_inspect(client, "a", &info), LK_INVALID);
    assert_status(lk_force_release(client, "a", NULL), LK_INVALID);
    assert_null(info);
    assert_int_equal(ask(eye, "STRLEN lk:{a}"), strlen("foreign"));
    ask(eye, "DEL lk:{a}");
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ no server for us
 */

static lk_status open_fake(fake_server *fake, lk_client **out) {
    char *url = test_print("unix://%s", fake_server_socket(fake));
    lk_client_options options = {.connect_timeout_ms = PATIENT_MS};
    lk_status status = lk_open(url, &options, out);
    free(url);
    return status;
}

static void server_older_than_six_point_two_is_not_supported(void **state) {
    (void)state;
    static const char *const old[] = {"5.0.14", "6.0.16"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        lk_client *client = NULL;
        fake_server *fake = fake_server_start(NULL);
        char *info = test_print("# Server\r\nredis_version:%s\r\n", old[i]);
        char *reply = test_print("$%zu\r\n%s\r\n", strlen(info), info);
        fake_server_on(fake, "INFO server", FAKE_FOREVER, reply);
        assert_status(open_fake(fake, &client), LK_UNSUPPORTED);
        assert_said(old[i]);
        assert_said("6.2");
        assert_null(client);
        fake_server_stop(fake);
        free(info);
        free(reply);
    }
}

static void what_is_no_redis_is_unavailable_and_said_to_be_none(void **state) {
    (void)state;
    lk_client *client = NULL;
    fake_server *fake = fake_server_start(NULL);
    fake_server_on(fake, "", FAKE_FOREVER, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    assert_status(open_fake(fake, &client), LK_UNAVAILABLE);
    assert_said("not a Redis");
    assert_null(client);
    fake_server_stop(fake);
}

static void server_that_closes_every_connection_is_unavailable(void **state) {
    (void)state;
    lk_client *client = NULL;
    fake_server *fake = fake_server_start(NULL);
    fake_server_do(fake, "", FAKE_FOREVER, FAKE_DROP);
    assert_status(open_fake(fake, &client), LK_UNAVAILABLE);
    assert_null(client);
    fake_server_stop(fake);
}

static void server_that_says_nothing_is_unavailable_after_connect_timeout(void **state) {
    (void)state;
    lk_client *client = NULL;
    fake_server *fake = fake_server_start(NULL);
    char *url = test_print("unix://%s", fake_server_socket(fake));
    lk_client_options options = {.connect_timeout_ms = HASTY_MS};
    fake_server_do(fake, "", FAKE_FOREVER, FAKE_SILENCE);
    assert_status(lk_open(url, &options, &client), LK_UNAVAILABLE);
    assert_said("sent no reply");
    assert_null(client);
    free(url);
    fake_server_stop(fake);
}

#define TEST(name) cmocka_unit_test_setup(name, empty_server)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(replica_cannot_be_opened),
        TEST(server_that_becomes_a_replica_refuses_until_it_is_a_master_again),
        TEST(full_server_takes_no_lock_and_gives_back_those_it_has),
        TEST(waiter_is_handed_the_lock_of_a_full_server),
        TEST(server_held_up_by_a_long_script_is_waited_for),
        TEST(user_who_may_not_run_scripts_is_denied),
        TEST(user_who_may_not_use_the_keys_is_denied),
        TEST(user_who_may_not_subscribe_can_take_a_free_lock_and_is_denied_a_wait),
        TEST(server_with_a_password_denies_who_has_none_or_another),
        TEST(key_that_is_somebody_elses_is_invalid_and_left_alone),
        TEST(server_older_than_six_point_two_is_not_supported),
        TEST(what_is_no_redis_is_unavailable_and_said_to_be_none),
        TEST(server_that_closes_every_connection_is_unavailable),
        TEST(server_that_says_nothing_is_unavailable_after_connect_timeout),
    };
    return cmocka_run_group_tests_name("faults: servers", tests, begin_world, end_world);
}
