/* lk_examine: the facts about servers, also about those that lk_open refuses. */
#include "world.h"

static fake_server *fake; /* before the real one */
static lk_facts *facts;   /* of the fake one */

static void free_facts(void) {
    lk_facts_free(facts);
    facts = NULL;
}

static void fake_before_server(void) {
    fake = start_fake();
    run_after_closing(free_facts);
}

static lk_status examine_with(const char *login, lk_client_options options) {
    char *url = world_print("unix://%s%s", login, fake_server_socket(fake));
    free_facts();
    lk_status status = lk_examine(url, &options, &facts);
    if (status != LK_OK)
        assert_null(facts);
    return status;
}

static lk_status examine(void) {
    return examine_with("", (lk_client_options){0});
}

static void answer_bulk(const char *pattern, const char *text) {
    char *reply = world_print("$%zu\r\n%s\r\n", strlen(text), text);
    fake_server_on(fake, pattern, FAKE_FOREVER, reply);
}

static void assert_missing(const char *rights) {
    test_text all = {0};
    for (size_t i = 0; i < facts->missing_count; i++)
        test_text_print(&all, "%s%s", i ? " " : "", facts->missing[i]);
    assert_string_equal(all.bytes ? all.bytes : "", rights);
    free(all.bytes);
}

/* ------------------------------------------------------------------------------ what it is */

TEST_WITH(fake_before_server, a_server_that_is_well_is_described) {
    assert_ok(examine());
    assert_non_null(strstr(facts->server, fake_server_socket(fake)));
    assert_true(*facts->kind && *facts->version);
    assert_string_equal(facts->mode, "standalone");
    assert_int_equal(facts->supported, LK_YES);
    assert_int_equal(facts->local, LK_NO);
    assert_int_equal(facts->module, LK_NO);
    assert_int_equal(facts->replica, LK_NO);
    assert_int_equal(facts->replicas, 0);
    assert_int_equal(facts->maxmemory, 0);
    assert_string_equal(facts->eviction, "noeviction");
    assert_int_equal(facts->aof, LK_NO);
    assert_int_equal(facts->rdb, LK_NO);
    assert_string_equal(facts->user, "default");
    assert_int_equal(facts->absent_count, 0);
    assert_missing("");
    assert_true(facts->uptime_s >= 0);
    assert_true(facts->round_trip_us >= 0);
    assert_int_equal(facts->clock_known, LK_YES);
    assert_true(facts->clock_error_us <= facts->round_trip_us);
}

TEST_WITH(fake_before_server, settings_of_the_server_are_seen) {
    ask("CONFIG SET maxmemory-policy volatile-ttl");
    ask("CONFIG SET maxmemory 123456789");
    ask("CONFIG SET save %s", "3600 1");
    lk_status status = examine();
    ask("CONFIG SET maxmemory 0");
    ask("CONFIG SET maxmemory-policy noeviction");
    ask("CONFIG SET save %s", "");
    assert_ok(status);
    assert_string_equal(facts->eviction, "volatile-ttl");
    assert_int_equal(facts->maxmemory, 123456789);
    assert_int_equal(facts->rdb, LK_YES);
}

TEST_WITH(fake_before_server, a_server_that_is_too_old_is_described_and_not_opened) {
    lk_client *opened = NULL;
    answer_bulk("INFO server", "# Server\r\nredis_version:5.0.14\r\nredis_mode:standalone\r\n");
    fake_server_on(fake, "ACL", FAKE_FOREVER, "-ERR unknown command `ACL`\r\n");
    assert_ok(examine());
    assert_int_equal(facts->supported, LK_NO);
    assert_string_equal(facts->version, "5.0.14");
    assert_string_equal(facts->user, "");
    char *url = world_print("unix://%s", fake_server_socket(fake));
    assert_status(lk_open(url, NULL, &opened), LK_UNSUPPORTED);
}

TEST_WITH(fake_before_server, valkey_has_a_version_of_its_own) {
    answer_bulk("INFO server", "redis_version:7.2.4\r\nserver_name:valkey\r\n"
                               "valkey_version:8.1.0\r\nserver_mode:standalone\r\n");
    assert_ok(examine());
    assert_string_equal(facts->kind, "valkey");
    assert_string_equal(facts->version, "8.1.0");
    assert_string_equal(facts->mode, "standalone");
    assert_int_equal(facts->supported, LK_YES);
}

TEST_WITH(fake_before_server, a_replica_is_described_and_not_opened) {
    lk_client *opened = NULL;
    answer_bulk("INFO replication", "role:slave\r\nconnected_slaves:2\r\n");
    assert_ok(examine());
    assert_int_equal(facts->replica, LK_YES);
    assert_int_equal(facts->replicas, 2);
    char *url = world_print("unix://%s", fake_server_socket(fake));
    assert_status(lk_open(url, NULL, &opened), LK_UNAVAILABLE);
}

