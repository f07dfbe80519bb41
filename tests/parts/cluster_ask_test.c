/*
 * What a client makes of nodes of a cluster that talk nonsense, know only an earlier state, or are
 * silent. The nodes are fakes: real ones agree too soon.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "seeds_world.h"
#include "topology/cluster_ask.h"

enum { NODES = FAKES, REACH_MS = 10000 };

#define INFO "$13\r\ncluster_stat:\r\n"     /* without any field that a client reads */
#define MASTER "*2\r\n$1\r\nh\r\n:7000\r\n" /* host and port */

static lki_error error;

/* ------------------------------------------------------------------------------ one node */

static lki_cluster_view view;
static int64_t patience_ms;

static lk_status ask(void) {
    char port[16], host[] = "127.0.0.1", shown[] = "redis://node";
    snprintf(port, sizeof port, "%u", fakes[0].port);
    lki_endpoint node = {.host = host, .port = port, .shown = shown};
    lki_reach reach = {.deadline_us = lki_after_ms(lki_now_us(), patience_ms), .stop_fd = -1};
    _Atomic int fd = -1;
    lki_cluster_view_clear(&view);
    return lki_cluster_ask(&node, &reach, &fd, &view, &error);
}

/* The node answers CLUSTER INFO and CLUSTER SLOTS with these. */
static lk_status ask_for(const char *info, const char *slots) {
    char answer[TEXT_MOST];
    snprintf(answer, sizeof answer, "%s%s", info, slots);
    fake_says(0, answer);
    return ask();
}

static void assert_refused(lk_status wanted, const char *slots, const char *words) {
    assert_int_equal(ask_for(INFO, slots), wanted);
    if (!strstr(error.text, words))
        fail_msg("%s", error.text);
    assert_null(view.ranges);
}

static int begin_one(void **state) {
    (void)state;
    patience_ms = REACH_MS;
    fakes_start();
    return 0;
}

static int end_one(void **state) {
    (void)state;
    lki_cluster_view_clear(&view);
    fakes_stop();
    return 0;
}

static void assert_range(size_t which, unsigned first, unsigned last, const char *host,
                         const char *port) {
    assert_true(which < view.count);
    assert_int_equal(view.ranges[which].first, first);
    assert_int_equal(view.ranges[which].last, last);
    assert_string_equal(view.ranges[which].host, host);
    assert_string_equal(view.ranges[which].port, port);
}

/* Newer versions add ids and further facts to a node, and nodes to a range. */
static void ranges_of_all_versions_are_read(void **state) {
    (void)state;
    assert_int_equal(
        ask_for("$52\r\ncluster_state:ok\r\ncluster_current_epoch:7\r\nother:1\r\n\r\n",
                "*2\r\n"
                "*3\r\n:0\r\n:5460\r\n" MASTER "*4\r\n:5461\r\n:16383\r\n"
                "*4\r\n$3\r\n::1\r\n:7001\r\n$2\r\nid\r\n*0\r\n"
                "*2\r\n$1\r\nr\r\n:7002\r\n"),
        LK_OK);
    assert_int_equal(view.count, 2);
    assert_range(0, 0, 5460, "h", "7000");
    assert_range(1, 5461, 16383, "::1", "7001");
    assert_int_equal(view.epoch, 7);
    assert_true(view.is_ok);
}

static void a_host_that_is_missing_is_the_one_that_was_asked(void **state) {
    (void)state;
    static const char *const hosts[] = {"$-1\r\n", "$0\r\n\r\n", "$1\r\n?\r\n", ":5\r\n"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char slots[TEXT_MOST / 2];
        snprintf(slots, sizeof slots, "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n%s:7000\r\n", hosts[i]);
        assert_int_equal(ask_for(INFO, slots), LK_OK);
        assert_range(0, 0, 1, "127.0.0.1", "7000");
    }
}

/* A user without the right to ask for INFO finds the nodes all the same. */
static void without_info_a_view_counts(void **state) {
    (void)state;
    static const char slots[] = "*1\r\n*3\r\n:0\r\n:1\r\n" MASTER;
    static const char *const infos[] = {INFO, "-NOPERM no\r\n", ":7\r\n", "*0\r\n"};
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        assert_int_equal(ask_for(infos[i], slots), LK_OK);
        assert_int_equal(view.epoch, 0);
        assert_true(view.is_ok);
    }
    assert_int_equal(ask_for("$18\r\ncluster_state:fail\r\n", slots), LK_OK);
    assert_false(view.is_ok);
}

