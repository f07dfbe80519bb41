/*
 * What a client makes of the answers of sentinels that disagree, lie, talk nonsense or are silent. The
 * sentinels are fakes: real ones agree too soon.
 */
#include "base/clock.h"
#include "seeds_world.h"
#include "topology/topology.h"

#include <sys/eventfd.h>

enum {
    SENTINELS = FAKES,
    REACH_MS = 10000,
    ASK_MS = 1000, /* how long the client waits for a sentinel at most */
    SLOW_MS = 200, /* longer than it waits for the last ones, if others have answered */
    ATTEMPTS = 20
};

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

/* On a busy machine the last sentinel may be too late once. */
static void assert_master(const char *wanted) {
    char host[TEXT_MOST];
    lk_status status = locate(host);
    for (int i = 1; i < ATTEMPTS && (status != LK_OK || strcmp(host, wanted) != 0); i++)
        status = locate(host);
    assert_int_equal(status, LK_OK);
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

/* ------------------------------------------------------------------------------ silence */

static int64_t now_ms(void) {
    return lki_now_us() / 1000;
}

/* On a busy machine an attempt may take long, but not all of them. */
static void one_that_is_silent_is_not_waited_for(void **state) {
    (void)state;
    int64_t took_ms = ASK_MS;
    all_name("10.0.0.1", 1);
    fake_says(1, SILENCE);
    for (int i = 0; i < ATTEMPTS && took_ms >= ASK_MS; i++) {
        int64_t began_ms = now_ms();
        assert_master("10.0.0.1");
        took_ms = now_ms() - began_ms;
    }
    assert_true(took_ms < ASK_MS);
}

/* ------------------------------------------------------------------------------ listening */

static atomic_uint moves;

static void count_move(void *context, size_t server, const char *run_id) {
    (void)context;
    (void)server;
    (void)run_id;
    atomic_fetch_add(&moves, 1);
}

static int stop_fd;

static int begin_to_listen(void **state) {
    if (begin(state) != 0)
        return -1;
    all_name("10.0.0.1", 1);
    assert_master("10.0.0.1");
    stop_fd = eventfd(0, EFD_CLOEXEC);
    atomic_store(&moves, 0);
    lki_watcher watcher = {.stop_fd = stop_fd, .moved = count_move};
    return topology->methods->watch(topology, &watcher, &error) == LK_OK ? 0 : -1;
}

static int end_listening(void **state) {
    eventfd_write(stop_fd, 1);
    topology->methods->unwatch(topology);
    close(stop_fd);
    return end(state);
}

/* Waits until the listener has told of so many moves, and makes it ask again and again. */
static void await_moves(unsigned count) {
    for (int64_t end_ms = now_ms() + REACH_MS; atomic_load(&moves) < count; usleep(1000)) {
        assert_true(now_ms() < end_ms);
        topology->methods->suspect(topology);
    }
}

/* A dialer does not wait for it, but the listener does. */
static void one_that_is_slow_and_knows_better_is_heard(void **state) {
    (void)state;
    pthread_mutex_lock(&fakes[2].mutex);
    fakes[2].delay_ms = SLOW_MS;
    pthread_mutex_unlock(&fakes[2].mutex);
    fake_names(2, "10.0.0.2", 2);
    await_moves(1);
    assert_master("10.0.0.2");
}

/*
 * The listener asks the sentinels of a suspected master at most once a second. So each attempt begins
 * with a pause, and the test measures one question alone.
 */
static void one_that_is_silent_does_not_delay_the_news(void **state) {
    (void)state;
    int64_t took_ms = ASK_MS;
    fake_says(1, SILENCE);
    for (unsigned i = 1; i <= ATTEMPTS / 2 && took_ms >= ASK_MS; i++) {
        usleep((ASK_MS + SLOW_MS) * 1000);
        int64_t began_ms = now_ms();
        fake_names(i % 2 ? 0 : 2, i % 2 ? "10.0.0.2" : "10.0.0.1", i + 1);
        await_moves(i);
        took_ms = now_ms() - began_ms;
    }
    assert_true(took_ms < ASK_MS);
}

/* A dialer found the new master: the listener tells of it all the same. */
static void a_master_that_a_dialer_found_is_told_too(void **state) {
    (void)state;
    all_name("10.0.0.2", 2);
    assert_master("10.0.0.2");
    await_moves(1);
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
        cmocka_unit_test_setup_teardown(one_that_is_silent_is_not_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(one_that_is_slow_and_knows_better_is_heard,
                                        begin_to_listen, end_listening),
        cmocka_unit_test_setup_teardown(one_that_is_silent_does_not_delay_the_news,
                                        begin_to_listen, end_listening),
        cmocka_unit_test_setup_teardown(a_master_that_a_dialer_found_is_told_too, begin_to_listen,
                                        end_listening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
