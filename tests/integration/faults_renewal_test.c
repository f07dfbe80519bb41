/* Renewals that the server refuses: of one lock, of all locks, and on a node of a cluster. */
#include "cluster_node.h"
#include "world.h"

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

static void empty_log(void) {
    logged[0] = 0;
}

/* user: "name:password@", or "". */
static lk_client *open_as(const char *user, const test_server *of) {
    lk_client_options options = {.command_timeout_ms = PATIENT_MS, .log = keep_line};
    return open_client_url(world_print("unix://%s%s", user, test_server_socket(of)), &options);
}

/* ------------------------------------------------------------------------------ one of several */

/* The user loses the right to one key. The server then refuses every command with that key. */
TEST_WITH(empty_log, a_lock_that_is_refused_does_not_take_the_others_with_it) {
    enum { LOCKS = 4 };
    static const char *const names[LOCKS] = {"a", "b", "c", "refused"};
    atomic_int losses[LOCKS] = {0};
    lk_lock *locks[LOCKS];
    ask("ACL SETUSER limited on >secret +@all &* ~lk:{a}* ~lk:{b}* ~lk:{c}* ~lk:{refused}*");
    lk_client *client = open_as("limited:secret@", server);
    for (size_t i = 0; i < LOCKS; i++) {
        locks[i] = new_watched_lock(client, names[i], LEASE_MS, &losses[i]);
        assert_ok(lk_wrlock(locks[i]));
    }
    ask("ACL SETUSER limited resetkeys ~lk:{a}* ~lk:{b}* ~lk:{c}*");
    eventually(atomic_load(&losses[LOCKS - 1]) == 1);
    assert_true(is_logged("each is sent alone"));
    assert_true(is_logged("refused"));
    sleep_ms(2 * LEASE_MS); /* the others outlive their leases */
    for (size_t i = 0; i < LOCKS - 1; i++) {
        assert_int_equal(atomic_load(&losses[i]), 0);
        assert_true(lk_valid(locks[i]));
        assert_ok(lk_wrunlock(locks[i]));
    }
}

/* The server refuses all. The client asks for all at once: there may be thousands of holders. */
TEST_WITH(empty_log, a_server_that_cannot_serve_is_not_asked_lock_by_lock) {
    lk_client *client = open_as("", server);
    lk_lock *a = new_leased_lock(client, "a", LEASE_MS),
            *b = new_leased_lock(client, "b", LEASE_MS);
    assert_ok(lk_wrlock(a));
    assert_ok(lk_wrlock(b));
    ask("REPLICAOF 127.0.0.1 1");
    eventually(is_logged("refused a renewal of 2: READONLY"));
    assert_false(is_logged("each is sent alone"));
    ask("REPLICAOF NO ONE");
}

/* ------------------------------------------------------------------------------ clusters */

TEST_WITH(empty_log, a_node_of_a_cluster_cannot_be_opened) {
    test_server *node = test_cluster_node_start();
    assert_non_null(node);
    lk_client *client = NULL;
    char *url = world_print("unix://%s", test_server_socket(node));
    assert_status(lk_open(url, NULL, &client), LK_UNSUPPORTED);
    assert_said("node of a cluster");
    assert_null(client);
}

TEST_WITH(empty_log, a_sentinel_cannot_be_opened) {
    fake_server *fake = start_lone_fake();
    fake_server_on(fake, "INFO server", FAKE_FOREVER,
                   "$53\r\n# Server\r\nredis_version:7.0.15\r\nredis_mode:sentinel\r\n\r\n");
    lk_client *client = NULL;
    char *url = world_print("unix://%s", fake_server_socket(fake));
    assert_status(lk_open(url, NULL, &client), LK_UNSUPPORTED);
    assert_said("sentinel");
    assert_null(client);
}

/* A user without INFO cannot know that this is a cluster. Locks of two slots are renewed singly. */
TEST_WITH(empty_log, locks_of_two_slots_are_kept_where_the_server_does_not_tell_what_it_is) {
    test_server *node = test_cluster_node_start();
    assert_non_null(node);
    redisContext *inside = connect_to(node);
    ask_at(inside, "ACL SETUSER blind on >secret ~* &* +@all -info");
    lk_client *client = open_as("blind:secret@", node);
    lk_lock *a = new_leased_lock(client, "a", LEASE_MS),
            *b = new_leased_lock(client, "b", LEASE_MS);
    assert_ok(lk_wrlock(a));
    assert_ok(lk_wrlock(b));
    eventually(is_logged("CROSSSLOT"));
    sleep_ms(2 * LEASE_MS);
    assert_true(lk_valid(a) && lk_valid(b));
    assert_ok(lk_wrunlock(a));
    assert_ok(lk_wrunlock(b));
}

int main(void) {
    return world_run(begin_world);
}