static void nonsense_is_not_believed(void **state) {
    (void)state;
    static const char *const replies[] = {"+OK\r\n",
                                          ":5\r\n",
                                          "$-1\r\n",
                                          "*1\r\n:5\r\n",
                                          "*1\r\n*0\r\n",
                                          "*1\r\n*2\r\n:0\r\n:1\r\n",
                                          "*1\r\n*3\r\n:-1\r\n:1\r\n" MASTER,
                                          "*1\r\n*3\r\n:0\r\n:16384\r\n" MASTER,
                                          "*1\r\n*3\r\n$1\r\n0\r\n:1\r\n" MASTER,
                                          "*1\r\n*3\r\n:0\r\n:1\r\n+h\r\n",
                                          "*1\r\n*3\r\n:0\r\n:1\r\n*1\r\n$1\r\nh\r\n",
                                          "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:65536\r\n",
                                          "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n$1\r\n1\r\n",
                                          "*2\r\n*3\r\n:0\r\n:1\r\n" MASTER ":5\r\n"};
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++)
        assert_refused(LK_INTERNAL, replies[i], "CLUSTER SLOTS");
    patience_ms = 200; /* the rest of these never comes */
    assert_refused(LK_UNAVAILABLE, "", "");
    assert_refused(LK_UNAVAILABLE, "*1\r\n*3\r\n:0\r\n", "");
}

static void refusals_say_what_to_do(void **state) {
    (void)state;
    assert_refused(LK_UNAVAILABLE, "*0\r\n", "no slots yet");
    assert_refused(LK_UNSUPPORTED, "-ERR This instance has cluster support disabled\r\n",
                   "use redis://");
    assert_refused(LK_UNSUPPORTED, "-ERR unknown command 'CLUSTER', with args\r\n",
                   "use redis+sentinel://");
    assert_refused(LK_DENIED, "-NOAUTH Authentication required.\r\n", "NOAUTH");
    assert_refused(LK_DENIED, "-NOPERM this user has no permissions\r\n", "NOPERM");
    assert_refused(LK_UNAVAILABLE, "-LOADING the dataset\r\n", "LOADING");
}

static size_t allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    lk_status status = LK_NOMEM;
    assert_int_equal(ask_for(INFO, "*1\r\n*3\r\n:0\r\n:1\r\n" MASTER), LK_OK);
    for (refused_one = 1; status != LK_OK; refused_one++) {
        allocations = 0;
        lki_memory_refuse(refuses);
        status = ask();
        lki_memory_refuse(NULL);
        assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
        assert_int_equal(view.count, status == LK_OK);
    }
    assert_true(refused_one > 4);
}

/* ------------------------------------------------------------------------------ all nodes */

static lki_topology *topology;

static int begin_all(void **state) {
    (void)state;
    char url[TEXT_MOST];
    fakes_start();
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u",
             fakes[0].port, fakes[1].port, fakes[2].port);
    return lki_topology_open(url, NULL, NULL, &topology, &error) == LK_OK ? 0 : -1;
}

static int end_all(void **state) {
    (void)state;
    topology->methods->close(topology);
    fakes_stop();
    return 0;
}

/* Node `which` says that `owner` has all slots. */
static void fake_names(size_t which, size_t owner, unsigned epoch, const char *cluster_state) {
    char answer[TEXT_MOST], info[TEXT_MOST / 2];
    snprintf(info, sizeof info, "cluster_state:%s\r\ncluster_current_epoch:%u\r\n", cluster_state,
             epoch);
    snprintf(answer, sizeof answer,
             "$%zu\r\n%s\r\n*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%u\r\n",
             strlen(info), info, fakes[owner].port);
    fake_says(which, answer);
}

static lk_status discover(void) {
    lki_reach reach = {.deadline_us = lki_after_ms(lki_now_us(), REACH_MS), .stop_fd = -1};
    return topology->methods->discover(topology, &reach, &error);
}

