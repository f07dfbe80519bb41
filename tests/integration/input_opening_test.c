/* Opening a client: URLs, options, passwords, the environment, and rights. */
#include "world.h"

static char marker;

static void assert_not_opened(const char *url, const lk_client_options *options, lk_status status,
                              const char *part) {
    lk_client *client = (lk_client *)(void *)&marker;
    lk_status got = lk_open(url, options, &client);
    if (got != status)
        fail_msg("%s: %s and not %s: %s", url, lk_status_name(got), lk_status_name(status),
                 lk_last_error());
    assert_said(part);
    assert_ptr_equal(client, &marker);
}

/* The URL of the server with `login` in it. */
static char *url_of(const char *login) {
    return world_print("unix://%s@%s", login, test_server_socket(server));
}

/* ------------------------------------------------------------------------------ URLs */

TEST(a_url_that_cannot_be_read_is_refused_by_its_part) {
    static const struct {
        const char *url, *part;
    } bad[] = {
        {"", "empty"},
        {"nonsense", "scheme"},
        {"http://h", "scheme"},
        {"redis:/h", "URL"},
        {"redis://", "host"},
        {"redis://h:port", "port"},
        {"redis://h:65536", "port"},
        {"redis://h/one", "db"},
        {"redis://u:%zz@h", "password"},
        {"unix://relative/path", "path"},
        {"unix://", "path"},
        {"unix:///s?db=x", "db"},
        {"unix:///s?base=1", "query"},
        {"local:more", "local:"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_not_opened(bad[i].url, NULL, LK_INVALID, bad[i].part);
}

TEST(a_topology_to_come_is_unsupported) {
    assert_not_opened("quorum:redis://a,redis://b", NULL, LK_UNSUPPORTED, "version");
}

TEST(a_db_that_the_server_does_not_have_is_invalid) {
    char *url = world_print("%s?db=99", server_url);
    assert_not_opened(url, NULL, LK_INVALID, "db");
}

TEST(a_server_that_is_full_says_so) {
    redisReply *before = ask_reply("CONFIG GET maxclients");
    char *url = url_of(":hunter2xyz");
    ask("CONFIG SET maxclients 1"); /* the probe is that one */
    lk_client *client = NULL;
    lk_status without = lk_open(server_url, NULL, &client);
    char *words = world_print("%s", lk_last_error());
    lk_status with = lk_open(url, NULL, &client);
    ask("CONFIG SET maxclients %s", before->element[1]->str);
    assert_int_equal(without, LK_UNAVAILABLE);
    assert_says(words, "max number of clients");
    assert_int_equal(with, LK_UNAVAILABLE);
    assert_said("maxclients");
}

TEST(nobody_there_is_unavailable) {
    char *url = world_print("%s-nobody", server_url);
    assert_not_opened(url, NULL, LK_UNAVAILABLE, "-nobody");
    assert_not_opened("redis://127.0.0.1:1", NULL, LK_UNAVAILABLE, "127.0.0.1:1");
}

TEST(the_url_may_come_from_the_environment) {
    lk_client *client = NULL;
    setenv("LATCHKEY_URL", server_url, 1);
    client = open_client_url(NULL, NULL);
    lk_lock *lock = new_lock(client, "i:environment");
    assert_ok(lk_wrlock(lock));
    assert_true(key_count() > 0);
    free_lock(lock);
    close_client(client);
    assert_not_opened("", NULL, LK_INVALID, "empty"); /* the environment does not replace it */
    setenv("LATCHKEY_URL", "http://h", 1);
    assert_not_opened(NULL, NULL, LK_INVALID, "scheme");
    client = open_client_with(NULL); /* the argument comes first */
}

/* ------------------------------------------------------------------------------ options */

TEST(options_that_cannot_be_are_refused_by_name) {
    char *app = world_print("%0129d", 0), *prefix = world_print("%065d", 0);
    const struct {
        lk_client_options options;
        const char *part;
        lk_status status;
    } bad[] = {
        {{.app = app}, "app", LK_INVALID},
        {{.prefix = ""}, "prefix", LK_INVALID},
        {{.prefix = prefix}, "prefix", LK_INVALID},
        {{.prefix = "a{b"}, "prefix", LK_INVALID},
        {{.prefix = "a}b"}, "prefix", LK_INVALID},
        {{.connect_timeout_ms = -1}, "connect_timeout_ms", LK_INVALID},
        {{.command_timeout_ms = -1}, "command_timeout_ms", LK_INVALID},
        {{.tls_key = "/key"}, "tls_key", LK_INVALID},
        {{.tls_ca = "/ca"}, "tls_ca", LK_INVALID}, /* the URL is one without TLS */
        {{.tls_cert = "/cert"}, "tls_cert", LK_INVALID},
        {{.tls_server_name = "h"}, "tls_server_name", LK_INVALID},
        {{.min_replicas = -1}, "min_replicas", LK_INVALID},
        {{.min_replicas = 1001}, "min_replicas", LK_INVALID},
        {{.replica_timeout_ms = -1}, "replica_timeout_ms", LK_INVALID},
        {{.replica_timeout_ms = 2501}, "replica_timeout_ms", LK_INVALID},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_not_opened(server_url, &bad[i].options, bad[i].status, bad[i].part);
}

TEST(options_at_their_longest_work) {
    char *app = world_print("%0128d", 0), *prefix = world_print("%064d", 0);
    lk_client_options options = {.app = app, .prefix = prefix};
    lk_client *client = open_client_with(&options);
    memset(&options, 0xff, sizeof options);
    lk_lock *locks[] = {new_lock(client, "i:longest"), new_lock(client, "i:longest")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    lk_info *info = inspect(client, "i:longest");
    assert_string_equal(info->holders[0].app, app);
    begin_wait(&waiter, locks[1], LK_WRITE, client, "i:longest", 1);
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&waiter, LK_OK);
}

/* ------------------------------------------------------------------------------ passwords */

static void user_ann(void) {
    ask("ACL SETUSER ann on >hunter2xyz allkeys allchannels +@all");
    ask_at_end("ACL DELUSER ann");
    ask_at_end("CONFIG SET requirepass %s", "");
}

static void assert_opens(const char *url) {
    lk_client *client = open_client_url(url, NULL);
    lk_lock *lock = new_lock(client, "i:user");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(user_ann, a_wrong_password_is_denied_and_not_shown) {
    char *wrong = url_of("ann:hunter3xyz"), *nobody = url_of("bob:hunter2xyz");
    assert_not_opened(wrong, NULL, LK_DENIED, "password");
    assert_says_not(lk_last_error(), "hunter");
    assert_not_opened(nobody, NULL, LK_DENIED, "password");
    assert_says_not(lk_last_error(), "hunter");
}

TEST_WITH(user_ann, a_password_for_a_server_without_one_is_denied) {
    char *url = url_of(":hunter2xyz");
    assert_not_opened(url, NULL, LK_DENIED, "the server has no password");
    assert_says_not(lk_last_error(), "hunter");
}

TEST_WITH(user_ann, a_right_password_of_the_url_opens) {
    char *url = url_of("ann:hunter2xyz"), *encoded = url_of("%61nn:%68unter2xyz");
    assert_opens(url);
    assert_opens(encoded);
}

TEST_WITH(user_ann, a_password_of_the_environment_opens) {
    char *url = url_of("ann");
    setenv("LATCHKEY_PASSWORD", "hunter2xyz", 1);
    assert_opens(url);
    setenv("LATCHKEY_PASSWORD", "hunter3xyz", 1);
    assert_not_opened(url, NULL, LK_DENIED, "password");
    assert_says_not(lk_last_error(), "hunter");
}

TEST_WITH(user_ann, a_server_that_wants_a_password_denies_who_has_none) {
    ask("CONFIG SET requirepass hunter4xyz");
    assert_not_opened(server_url, NULL, LK_DENIED, "password");
    setenv("LATCHKEY_PASSWORD", "hunter4xyz", 1);
    assert_opens(server_url);
}

TEST_WITH(user_ann, no_failure_of_an_open_client_shows_the_password) {
    char *url = url_of("ann:hunter2xyz");
    lk_client *client = open_client_url(url, NULL);
    lk_info *info = NULL;
    lk_lock *locks[] = {new_lock(client, "i:secret"), new_lock(client, "i:secret")};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_says_not(lk_last_error(), "hunter");
    assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
    assert_says_not(lk_last_error(), "hunter");
    ask("SET lk:{i:secret-2} x");
    assert_status(lk_inspect(client, "i:secret-2", &info), LK_INVALID);
    assert_says_not(lk_last_error(), "hunter");
}

/* ------------------------------------------------------------------------------ rights */

static const char enough[] =
    "resetkeys ~lk:* resetchannels &lk:* -@all +@string +@hash "
    "+@sortedset +@keyspace +@scripting +@pubsub +@connection +time +info +lrem";

/* The user ann, with these rights and no others; the client is hers. */
static lk_client *open_with_rights(const char *rights) {
    char *command = world_print("ACL SETUSER ann reset on >hunter2xyz %s", rights);
    char *url = url_of("ann:hunter2xyz");
    redisReply *reply = redisCommand(probe, command);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    return open_client_url(url, NULL);
}

static bool count_names(const char *name, void *arg) {
    (void)name;
    ++*(int *)arg;
    return true;
}

TEST_WITH(user_ann, a_user_with_the_rights_that_suffice_can_do_everything) {
    lk_client *client = open_with_rights(enough);
    lk_lock *locks[] = {new_leased_lock(client, "i:rights", 300), new_lock(client, "i:rights")};
    call waiter;
    int names = 0;
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_renew(locks[0], 0));
    assert_status(lk_timedrdlock(locks[1], 5), LK_TIMEOUT);
    begin_wait(&waiter, locks[1], LK_READ, client, "i:rights", 1);
    assert_ok(lk_downgrade(locks[0]));
    assert_call(&waiter, LK_OK);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_list(client, "i:*", count_names, &names));
    assert_int_equal(names, 1);
    assert_ok(lk_force_release(client, "i:rights", NULL));
}

TEST_WITH(user_ann, a_missing_right_to_commands_is_denied_and_named) {
    char *rights = world_print("%s -evalsha -eval", enough);
    lk_client *client = open_with_rights(rights);
    lk_lock *lock = new_lock(client, "i:command");
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("evalsha");
    assert_said("i:command");
    assert_says_not(lk_last_error(), "hunter");
    assert_false(lk_valid(lock));
}

TEST_WITH(user_ann, a_missing_right_inside_the_scripts_is_denied) {
    static const char *const missing[] = {"-@string", "-set"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        lk_client *client = open_with_rights(world_print("%s %s", enough, missing[i]));
        lk_lock *lock = new_lock(client, "i:inside");
        assert_status(lk_rdlock(lock), LK_DENIED);
        assert_said("i:inside");
        free_lock(lock);
        close_client(client);
    }
}

/* Only a lock with many holds and waiters has a sorted set. */
TEST_WITH(user_ann, a_right_that_only_large_locks_need_is_denied_when_it_is_needed) {
    enum { READERS = 20 };
    static const char *const missing[] = {"-zadd", "-zrangebyscore"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        lk_client *client = open_with_rights(world_print("%s %s", enough, missing[i]));
        lk_lock *locks[READERS];
        lk_status status = LK_OK;
        size_t count = 0;
        while (status == LK_OK && count < READERS) {
            locks[count] = new_lock(client, "i:large");
            status = lk_rdlock(locks[count++]);
        }
        assert_true(count > 2);
        assert_status(status, LK_DENIED);
        assert_said("i:large");
        free_locks(locks, count);
        close_client(client);
        ask("FLUSHALL");
    }
}

TEST_WITH(user_ann, a_missing_right_to_keys_is_denied_and_named) {
    char *rights = world_print("%s resetkeys ~other:*", enough);
    lk_client *client = open_with_rights(rights);
    lk_lock *lock = new_lock(client, "i:keys");
    lk_info *info = NULL;
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_said("keys");
    assert_status(lk_inspect(client, "i:keys", &info), LK_DENIED);
    assert_said("keys");
    assert_status(lk_force_release(client, "i:keys", NULL), LK_DENIED);
    assert_null(info);
}

TEST_WITH(user_ann, a_missing_right_to_channels_is_denied_to_who_must_wait) {
    char *rights = world_print("%s resetchannels", enough);
    lk_client *client = open_with_rights(rights);
    lk_lock *locks[] = {new_lock(client, "i:channel"), new_lock(client, "i:channel")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_call(&waiter, lk_wrlock, locks[1]);
    assert_call(&waiter, LK_DENIED);
    assert_says(waiter.said, "channel");
    assert_int_equal(look_at(client, "i:channel").waiters, 0);
    assert_ok(lk_wrunlock(locks[0]));
}

TEST_WITH(user_ann, a_missing_right_to_scan_is_denied_and_named) {
    char *rights = world_print("%s -scan", enough);
    lk_client *client = open_with_rights(rights);
    int names = 0;
    assert_status(lk_list(client, NULL, count_names, &names), LK_DENIED);
    assert_said("scan");
    assert_int_equal(names, 0);
}

int main(void) {
    return world_run(begin_world);
}
