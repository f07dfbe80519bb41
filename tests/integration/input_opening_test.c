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
    assert_says(lk_last_error(), part);
    assert_ptr_equal(client, &marker);
}

/* The URL of the server with `login` in it. */
static char *url_of(const char *login) {
    return test_print("unix://%s@%s", login, test_server_socket(world_server));
}

/* ------------------------------------------------------------------------------ URLs */

static void a_url_that_cannot_be_read_is_refused_by_its_part(void **state) {
    (void)state;
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

static void topologies_to_come_are_unsupported(void **state) {
    (void)state;
    static const char *const urls[] = {
        "redis+sentinel://a,b,c/m", "rediss+sentinel://a,b/m", "valkey+sentinel://a/m",
        "redis+cluster://a,b",      "rediss+cluster://a",      "valkey+cluster://a",
        "valkeys+sentinel://a,b/m", "valkeys+cluster://a",     "quorum:redis://a,redis://b",
    };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_not_opened(urls[i], NULL, LK_UNSUPPORTED, "version");
}

static void a_db_that_the_server_does_not_have_is_invalid(void **state) {
    (void)state;
    char *url = test_print("%s?db=99", world_url);
    assert_not_opened(url, NULL, LK_INVALID, "db");
    free(url);
}

static void a_server_that_is_full_says_so(void **state) {
    (void)state;
    redisReply *before = world_ask("CONFIG GET maxclients");
    char *url = url_of(":hunter2xyz");
    world_do("CONFIG SET maxclients 1"); /* that is us */
    lk_client *client = NULL;
    lk_status without = lk_open(world_url, NULL, &client);
    char *words = test_print("%s", lk_last_error());
    lk_status with = lk_open(url, NULL, &client);
    world_do("CONFIG SET maxclients %s", before->element[1]->str);
    assert_int_equal(without, LK_UNAVAILABLE);
    assert_says(words, "max number of clients");
    assert_int_equal(with, LK_UNAVAILABLE);
    assert_says(lk_last_error(), "maxclients");
    freeReplyObject(before);
    free(url), free(words);
}

static void nobody_there_is_unavailable(void **state) {
    (void)state;
    char *url = test_print("%s-nobody", world_url);
    assert_not_opened(url, NULL, LK_UNAVAILABLE, "-nobody");
    assert_not_opened("redis://127.0.0.1:1", NULL, LK_UNAVAILABLE, "127.0.0.1:1");
    free(url);
}

static void the_url_may_come_from_the_environment(void **state) {
    (void)state;
    lk_client *client = NULL;
    setenv("LATCHKEY_URL", world_url, 1);
    assert_ok(lk_open(NULL, NULL, &client));
    lk_lock *lock = handle_of(client, "i:environment");
    assert_ok(lk_wrlock(lock));
    assert_true(world_key_count() > 0);
    lk_lock_free(lock);
    lk_close(client);
    assert_not_opened("", NULL, LK_INVALID, "empty"); /* not what the environment says */
    setenv("LATCHKEY_URL", "http://h", 1);
    assert_not_opened(NULL, NULL, LK_INVALID, "scheme");
    assert_ok(lk_open(world_url, NULL, &client)); /* what is given comes first */
    lk_close(client);
}

/* ------------------------------------------------------------------------------ options */

static void options_that_cannot_be_are_refused_by_name(void **state) {
    (void)state;
    char *app = test_print("%0129d", 0), *prefix = test_print("%065d", 0);
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
        {{.min_replicas = 1}, "min_replicas", LK_UNSUPPORTED},
        {{.min_replicas = -1}, "min_replicas", LK_UNSUPPORTED},
        {{.replica_timeout_ms = 7}, "replica_timeout_ms", LK_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_not_opened(world_url, &bad[i].options, bad[i].status, bad[i].part);
    free(app), free(prefix);
}

static void options_at_their_longest_work(void **state) {
    (void)state;
    char *app = test_print("%0128d", 0), *prefix = test_print("%064d", 0);
    lk_client_options options = {.app = app, .prefix = prefix};
    lk_client *client = open_with(&options);
    memset(&options, 0xff, sizeof options);
    lk_lock *locks[] = {handle_of(client, "i:longest"), handle_of(client, "i:longest")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    lk_info *info = look(client, "i:longest");
    assert_string_equal(info->holders[0].app, app);
    lk_info_free(info);
    taker_queue(&waiter, locks[1], LK_WRITE, client, "i:longest", 1);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(taker_join(&waiter));
    free_handles(locks, 2);
    lk_close(client);
    free(app), free(prefix);
}

/* ------------------------------------------------------------------------------ passwords */

static int make_users(void **state) {
    world_begin(state);
    world_do("ACL SETUSER ann on >hunter2xyz allkeys allchannels +@all");
    return 0;
}

static int end_users(void **state) {
    (void)state;
    world_do("ACL DELUSER ann");
    world_do("CONFIG SET requirepass %s", "");
    return 0;
}

#define user_test(function) cmocka_unit_test_setup_teardown(function, make_users, end_users)

static void assert_opens(const char *url) {
    lk_client *client = NULL;
    assert_ok(lk_open(url, NULL, &client));
    lk_lock *lock = handle_of(client, "i:user");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    lk_lock_free(lock);
    lk_close(client);
}

static void a_wrong_password_is_denied_and_not_shown(void **state) {
    (void)state;
    char *wrong = url_of("ann:hunter3xyz"), *nobody = url_of("bob:hunter2xyz");
    assert_not_opened(wrong, NULL, LK_DENIED, "password");
    assert_says_not(lk_last_error(), "hunter");
    assert_not_opened(nobody, NULL, LK_DENIED, "password");
    assert_says_not(lk_last_error(), "hunter");
    free(wrong), free(nobody);
}

static void a_password_for_a_server_without_one_is_denied(void **state) {
    (void)state;
    char *url = url_of(":hunter2xyz");
    assert_not_opened(url, NULL, LK_DENIED, "the server has no password");
    assert_says_not(lk_last_error(), "hunter");
    free(url);
}

static void a_right_password_of_the_url_opens(void **state) {
    (void)state;
    char *url = url_of("ann:hunter2xyz"), *encoded = url_of("%61nn:%68unter2xyz");
    assert_opens(url);
    assert_opens(encoded);
    free(url), free(encoded);
}

static void a_password_of_the_environment_opens(void **state) {
    (void)state;
    char *url = url_of("ann");
    setenv("LATCHKEY_PASSWORD", "hunter2xyz", 1);
    assert_opens(url);
    setenv("LATCHKEY_PASSWORD", "hunter3xyz", 1);
    assert_not_opened(url, NULL, LK_DENIED, "password");
    assert_says_not(lk_last_error(), "hunter");
    free(url);
}

static void a_server_that_wants_a_password_denies_who_has_none(void **state) {
    (void)state;
    world_do("CONFIG SET requirepass hunter4xyz");
    assert_not_opened(world_url, NULL, LK_DENIED, "password");
    setenv("LATCHKEY_PASSWORD", "hunter4xyz", 1);
    assert_opens(world_url);
}

static void no_failure_of_an_open_client_shows_the_password(void **state) {
    (void)state;
    char *url = url_of("ann:hunter2xyz");
    lk_client *client = NULL;
    lk_info *info = NULL;
    assert_ok(lk_open(url, NULL, &client));
    lk_lock *locks[] = {handle_of(client, "i:secret"), handle_of(client, "i:secret")};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_says_not(lk_last_error(), "hunter");
    assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
    assert_says_not(lk_last_error(), "hunter");
    world_do("SET lk:{i:secret-2} x");
    assert_status(lk_inspect(client, "i:secret-2", &info), LK_INVALID);
    assert_says_not(lk_last_error(), "hunter");
    free_handles(locks, 2);
    lk_close(client);
    free(url);
}

/* ------------------------------------------------------------------------------ rights */

static const char enough[] = "resetkeys ~lk:* resetchannels &lk:* -@all +@string +@hash "
                             "+@sortedset +@keyspace +@scripting +@pubsub +@connection +time +info";

/* The user ann, with these rights and no others; the client is hers. */
static lk_client *open_with_rights(const char *rights) {
    char *command = test_print("ACL SETUSER ann reset on >hunter2xyz %s", rights);
    char *url = url_of("ann:hunter2xyz");
    lk_client *client = NULL;
    redisReply *reply = redisCommand(world_peek, command);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    assert_ok(lk_open(url, NULL, &client));
    free(command), free(url);
    return client;
}

static bool count_names(const char *name, void *arg) {
    (void)name;
    ++*(int *)arg;
    return true;
}

static void a_user_with_the_rights_that_suffice_can_do_everything(void **state) {
    (void)state;
    lk_client *client = open_with_rights(enough);
    lk_lock *locks[] = {handle_leased(client, "i:rights", 300), handle_of(client, "i:rights")};
    taker waiter;
    int names = 0;
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_renew(locks[0], 0));
    assert_status(lk_timedrdlock(locks[1], 5), LK_TIMEOUT);
    taker_queue(&waiter, locks[1], LK_READ, client, "i:rights", 1);
    assert_ok(lk_downgrade(locks[0]));
    assert_ok(taker_join(&waiter));
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_list(client, "i:*", count_names, &names));
    assert_int_equal(names, 1);
    assert_ok(lk_force_release(client, "i:rights", NULL));
    free_handles(locks, 2);
    lk_close(client);
}

static void a_missing_right_to_commands_is_denied_and_named(void **state) {
    (void)state;
    char *rights = test_print("%s -evalsha -eval", enough);
    lk_client *client = open_with_rights(rights);
    lk_lock *lock = handle_of(client, "i:command");
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_says(lk_last_error(), "evalsha");
    assert_says(lk_last_error(), "i:command");
    assert_says_not(lk_last_error(), "hunter");
    assert_false(lk_valid(lock));
    lk_lock_free(lock);
    lk_close(client);
    free(rights);
}

static void a_missing_right_inside_the_scripts_is_denied(void **state) {
    (void)state;
    static const char *const missing[] = {"-@string", "-@hash", "-@sortedset"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char *rights = test_print("%s %s", enough, missing[i]);
        lk_client *client = open_with_rights(rights);
        lk_lock *locks[] = {handle_of(client, "i:inside"), handle_of(client, "i:inside")};
        lk_status first = lk_rdlock(locks[0]); /* a lone hold is a string and nothing else */
        assert_status(i == 0 ? first : lk_rdlock(locks[1]), LK_DENIED);
        assert_says(lk_last_error(), "i:inside");
        assert_status(first, i == 0 ? LK_DENIED : LK_OK);
        free_handles(locks, 2);
        lk_close(client);
        free(rights);
    }
}

static void a_missing_right_to_keys_is_denied_and_named(void **state) {
    (void)state;
    char *rights = test_print("%s resetkeys ~other:*", enough);
    lk_client *client = open_with_rights(rights);
    lk_lock *lock = handle_of(client, "i:keys");
    lk_info *info = NULL;
    assert_status(lk_wrlock(lock), LK_DENIED);
    assert_says(lk_last_error(), "keys");
    assert_status(lk_inspect(client, "i:keys", &info), LK_DENIED);
    assert_says(lk_last_error(), "keys");
    assert_status(lk_force_release(client, "i:keys", NULL), LK_DENIED);
    assert_null(info);
    lk_lock_free(lock);
    lk_close(client);
    free(rights);
}

static void a_missing_right_to_channels_is_denied_to_who_must_wait(void **state) {
    (void)state;
    char *rights = test_print("%s resetchannels", enough);
    lk_client *client = open_with_rights(rights);
    lk_lock *locks[] = {handle_of(client, "i:channel"), handle_of(client, "i:channel")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    taker_start(&waiter, locks[1], LK_WRITE, -1);
    assert_status(taker_join(&waiter), LK_DENIED);
    assert_says(waiter.error, "channel");
    assert_int_equal(waiter_total(client, "i:channel"), 0);
    assert_ok(lk_wrunlock(locks[0]));
    free_handles(locks, 2);
    lk_close(client);
    free(rights);
}

static void a_missing_right_to_scan_is_denied_and_named(void **state) {
    (void)state;
    char *rights = test_print("%s -scan", enough);
    lk_client *client = open_with_rights(rights);
    int names = 0;
    assert_status(lk_list(client, NULL, count_names, &names), LK_DENIED);
    assert_says(lk_last_error(), "scan");
    assert_int_equal(names, 0);
    lk_close(client);
    free(rights);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(a_url_that_cannot_be_read_is_refused_by_its_part),
        world_test(topologies_to_come_are_unsupported),
        world_test(a_db_that_the_server_does_not_have_is_invalid),
        world_test(a_server_that_is_full_says_so),
        world_test(nobody_there_is_unavailable),
        world_test(the_url_may_come_from_the_environment),
        world_test(options_that_cannot_be_are_refused_by_name),
        world_test(options_at_their_longest_work),
        user_test(a_wrong_password_is_denied_and_not_shown),
        user_test(a_password_for_a_server_without_one_is_denied),
        user_test(a_right_password_of_the_url_opens),
        user_test(a_password_of_the_environment_opens),
        user_test(a_server_that_wants_a_password_denies_who_has_none),
        user_test(no_failure_of_an_open_client_shows_the_password),
        user_test(a_user_with_the_rights_that_suffice_can_do_everything),
        user_test(a_missing_right_to_commands_is_denied_and_named),
        user_test(a_missing_right_inside_the_scripts_is_denied),
        user_test(a_missing_right_to_keys_is_denied_and_named),
        user_test(a_missing_right_to_channels_is_denied_to_who_must_wait),
        user_test(a_missing_right_to_scan_is_denied_and_named),
    };
    return world_main(argc, argv, tests);
}
