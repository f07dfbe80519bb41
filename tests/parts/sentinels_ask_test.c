/*
 * What a client makes of the answers of sentinels that disagree, lie, talk nonsense or are silent. The
 * sentinels are fakes: real ones agree too soon.
 */
#include "base/clock.h"
#include "seeds_world.h"
#include "topology/topology.h"

enum { SENTINELS = FAKES, REACH_MS = 10000 };

/* ------------------------------------------------------------------------------ fakes */

/* The answer to SENTINEL MASTER, as far as the client reads it. */
static void fake_names(size_t which, const char *host, unsigned epoch) {
    char answer[TEXT_MOST], digits[16];
    snprintf(digits, sizeof digits, "%u", epoch);
    snprintf(answer, sizeof answer,
             "*6\r\n$2\r\nip\r\n$%zu\r\n%s\r\n$4\r\nport\r\n$4\r\n6379\r\n$12\r\nconfig-epoch\r\n"
             "$%zu\r\n%s\r\n",
             strlen(host), host, strlen(digits), digits);
    fake_says(which, answer);
}

/* It leads a failover: the replica at `host` is a master, and SENTINEL MASTER names the former. */
static void fake_fails_over(size_t which, const char *former, const char *host, unsigned epoch) {
    char answer[TEXT_MOST], fields[TEXT_MOST / 2];
    fake_names(which, former, epoch);
    snprintf(fields, sizeof fields, "%s", strstr(fakes[which].answer, "\r\n"));
    snprintf(answer, sizeof answer, "*8%s$5\r\nflags\r\n$27\r\nmaster,failover_in_progress\r\n",
             fields);
    fake_says(which, answer);
    pthread_mutex_lock(&fakes[which].mutex);
    snprintf(fakes[which].address, TEXT_MOST, "*2\r\n$%zu\r\n%s\r\n$4\r\n6379\r\n", strlen(host),
             host);
    pthread_mutex_unlock(&fakes[which].mutex);
}

static lki_topology *topology;

static int begin(void **state) {
    (void)state;
    char url[TEXT_MOST];
    lki_error error;
    fakes_start();
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u/m",
             fakes[0].port, fakes[1].port, fakes[2].port);
    return lki_topology_open(url, NULL, NULL, &topology, &error) == LK_OK ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    topology->methods->close(topology);
    fakes_stop();
    return 0;
}

/* ------------------------------------------------------------------------------ tests */

static lki_error error;

static lk_status locate(char host[TEXT_MOST]) {
    lki_reach reach = {.deadline_us = lki_after_ms(lki_now_us(), REACH_MS), .stop_fd = -1};
    lki_endpoint found = {0};
    lk_status status = topology->methods->locate(topology, 0, &reach, &found, &error);
    snprintf(host, TEXT_MOST, "%s", found.host ? found.host : "");
    lki_endpoint_clear(&found);
    return status;
}

static void assert_master(const char *wanted) {
    char host[TEXT_MOST];
    assert_int_equal(locate(host), LK_OK);
    assert_string_equal(host, wanted);
}

static void assert_refused(lk_status wanted, const char *words) {
    char host[TEXT_MOST];
    assert_int_equal(locate(host), wanted);
    if (!strstr(error.text, words))
        fail_msg("%s", error.text);
}

static void all_name(const char *host, unsigned epoch) {
    for (size_t i = 0; i < SENTINELS; i++)
        fake_names(i, host, epoch);
}

static void of_those_who_disagree_the_highest_epoch_counts(void **state) {
    (void)state;
    for (size_t newest = 0; newest < SENTINELS; newest++) {
        all_name("10.0.0.1", 7);
        fake_names(newest, "10.0.0.2", 8 + (unsigned)newest);
        assert_master("10.0.0.2");
    }
}

static void one_that_was_cut_off_does_not_lead_back(void **state) {
    (void)state;
    all_name("10.0.0.2", 8);
    assert_master("10.0.0.2");
    fake_names(0, "10.0.0.1", 7);
    fake_says(1, "");
    fake_says(2, "");
    assert_refused(LK_UNAVAILABLE, "only an earlier master");
    fake_names(1, "10.0.0.2", 8);
    assert_master("10.0.0.2");
}

static void sentinels_that_were_set_up_again_are_believed_together(void **state) {
    (void)state;
    all_name("10.0.0.2", 8);
    assert_master("10.0.0.2");
    all_name("10.0.0.3", 0);
    assert_master("10.0.0.3");
}

static void those_who_know_the_master_are_enough(void **state) {
    (void)state;
    fake_says(0, "-ERR No such master with that name\r\n");
    fake_says(1, "+OK\r\n");
    fake_names(2, "10.0.0.1", 1);
    assert_master("10.0.0.1");
}

/* Its answer to SENTINEL MASTER has the new epoch, and still the former address. */
static void the_leader_of_a_failover_names_the_new_master(void **state) {
    (void)state;
    all_name("10.0.0.1", 1);
    assert_master("10.0.0.1");
    fake_fails_over(1, "10.0.0.1", "10.0.0.2", 2);
    assert_master("10.0.0.2");
    fake_fails_over(1, "10.0.0.1", "10.0.0.1", 3); /* no replica is a master yet */
    assert_master("10.0.0.1");
}

static void reasons_that_a_user_can_mend_are_told_first(void **state) {
    (void)state;
    fake_says(0, "");
    fake_says(1, "-ERR No such master with that name\r\n");
    fake_says(2, "*1\r\n$2\r\nip\r\n");
    assert_refused(LK_INVALID, "does not know a master called \"m\"");
    fake_says(1, "-NOAUTH Authentication required.\r\n");
    assert_refused(LK_DENIED, "LATCHKEY_SENTINEL_PASSWORD");
    fake_says(1, "");
    assert_refused(LK_UNSUPPORTED, "not the answer of a sentinel");
    fake_says(2, "-ERR unknown command 'SENTINEL'\r\n");
    assert_refused(LK_UNSUPPORTED, "is not a sentinel");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_those_who_disagree_the_highest_epoch_counts, begin, end),
        cmocka_unit_test_setup_teardown(one_that_was_cut_off_does_not_lead_back, begin, end),
        cmocka_unit_test_setup_teardown(sentinels_that_were_set_up_again_are_believed_together,
                                        begin, end),
        cmocka_unit_test_setup_teardown(those_who_know_the_master_are_enough, begin, end),
        cmocka_unit_test_setup_teardown(the_leader_of_a_failover_names_the_new_master, begin, end),
        cmocka_unit_test_setup_teardown(reasons_that_a_user_can_mend_are_told_first, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