TEST_WITH(fake_before_server, what_the_server_does_not_tell_is_unknown) {
    fake_server_on(fake, "INFO", FAKE_FOREVER,
                   "-NOPERM this user has no permissions to run the 'info' command\r\n");
    fake_server_on(fake, "CONFIG", FAKE_FOREVER,
                   "-NOPERM this user has no permissions to run the 'config|get' command\r\n");
    fake_server_on(fake, "TIME", FAKE_FOREVER, "*2\r\n:1\r\n:2\r\n");
    assert_ok(examine());
    assert_string_equal(facts->version, "");
    assert_string_equal(facts->kind, "");
    assert_string_equal(facts->eviction, "");
    assert_int_equal(facts->supported, LK_UNKNOWN);
    assert_int_equal(facts->replica, LK_UNKNOWN);
    assert_int_equal(facts->replicas, -1);
    assert_int_equal(facts->maxmemory, -1);
    assert_int_equal(facts->uptime_s, -1);
    assert_int_equal(facts->aof, LK_UNKNOWN);
    assert_int_equal(facts->rdb, LK_UNKNOWN);
    assert_int_equal(facts->clock_known, LK_NO);
    assert_missing("+info");
}

TEST_WITH(fake_before_server, control_bytes_of_the_server_are_tamed) {
    answer_bulk("INFO server", "redis_version:7.0\033[31m\r\n");
    assert_ok(examine());
    assert_string_equal(facts->version, "7.0?[31m");
}

/* ------------------------------------------------------------------------------ its clock */

static void answer_time(int64_t ahead_us) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + ahead_us;
    char *seconds = world_print("%lld", (long long)(us / 1000000));
    char *rest = world_print("%lld", (long long)(us % 1000000));
    char *reply = world_print("*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(seconds), seconds,
                              strlen(rest), rest);
    fake_server_on(fake, "TIME", FAKE_FOREVER, reply);
}

/* The fake clock stands still while the examination runs. */
static void assert_offset_near(int64_t us) {
    assert_int_equal(facts->clock_known, LK_YES);
    assert_in_range(facts->clock_offset_us + 3600000000LL, us + 3600000000LL - 20000000,
                    us + 3600000000LL + 1000000);
    assert_true(facts->clock_error_us * 2 <= facts->round_trip_us + 1);
}

TEST_WITH(fake_before_server, a_clock_that_is_ahead_or_behind_is_measured) {
    answer_time(500000000);
    assert_ok(examine());
    assert_offset_near(500000000);
    answer_time(-500000000);
    assert_ok(examine());
    assert_offset_near(-500000000);
}

/* ------------------------------------------------------------------------------ rights */

TEST_WITH(fake_before_server, what_a_user_lacks_is_named) {
    ask("ACL SETUSER some on >pw ~lk:* &lk:* +@all -eval -zcount -subscribe");
    assert_ok(examine_with("some:pw@", (lk_client_options){0}));
    assert_string_equal(facts->user, "some");
    assert_missing("+eval +zcount +subscribe");
    assert_ok(examine_with("some:pw@", (lk_client_options){.prefix = "shop"}));
    assert_missing("~shop:* +eval &shop:* +zcount +subscribe");
    ask("ACL DELUSER some");
}

static bool lacks(const char *right) {
    for (size_t i = 0; i < facts->missing_count; i++)
        if (strcmp(facts->missing[i], right) == 0)
            return true;
    return false;
}

TEST_WITH(fake_before_server, keys_and_channels_that_cannot_be_tried_are_missing) {
    ask("ACL SETUSER some on >pw ~lk:* &lk:* +ping +subscribe");
    assert_ok(examine_with("some:pw@", (lk_client_options){0}));
    assert_true(lacks("+get") && lacks("~lk:*"));
    assert_false(lacks("&lk:*"));
    ask("ACL SETUSER some -subscribe +get");
    assert_ok(examine_with("some:pw@", (lk_client_options){0}));
    assert_true(lacks("+subscribe") && lacks("&lk:*"));
    assert_false(lacks("~lk:*"));
    ask("ACL DELUSER some");
}

TEST_WITH(fake_before_server, a_prefix_with_signs_of_a_pattern_stands_for_itself) {
    ask("ACL SETUSER some on >pw ~lk:* &lk:* +@all");
    assert_ok(examine_with("some:pw@", (lk_client_options){.prefix = "a[b]*?^\\"}));
    assert_missing("~a\\[b\\]\\*\\?\\^\\\\:* &a\\[b\\]\\*\\?\\^\\\\:*");
    ask("ACL DELUSER some");
}

TEST_WITH(fake_before_server, a_db_that_may_not_be_selected_is_a_right_that_is_missing) {
    ask("ACL SETUSER some on >pw ~lk:* &lk:* +@all -select");
    assert_ok(examine_with("some:pw@", (lk_client_options){0}));
    assert_missing("");
    char *url = world_print("unix://some:pw@%s?db=1", fake_server_socket(fake));
    lk_facts_free(facts);
    assert_ok(lk_examine(url, NULL, &facts));
    assert_missing("+select");
    ask("ACL DELUSER some");
}

