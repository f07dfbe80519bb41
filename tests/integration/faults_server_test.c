/* Servers that refuse: replicas, full ones, missing rights, foreign keys, old versions. */
#include "world.h"

static char *url_of(const char *user, const test_server *of) {
    return world_print("unix://%s%s%s", user, *user ? "@" : "", test_server_socket(of));
}

static const lk_client_options patient = {.command_timeout_ms = PATIENT_MS,
                                          .connect_timeout_ms = PATIENT_MS};

static lk_status try_open(const char *user, const test_server *of, lk_client **out) {
    return lk_open(url_of(user, of), &patient, out);
}

static lk_client *open_as(const char *user, const test_server *of) {
    return open_client_url(url_of(user, of), &patient);
}

/* ------------------------------------------------------------------------------ replicas */

TEST(replica_cannot_be_opened) {
    lk_client *client = NULL;
    test_server *replica = start_server((const char *[]){"--replicaof", "127.0.0.1", "1", NULL});
    assert_status(try_open("", replica, &client), LK_UNAVAILABLE);
    assert_said("replica");
    assert_null(client);
}

TEST(server_that_becomes_a_replica_refuses_until_it_is_a_master_again) {
    lk_client *client = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *held = new_lock(client, "held"), *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(held));
    ask("REPLICAOF 127.0.0.1 1");
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_said("replica");
    ask("REPLICAOF NO ONE");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_wrunlock(held));
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ full */