static void assert_owner(size_t wanted) {
    lki_reach reach = {.deadline_us = lki_after_ms(lki_now_us(), REACH_MS), .stop_fd = -1};
    size_t server = topology->methods->server_of(topology, 5);
    lki_endpoint found = {0};
    char port[16];
    assert_int_equal(topology->methods->locate(topology, server, &reach, &found, &error), LK_OK);
    snprintf(port, sizeof port, "%u", fakes[wanted].port);
    assert_string_equal(found.port, port);
    assert_true(topology->methods->has_slots(topology, server));
    lki_endpoint_clear(&found);
}

static void all_name(size_t owner, unsigned epoch) {
    for (size_t i = 0; i < NODES; i++)
        fake_names(i, owner, epoch, "ok");
}

static void one_node_that_answers_is_enough(void **state) {
    (void)state;
    fake_says(0, "+OK\r\n+OK\r\n");
    fake_names(2, 2, 1, "ok");
    assert_int_equal(discover(), LK_OK);
    assert_owner(2);
}

static void of_several_reasons_the_one_that_a_user_can_mend_is_told(void **state) {
    (void)state;
    fake_says(1, "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n");
    fake_says(2, "+OK\r\n+OK\r\n");
    assert_int_equal(discover(), LK_DENIED);
    assert_non_null(strstr(error.text, "NOAUTH"));
}

static void a_node_that_was_cut_off_does_not_lead_back(void **state) {
    (void)state;
    all_name(1, 8);
    assert_int_equal(discover(), LK_OK);
    assert_owner(1);
    fake_names(0, 0, 7, "ok");
    fake_says(1, "");
    fake_says(2, "");
    assert_int_equal(discover(), LK_OK);
    assert_owner(1);
    fake_names(2, 2, 9, "ok");
    assert_int_equal(discover(), LK_OK);
    assert_owner(2);
}

static void a_node_that_says_that_the_cluster_fails_counts_only_if_no_other_does(void **state) {
    (void)state;
    all_name(1, 8);
    fake_names(0, 0, 8, "fail");
    assert_int_equal(discover(), LK_OK);
    assert_owner(1);
    for (size_t i = 0; i < NODES; i++)
        fake_names(i, 2, 8, "fail");
    assert_int_equal(discover(), LK_OK);
    assert_owner(2);
}

static void nodes_that_were_set_up_again_are_believed_together(void **state) {
    (void)state;
    all_name(1, 8);
    assert_int_equal(discover(), LK_OK);
    all_name(2, 1);
    assert_int_equal(discover(), LK_OK);
    assert_owner(2);
}

static void the_node_that_answered_last_is_asked_first(void **state) {
    (void)state;
    fake_names(1, 1, 1, "ok");
    assert_int_equal(discover(), LK_OK);
    unsigned before = atomic_load(&fakes[0].questions);
    fake_names(0, 0, 1, "ok");
    assert_int_equal(discover(), LK_OK);
    assert_int_equal(atomic_load(&fakes[0].questions), before);
    assert_owner(1);
}

#define OF_ONE(name) cmocka_unit_test_setup_teardown(name, begin_one, end_one)
#define OF_ALL(name) cmocka_unit_test_setup_teardown(name, begin_all, end_all)

int main(void) {
    const struct CMUnitTest tests[] = {
        OF_ONE(ranges_of_all_versions_are_read),
        OF_ONE(a_host_that_is_missing_is_the_one_that_was_asked),
        OF_ONE(without_info_a_view_counts),
        OF_ONE(nonsense_is_not_believed),
        OF_ONE(refusals_say_what_to_do),
        OF_ONE(each_allocation_may_fail),
        OF_ALL(one_node_that_answers_is_enough),
        OF_ALL(of_several_reasons_the_one_that_a_user_can_mend_is_told),
        OF_ALL(a_node_that_was_cut_off_does_not_lead_back),
        OF_ALL(a_node_that_says_that_the_cluster_fails_counts_only_if_no_other_does),
        OF_ALL(nodes_that_were_set_up_again_are_believed_together),
        OF_ALL(the_node_that_answered_last_is_asked_first),
    };
    return cmocka_run_group_tests_name("asking a cluster", tests, NULL, NULL);
}
