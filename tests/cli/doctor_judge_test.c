/* What `doctor` makes of facts that real servers do not show on demand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "doctor.h"

#include <stdio.h>
#include <string.h>

enum { FINDINGS_MOST = 40 };

static finding found[FINDINGS_MOST];
static size_t found_count;

static void keep(const finding *one, void *arg) {
    (void)arg;
    assert_true(found_count < FINDINGS_MOST);
    assert_true(one->name && one->server && *one->text);
    assert_true(one->grade == FINDING_FINE || *one->advice ||
                strstr(one->text, "does not report") || strstr(one->text, "reports the state"));
    found[found_count++] = *one;
}

static void judge(const lk_facts *facts) {
    found_count = 0;
    doctor_judge(facts, keep, NULL);
}

static const finding *find(const char *name) {
    for (size_t i = 0; i < found_count; i++)
        if (strcmp(found[i].name, name) == 0)
            return &found[i];
    return NULL;
}

static void assert_found(const char *name, finding_grade grade, const char *words) {
    const finding *one = find(name);
    if (!one)
        fail_msg("nothing about %s", name);
    if (one->grade != grade || !strstr(one->text, words))
        fail_msg("%s is %d: %s", name, (int)one->grade, one->text);
}

/* ------------------------------------------------------------------------------ facts */

static lk_facts a_master(const char *url) {
    return (lk_facts){.server = url,
                      .kind = "redis",
                      .version = "7.0.15",
                      .mode = "standalone",
                      .supported = LK_YES,
                      .module = LK_NO,
                      .local = LK_NO,
                      .replica = LK_NO,
                      .eviction = "noeviction",
                      .aof = LK_YES,
                      .rdb = LK_YES,
                      .user = "default",
                      .clock_known = LK_YES,
                      .answered = LK_YES,
                      .error = "",
                      .uncovered = ""};
}

static lk_seed_facts a_sentinel(const char *url) {
    return (lk_seed_facts){.server = url,
                           .status = LK_OK,
                           .error = "",
                           .master = "10.0.0.1:6379",
                           .epoch = 7,
                           .flags = "master",
                           .others = 2,
                           .quorum = 2,
                           .down_after_ms = 5000,
                           .failover_timeout_ms = 60000,
                           .replicas = 2,
                           .promotable = 2,
                           .can_fail_over = LK_YES};
}

static lk_seed_facts sentinels[3];
static lk_facts master;

static void set_up_sentinels(void) {
    static const char *const urls[] = {"redis://a:26379", "redis://b:26379", "redis://c:26379"};
    for (size_t i = 0; i < 3; i++)
        sentinels[i] = a_sentinel(urls[i]);
    master = a_master("redis://10.0.0.1:6379");
    master.seeds = sentinels;
    master.seed_count = 3;
}

static lk_facts masters[3], cluster;
static lk_shard_facts shards[3];
static lk_seed_facts nodes[2];

static void set_up_cluster(void) {
    static const char *const urls[] = {"redis://10.0.0.1:7", "redis://10.0.0.2:7",
                                       "redis://10.0.0.3:7"};
    static const char *const slots[] = {"0-5460", "5461-10921", "10922-16383"};
    for (size_t i = 0; i < 3; i++) {
        masters[i] = a_master(urls[i]);
        masters[i].mode = "cluster";
        masters[i].replicas = 1;
        shards[i] = (lk_shard_facts){.master = &masters[i],
                                     .slots = slots[i],
                                     .replicas = 1,
                                     .state = "ok",
                                     .node_timeout_ms = 15000,
                                     .full_coverage = LK_NO,
                                     .pubsub_when_down = LK_YES};
    }
    nodes[0] = (lk_seed_facts){.server = urls[0], .error = "", .master = "", .flags = ""};
    nodes[1] = (lk_seed_facts){.server = urls[1], .error = "", .master = "", .flags = ""};
    cluster = a_master("redis+cluster://10.0.0.1:7,10.0.0.2:7");
    cluster.mode = "cluster";
    cluster.seeds = nodes;
    cluster.seed_count = 2;
    cluster.shards = shards;
    cluster.shard_count = 3;
}