TEST_WITH(fake_before_server, the_words_of_every_version_are_understood) {
    static const struct {
        const char *command, *reply, *missing;
    } said[] = {
        {"HGET",
         "-NOPERM this user has no permissions to run the 'hget' command or its subcommand\r\n",
         "+hget"},
        {"HGET", "-NOPERM User channel has no permissions to run the 'hget' command\r\n", "+hget"},
        {"HGET",
         "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n",
         "~lk:*"},
        {"HGET", "-NOPERM No permissions to access a key\r\n", "~lk:*"},
        {"HGET", "-NOPERM User key has no permissions to access the 'lk:x' key\r\n", "~lk:*"},
        {"PUBLISH",
         "-NOPERM this user has no permissions to access one of the channels used as "
         "arguments\r\n",
         "&lk:*"},
        {"PUBLISH", "-NOPERM No permissions to access a channel\r\n", "&lk:*"},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        fake_server_forget(fake);
        fake_server_on(fake, said[i].command, FAKE_FOREVER, said[i].reply);
        assert_ok(examine());
        assert_missing(said[i].missing);
    }
}

TEST_WITH(fake_before_server, commands_that_the_server_does_not_know_are_named) {
    fake_server_on(fake, "EVAL", FAKE_FOREVER, "-ERR unknown command 'EVAL'\r\n");
    assert_ok(examine());
    assert_missing("");
    assert_int_equal(facts->absent_count, 1);
    assert_string_equal(facts->absent[0], "EVAL");
}

static long long changes(void) {
    redisReply *info = redisCommand(probe, "INFO persistence");
    const char *field = strstr(info->str, "rdb_changes_since_last_save:");
    assert_non_null(field);
    long long number = strtoll(strchr(field, ':') + 1, NULL, 10);
    freeReplyObject(info);
    return number;
}

TEST_WITH(fake_before_server, it_changes_nothing_in_the_server) {
    long long before = changes();
    assert_ok(examine());
    assert_nothing_left();
    assert_int_equal(changes(), before);
}

/* ------------------------------------------------------------------------------ failures */

TEST_WITH(fake_before_server, a_server_that_lets_nobody_in_is_denied) {
    assert_status(examine_with("some:secretword@", (lk_client_options){0}), LK_DENIED);
    assert_null(strstr(lk_last_error(), "secretword"));
    fake_server_on(fake, "", FAKE_FOREVER, "-NOAUTH Authentication required.\r\n");
    assert_status(examine(), LK_DENIED);
    assert_said("LATCHKEY_PASSWORD");
}

TEST_WITH(fake_before_server, a_server_that_loads_is_unavailable) {
    fake_server_on(fake, "PING", FAKE_FOREVER, "-LOADING Redis is loading the dataset\r\n");
    assert_status(examine(), LK_UNAVAILABLE);
    assert_said("LOADING");
}

TEST_WITH(fake_before_server, a_server_that_is_full_is_unavailable) {
    fake_server_on(fake, "INFO server", 1, "-ERR max number of clients reached\r\n");
    fake_server_do(fake, "INFO replication", 1, FAKE_DROP);
    assert_status(examine(), LK_UNAVAILABLE);
    assert_said("maxclients");
}

TEST_WITH(fake_before_server, a_server_that_falls_silent_is_unavailable_in_time) {
    static const char *const patterns[] = {"INFO", "TIME", "EVALSHA"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        fake_server_forget(fake);
        fake_server_do(fake, patterns[i], FAKE_FOREVER, FAKE_SILENCE);
        int64_t began_ms = now_ms();
        assert_status(examine_with("", (lk_client_options){.command_timeout_ms = HASTY_MS}),
                      LK_UNAVAILABLE);
        assert_true(now_ms() - began_ms >= HASTY_MS);
    }
}

TEST_WITH(fake_before_server, a_server_that_hangs_up_is_unavailable) {
    static const char *const patterns[] = {"INFO memory", "PING", "TIME", "SUBSCRIBE"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        fake_server_forget(fake);
        fake_server_do(fake, patterns[i], FAKE_FOREVER, FAKE_DROP);
        assert_status(examine(), LK_UNAVAILABLE);
    }
}

TEST_WITH(fake_before_server, arguments_are_checked) {
    lk_client_options bad = {.prefix = "{"};
    assert_status(lk_examine("redis://h", NULL, NULL), LK_INVALID);
    assert_status(lk_examine("http://h", NULL, &facts), LK_INVALID);
    assert_status(lk_examine("redis://h", &bad, &facts), LK_INVALID);
    assert_status(lk_examine("unix:///no/such/socket", NULL, &facts), LK_UNAVAILABLE);
    assert_null(facts);
    lk_facts_free(NULL);
}

int main(void) {
    return world_run(begin_world);
}
