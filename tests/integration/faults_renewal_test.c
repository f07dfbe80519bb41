/* Renewals that the server refuses: of one lock, of all, and on a node of a cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster_node.h"
#include "faults_world.h"

enum { LEASE_MS = 1500 };

/* ------------------------------------------------------------------------------ what is logged */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[16 * 1024];

static void keep_line(lk_log_level level, const char *line, void *arg) {
    (void)level, (void)arg;
    pthread_mutex_lock(&log_lock);
    size_t length = strlen(logged);
    snprintf(logged + length, sizeof logged - length, "%s\n", line);
    pthread_mutex_unlock(&log_lock);
}

static bool is_logged(const char *words) {
    pthread_mutex_lock(&log_lock);
    bool found = strstr(logged, words);
    pthread_mutex_unlock(&log_lock);
    return found;
}

static int setup(void **state) {
    logged[0] = 0;
    return empty_server(state);
}

/* user: "name:password@", or "". */
static lk_client *open_as(const char *user, const test_server *of) {
    lk_client *client = NULL;
    char *url = test_print("unix://%s%s", user, test_server_socket(of));
    lk_client_options options = {.command_timeout_ms = PATIENT_MS, .log = keep_line};
    assert_status(lk_open(url, &options, &client), LK_OK);
    free(url);
    return client;
}

/* ------------------------------------------------------------------------------ one of several */

/* The user loses its right to one of the keys: the server refuses whole commands with that key. */
static void a_lock_that_is_refused_does_not_take_the_others_with_it(void **state) {
    (void)state;
    enum { LOCKS = 4 };
    static const char *const names[LOCKS] = {"a", "b", "c", "refused"};
    atomic_int losses[LOCKS] = {0};
    lk_lock *locks[LOCKS];
    ask(eye, "ACL SETUSER limited on >secret +@all &* ~lk:{a}* ~lk:{b}* ~lk:{c}* ~lk:{refused}*");
    lk_client *client = open_as("limited:secret@", server);
    for (size_t i = 0; i < LOCKS; i++) {
        locks[i] = new_watched_lock(client, names[i], LEASE_MS, &losses[i]);
        assert_status(lk_wrlock(locks[i]), LK_OK);
    }
    ask(eye, "ACL SETUSER limited resetkeys ~lk:{a}* ~lk:{b}* ~lk:{c}*");
    eventually(atomic_load(&losses[LOCKS - 1]) == 1);
    assert_true(is_logged("each is sent alone"));
    assert_true(is_logged("refused"));
    nap_ms(2 * LEASE_MS); /* the others outlive their leases */
    for (size_t i = 0; i < LOCKS - 1; i++) {
        assert_int_equal(atomic_load(&losses[i]), 0);
        assert_true(lk_valid(locks[i]));
        assert_status(lk_wrunlock(locks[i]), LK_OK);
    }
    for (size_t i = 0; i < LOCKS; i++)
        lk_lock_free(locks[i]);
    lk_close(client);
}

/* A server that refuses all is asked for all at once: it may have thousands of holders. */
static void a_server_that_cannot_serve_is_not_asked_lock_by_lock(void **state) {
    (void)state;
    lk_client *client = open_as("", server);
    lk_lock *a = new_lock(client, "a", LEASE_MS), *b = new_lock(client, "b", LEASE_MS);
    assert_status(lk_wrlock(a), LK_OK);
    assert_status(lk_wrlock(b), LK_OK);
    ask(eye, "REPLICAOF 127.0.0.1 1");
    eventually(is_logged("refused a renewal of 2: READONLY"));
    assert_false(is_logged("each is sent alone"));
    ask(eye, "REPLICAOF NO ONE");
    lk_lock_free(a);
    lk_lock_free(b);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ clusters */

static void a_node_of_a_cluster_cannot_be_opened(void **state) {
    (void)state;
    test_server *node = test_cluster_node_start();
    assert_non_null(node);
    lk_client *client = NULL;
    char *url = test_print("unix://%s", test_server_socket(node));
    assert_status(lk_open(url, NULL, &client), LK_UNSUPPORTED);
    assert_said("node of a cluster");
    assert_null(client);
    free(url);
    test_server_stop(node);
}

static void a_sentinel_cannot_be_opened(void **state) {
    (void)state;
    fake_server *fake = fake_server_start(NULL);
    fake_server_on(fake, "INFO server", FAKE_FOREVER,
                   "$53\r\n# Server\r\nredis_version:7.0.15\r\nredis_mode:sentinel\r\n\r\n");
    lk_client *client = NULL;
    char *url = test_print("unix://%s", fake_server_socket(fake));
    assert_status(lk_open(url, NULL, &client), LK_UNSUPPORTED);
    assert_said("sentinel");
    assert_null(client);
    free(url);
    fake_server_stop(fake);
}

/* A user without INFO does not learn that it is one: then locks of two slots are renewed singly. */
static void locks_of_two_slots_are_kept_where_the_server_does_not_tell_what_it_is(void **state) {
    (void)state;
    test_server *node = test_cluster_node_start();
    assert_non_null(node);
    redisContext *inside = look_into(node);
    ask(inside, "ACL SETUSER blind on >secret ~* &* +@all -info");
    lk_client *client = open_as("blind:secret@", node);
    lk_lock *a = new_lock(client, "a", LEASE_MS), *b = new_lock(client, "b", LEASE_MS);
    assert_status(lk_wrlock(a), LK_OK);
    assert_status(lk_wrlock(b), LK_OK);
    eventually(is_logged("CROSSSLOT"));
    nap_ms(2 * LEASE_MS);
    assert_true(lk_valid(a) && lk_valid(b));
    assert_status(lk_wrunlock(a), LK_OK);
    assert_status(lk_wrunlock(b), LK_OK);
    lk_lock_free(a);
    lk_lock_free(b);
    lk_close(client);
    redisFree(inside);
    test_server_stop(node);
}

#define TEST(function) cmocka_unit_test_setup(function, setup)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_lock_that_is_refused_does_not_take_the_others_with_it),
        TEST(a_server_that_cannot_serve_is_not_asked_lock_by_lock),
        TEST(a_node_of_a_cluster_cannot_be_opened),
        TEST(a_sentinel_cannot_be_opened),
        TEST(locks_of_two_slots_are_kept_where_the_server_does_not_tell_what_it_is),
    };
    return cmocka_run_group_tests_name("faults: renewals", tests, begin_world, end_world);
}