/* ------------------------------------------------------------------------------ sentinels */

static void a_master_that_sentinels_think_is_down_is_found(void **state) {
    (void)state;
    set_up_sentinels();
    sentinels[1].flags = "s_down,master";
    judge(&master);
    assert_found("master", FINDING_NOTE, "redis://b:26379 says that the master");
    sentinels[2].flags = "s_down,o_down,master";
    judge(&master);
    assert_found("master", FINDING_WRONG, "redis://c:26379 says that the master");
}

static void a_sentinel_that_is_late_is_worth_a_note(void **state) {
    (void)state;
    set_up_sentinels();
    sentinels[0].epoch = 6;
    judge(&master);
    assert_found("master", FINDING_NOTE, "epoch 7; some have not heard");
}

static void sentinels_that_do_not_reach_each_other_are_found(void **state) {
    (void)state;
    set_up_sentinels();
    sentinels[0].can_fail_over = LK_NO;
    judge(&master);
    assert_found("sentinels", FINDING_FINE, "3 of 3");
    sentinels[1].can_fail_over = sentinels[2].can_fail_over = LK_NO;
    judge(&master);
    assert_found("sentinels", FINDING_WRONG, "too few of each other");
}

static void fewer_than_three_sentinels_are_worth_a_note(void **state) {
    (void)state;
    set_up_sentinels();
    master.seed_count = 2;
    sentinels[0].others = sentinels[1].others = 1;
    judge(&master);
    assert_found("sentinels", FINDING_NOTE, "they know 2 in all");
}

static void what_sentinels_do_not_tell_is_left_out(void **state) {
    (void)state;
    set_up_sentinels();
    for (size_t i = 0; i < 3; i++) {
        sentinels[i].quorum = sentinels[i].down_after_ms = sentinels[i].failover_timeout_ms = -1;
        sentinels[i].promotable = -1;
        sentinels[i].can_fail_over = LK_UNKNOWN;
    }
    judge(&master);
    assert_found("sentinels", FINDING_FINE, "3 of 3");
    assert_null(find("quorum"));
    assert_null(find("down-after"));
    assert_null(find("failover"));
    assert_null(find("priority"));
}