TEST(full_server_takes_no_lock_and_gives_back_those_it_has) {
    lk_client *client = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *held = new_lock(client, "held"), *nested = new_lock(client, "nested");
    lk_lock *lock = new_lock(client, "a");
    teach_scripts(client);
    assert_ok(lk_wrlock(held));
    assert_ok(lk_wrlock(nested));
    assert_ok(lk_rdlock(nested));
    ask("CONFIG SET maxmemory-policy noeviction");
    ask("CONFIG SET maxmemory 1");
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_said("out of memory");
    assert_false(lk_valid(lock));
    assert_ok(lk_renew(held, 0));
    assert_ok(lk_wrunlock(held));
    assert_ok(lk_downgrade(nested));
    assert_ok(lk_rdunlock(nested));
    assert_ok(lk_rdunlock(nested));
    assert_nothing_left();
    ask("CONFIG SET maxmemory 0");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

TEST(waiter_is_handed_the_lock_of_a_full_server) {
    lk_client *client = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *holder = new_lock(client, "a"), *waiter = new_lock(client, "a");
    call waiting;
    teach_scripts(client);
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, client, "a", 1);
    ask("CONFIG SET maxmemory 1");
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
    ask("CONFIG SET maxmemory 0");
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ held up */

TEST(server_held_up_by_a_long_script_is_waited_for) {
    enum { TRIES = 3 };
    fake_server *fake = start_fake();
    lk_client *client = open_client_at(fake_server_socket(fake), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a");
    redisContext *culprit = connect_to(server);
    call taking;
    int done = 0;
    teach_scripts(client);
    ask("CONFIG SET lua-time-limit 10");
    redisAppendCommand(culprit, "EVAL %s 0", "while true do end");
    while (!done)
        assert_int_equal(redisBufferWrite(culprit, &done), REDIS_OK);
    size_t count = fake_server_count(fake, "EVALSHA");
    begin_call(&taking, lk_wrlock, lock);
    assert_true(fake_server_wait_for(fake, "EVALSHA", count + TRIES, LONG_MS));
    assert_false(atomic_load(&taking.over));
    ask("SCRIPT KILL");
    assert_call(&taking, LK_OK);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ rights */

TEST(user_who_may_not_run_scripts_is_denied) {
    ask("ACL SETUSER meek on >meek ~* &* +@all -@scripting");
    ask_at_end("ACL DELUSER meek");
    lk_client *client = open_as("meek:meek", server);
    lk_lock *lock = new_lock(client, "a");
    lk_info *info = NULL;
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("rights");
    assert_status(lk_inspect(client, "a", &info), LK_DENIED);
    assert_status(lk_force_release(client, "a", NULL), LK_DENIED);
    ask("ACL SETUSER meek +@scripting");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

TEST(user_who_may_not_use_the_keys_is_denied) {
    ask("ACL SETUSER meek on >meek ~other:* &* +@all");
    ask_at_end("ACL DELUSER meek");
    lk_client *client = open_as("meek:meek", server);
    lk_lock *lock = new_lock(client, "a");
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("rights");
    assert_nothing_left();
}

/* Of `min_replicas`: the grant does not count, and no replica is to blame. */
TEST(user_who_may_not_wait_for_replicas_is_denied) {
    ask("ACL SETUSER meek on >meek ~* &* +@all -wait");
    ask_at_end("ACL DELUSER meek");
    char *url = world_print("unix://meek:meek@%s", test_server_socket(server));
    lk_client *client = open_client_url(url, &(lk_client_options){.min_replicas = 1});
    lk_lock *lock = new_lock(client, "a");
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("WAIT");
    assert_said("`latchkey doctor`");
    eventually(key_count() == 0);
}

TEST(user_who_may_not_subscribe_can_take_a_free_lock_and_is_denied_a_wait) {
    ask("ACL SETUSER meek on >meek ~* resetchannels +@all");
    ask_at_end("ACL DELUSER meek");
    lk_client *client = open_as("meek:meek", server);
    lk_client *other = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a"), *holder = new_lock(other, "a");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_wrlock(holder));
    assert_status(lk_trywrlock(lock), LK_BUSY);
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("channel");
    assert_status(lk_wrlock(lock), LK_DENIED); /* and so is the next call */
    assert_said("channel");
    assert_int_equal(look_at(other, "a").waiters, 0);
    assert_ok(lk_wrunlock(holder));
}

TEST(server_with_a_password_denies_who_has_none_or_another) {
    lk_client *client = NULL;
    test_server *guarded = start_server((const char *[]){NULL});
    redisContext *inside = connect_to(guarded);
    ask_at(inside, "CONFIG SET requirepass opensesame");
    assert_status(try_open("", guarded, &client), LK_DENIED);
    assert_said("password");
    assert_status(try_open(":sesamopen", guarded, &client), LK_DENIED);
    assert_said("password");
    assert_null(strstr(lk_last_error(), "sesamopen"));
    assert_null(client);
    open_as(":opensesame", guarded);
}

/* ------------------------------------------------------------------------------ foreign keys */

TEST(key_that_is_somebody_elses_is_invalid_and_left_alone) {
    lk_client *client = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a");
    lk_info *info = NULL;
    ask("SET lk:{a} foreign");
    assert_status(lk_wrlock(lock), LK_INVALID);
    assert_said("lk:{a}");
    assert_status(lk_tryrdlock(lock), LK_INVALID);
    assert_status(lk_inspect(client, "a", &info), LK_INVALID);
    assert_status(lk_force_release(client, "a", NULL), LK_INVALID);
    assert_null(info);
    assert_int_equal(ask("STRLEN lk:{a}"), strlen("foreign"));
    ask("DEL lk:{a}");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ other servers */

static lk_status open_fake(fake_server *fake, lk_client **out) {
    char *url = world_print("unix://%s", fake_server_socket(fake));
    return lk_open(url, &(lk_client_options){.connect_timeout_ms = PATIENT_MS}, out);
}

TEST(server_older_than_six_point_two_is_not_supported) {
    static const char *const old[] = {"5.0.14", "6.0.16"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        lk_client *client = NULL;
        fake_server *fake = start_lone_fake();
        char *info = world_print("# Server\r\nredis_version:%s\r\n", old[i]);
        char *reply = world_print("$%zu\r\n%s\r\n", strlen(info), info);
        fake_server_on(fake, "INFO server", FAKE_FOREVER, reply);
        assert_status(open_fake(fake, &client), LK_UNSUPPORTED);
        assert_said(old[i]);
        assert_said("6.2");
        assert_null(client);
    }
}

TEST(what_is_no_redis_is_unavailable_and_said_to_be_none) {
    lk_client *client = NULL;
    fake_server *fake = start_lone_fake();
    fake_server_on(fake, "", FAKE_FOREVER, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    assert_status(open_fake(fake, &client), LK_UNAVAILABLE);
    assert_said("not a Redis");
    assert_null(client);
}

TEST(server_that_closes_every_connection_is_unavailable) {
    lk_client *client = NULL;
    fake_server *fake = start_lone_fake();
    fake_server_do(fake, "", FAKE_FOREVER, FAKE_DROP);
    assert_status(open_fake(fake, &client), LK_UNAVAILABLE);
    assert_null(client);
}

TEST(server_that_says_nothing_is_unavailable_after_connect_timeout) {
    lk_client *client = NULL;
    fake_server *fake = start_lone_fake();
    char *url = world_print("unix://%s", fake_server_socket(fake));
    lk_client_options options = {.connect_timeout_ms = HASTY_MS};
    fake_server_do(fake, "", FAKE_FOREVER, FAKE_SILENCE);
    assert_status(lk_open(url, &options, &client), LK_UNAVAILABLE);
    assert_said("sent no reply");
    assert_null(client);
}

int main(void) {
    return world_run(begin_world);
}