/* A URL of IPv6 and TLS keeps both. */
static void the_right_url_is_told(void **state) {
    (void)state;
    static const struct {
        const char *mode, *url, *advice;
    } cases[] = {
        {"cluster", "rediss://ann@[::1]:7000", "use rediss+cluster://[::1]:7000"},
        {"cluster", "valkey://h:7000/3", "use valkey+cluster://h:7000"},
        {"cluster", "unix:///run/redis.sock", "use redis+cluster://HOST:PORT"},
        {"sentinel", "redis://h:26379", "use redis+sentinel://h:26379/MASTER"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lk_facts facts = a_master(cases[i].url);
        facts.mode = cases[i].mode;
        judge(&facts);
        assert_found("mode", FINDING_WRONG, "it is a");
        if (strncmp(find("mode")->advice, cases[i].advice, strlen(cases[i].advice)) != 0)
            fail_msg("%s: %s", cases[i].url, find("mode")->advice);
        assert_null(find("role"));
    }
}

/* ------------------------------------------------------------------------------ clusters */

static void servers_without_sharded_messages_are_worth_a_note(void **state) {
    (void)state;
    set_up_cluster();
    judge(&cluster);
    assert_found("messages", FINDING_FINE, "");
    masters[1].version = "6.2.14";
    judge(&cluster);
    assert_found("messages", FINDING_NOTE, "redis://10.0.0.2:7 is version 6.2.14");
    masters[1].kind = "valkey"; /* whatever its number */
    judge(&cluster);
    assert_found("messages", FINDING_FINE, "");
}

static void replicas_that_are_down_are_worth_a_note(void **state) {
    (void)state;
    set_up_cluster();
    shards[0].replicas = 2;
    shards[0].replicas_down = 1;
    judge(&cluster);
    assert_found("replicas", FINDING_NOTE, "with the slots 0-5460: 1 of its 2 replicas are down");
    assert_null(strstr(find("replicas")->text, "nobody"));
    shards[0].replicas_down = 2;
    judge(&cluster);
    assert_found("replicas", FINDING_NOTE, "nobody can acquire its locks");
    set_up_cluster();
    masters[0].replicas = 0;
    judge(&cluster);
    assert_found("replicas", FINDING_NOTE, "none of its replicas is connected");
}

static void what_a_cluster_does_not_tell_is_no_fault(void **state) {
    (void)state;
    set_up_cluster();
    for (size_t i = 0; i < 3; i++) {
        shards[i].state = "";
        shards[i].node_timeout_ms = shards[i].open_slots = -1;
        shards[i].full_coverage = shards[i].pubsub_when_down = LK_UNKNOWN;
    }
    judge(&cluster);
    assert_found("state", FINDING_NOTE, "no master reports");
    assert_found("open-slots", FINDING_FINE, "no slot moves");
    assert_null(find("node-timeout"));
    assert_found("messages", FINDING_FINE, "");
}

static void a_cluster_without_any_slots_is_found(void **state) {
    (void)state;
    set_up_cluster();
    cluster.shard_count = 0;
    cluster.uncovered = "0-16383";
    judge(&cluster);
    assert_found("coverage", FINDING_WRONG, "no master has the slots 0-16383");
}

static void uncovered_slots_stop_their_own_locks_only(void **state) {
    (void)state;
    set_up_cluster();
    cluster.uncovered = "5 7";
    judge(&cluster);
    assert_found("coverage", FINDING_WRONG, "nobody can acquire the locks in these slots");
    shards[2].full_coverage = LK_YES;
    judge(&cluster);
    assert_found("coverage", FINDING_WRONG, "nobody can acquire any lock");
}

/* ------------------------------------------------------------------------------ replicas */

static void a_replica_without_all_data_is_worth_a_note(void **state) {
    (void)state;
    lk_facts facts = a_master("redis://h:6379");
    lk_replica_facts replicas[] = {
        {.address = "10.0.0.2:6379", .state = "online", .lag_bytes = 2 * 1024 * 1024, .lag_s = 0},
        {.address = "10.0.0.3:6379", .state = "wait_bgsave", .lag_bytes = -1, .lag_s = -1}};
    facts.replicas = 2;
    facts.replica_list = replicas;
    facts.replica_list_count = 2;
    judge(&facts);
    assert_found("lag", FINDING_NOTE, "10.0.0.3:6379 does not have all data yet");
    facts.replica_list_count = 1;
    judge(&facts);
    assert_found("lag", FINDING_NOTE, "10.0.0.2:6379 is 2097152 bytes and 0 s behind");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_master_that_sentinels_think_is_down_is_found),
        cmocka_unit_test(a_sentinel_that_is_late_is_worth_a_note),
        cmocka_unit_test(sentinels_that_do_not_reach_each_other_are_found),
        cmocka_unit_test(fewer_than_three_sentinels_are_worth_a_note),
        cmocka_unit_test(what_sentinels_do_not_tell_is_left_out),
        cmocka_unit_test(the_right_url_is_told),
        cmocka_unit_test(servers_without_sharded_messages_are_worth_a_note),
        cmocka_unit_test(replicas_that_are_down_are_worth_a_note),
        cmocka_unit_test(what_a_cluster_does_not_tell_is_no_fault),
        cmocka_unit_test(a_cluster_without_any_slots_is_found),
        cmocka_unit_test(uncovered_slots_stop_their_own_locks_only),
        cmocka_unit_test(a_replica_without_all_data_is_worth_a_note),
    };
    return cmocka_run_group_tests_name("doctor: judgements", tests, NULL, NULL);
}
