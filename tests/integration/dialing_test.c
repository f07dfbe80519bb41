/*
 * Connections that are being made while another server takes the place of the one that they lead
 * to. A stopped server accepts connections and does not answer, so a dial hangs in its greeting.
 */
#include "cluster.h"
#include "site.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum {
    HANGING_MS = 600000,     /* a connect_timeout_ms that no test waits for */
    SILENT_MS = 3000,        /* a command_timeout_ms that tests do wait for */
    NO_FAILOVER_MS = 600000, /* sentinels replace the master when the test says so */
    FIRST_SILENT_SENTINEL = 2
};

/* ------------------------------------------------------------------------------ sockets */

static unsigned port_of(int fd, int (*get)(int, struct sockaddr *, socklen_t *)) {
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    bool is_known = get(fd, (struct sockaddr *)&address, &length) == 0;
    return is_known && address.sin_family == AF_INET ? ntohs(address.sin_port) : 0;
}

/* The local ports of the connections of this process to a node. */
typedef struct {
    size_t count;
    unsigned ports[16];
} connections;

static connections connections_to(const test_node *node) {
    connections found = {0};
    for (int fd = 0; fd < 1024 && found.count < 16; fd++)
        if (port_of(fd, getpeername) == (unsigned)test_node_port(node))
            found.ports[found.count++] = port_of(fd, getsockname);
    return found;
}

static bool has(const connections *all, unsigned port) {
    for (size_t i = 0; i < all->count; i++)
        if (all->ports[i] == port)
            return true;
    return false;
}

static bool has_other_connection(const test_node *node, const connections *before) {
    connections now = connections_to(node);
    for (size_t i = 0; i < now.count; i++)
        if (!has(before, now.ports[i]))
            return true;
    return false;
}

static bool is_connected_to(const test_node *node) {
    return connections_to(node).count;
}

/* Stops the server, until the client has given up its connection and hangs in a new one. */
static void hang(lk_lock *lock, test_node *node) {
    connections before = connections_to(node);
    test_node_pause(node);
    assert_status(lk_trywrlock(lock), LK_UNAVAILABLE);
    eventually(has_other_connection(node, &before));
}

/* Calls fail soon, and dials do not. */
static lk_client *open_hanging(const char *url) {
    return open_client_url(
        url, &(lk_client_options){.command_timeout_ms = SILENT_MS, .connect_timeout_ms = HANGING_MS});
}

static void take_and_release(lk_lock *lock) {
    eventually(lk_trywrlock(lock) == LK_OK);
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ sentinels */

static void site_that_waits(void) {
    start_site(&(test_sentinels_options){.down_after_ms = NO_FAILOVER_MS});
}

TEST_WITH(site_that_waits, a_dial_that_hangs_in_a_replaced_master_is_given_up) {
    lk_lock *lock = new_lock(open_hanging(test_sentinels_url(site)), "a");
    take_and_release(lock);
    int former = master();
    hang(lock, server_at(former));
    assert_true(test_sentinels_fail_over(site, 0, FAILOVER_MS));
    other_master(former);
    eventually(lk_trywrlock(lock) == LK_OK);
    eventually(!is_connected_to(server_at(former)));
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(site_that_waits, a_replaced_master_that_goes_on_is_not_used) {
    lk_client *client = open_hanging(test_sentinels_url(site)), *other = open_at_site();
    lk_lock *lock = new_lock(client, "a"), *held = new_leased_lock(other, "a", LEASE_MS);
    take_and_release(lock);
    int former = master();
    hang(lock, server_at(former));
    assert_true(test_sentinels_fail_over(site, 0, FAILOVER_MS));
    assert_ok(lk_wrlock(held));
    eventually(lk_trywrlock(lock) == LK_BUSY); /* it has heard of the new master */
    test_node_continue(server_at(former));     /* and says that it is a master, for a while */
    while (test_node_is_master(server_at(former)))
        assert_int_not_equal(lk_trywrlock(lock), LK_OK);
    assert_true(lk_valid(held));
    assert_ok(lk_wrunlock(held));
}

/* ------------------------------------------------------------------------------ time */

/* The moment when a replica says that it is the master. */
static int64_t await_promotion(int former) {
    for (int64_t end_ms = now_ms() + FAILOVER_MS; now_ms() < end_ms; sleep_ms(POLL_MS))
        for (size_t i = 0; i < test_sentinels_server_count(site); i++)
            if ((int)i != former && test_node_is_master(server_at((int)i)))
                return now_ms();
    fail_msg("no replica becomes the master");
    return 0;
}

/* The sentinels from `first_silent` on are stopped together with the master. */
static void measure(const char *what, size_t first_silent) {
    lk_client *client = open_at_site(), *other = open_at_site();
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    replicate();
    int former = master();
    for (size_t i = first_silent; i < test_sentinels_count(site); i++)
        test_node_pause(test_sentinels_sentinel(site, i));
    test_node_pause(server_at(former));
    int64_t serves_ms = await_promotion(former);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    printf("%s: granted %" PRId64 " ms after the new master serves\n", what, now_ms() - serves_ms);
    assert_ok(lk_wrunlock(waiter));
}

TEST_WITH(plain_site, a_waiter_is_granted_soon_after_the_failover) {
    measure("all sentinels answer", test_sentinels_count(site));
}

TEST_WITH(plain_site, a_waiter_is_granted_soon_although_a_sentinel_failed_with_the_master) {
    measure("one sentinel is silent", FIRST_SILENT_SENTINEL);
}

/* ------------------------------------------------------------------------------ lies */

/* The first sentinel names this server as the master "other". */
static void name_other(int index) {
    const test_node *sentinel = test_sentinels_sentinel(site, 0);
    freeReplyObject(test_node_ask(sentinel, "SENTINEL REMOVE other"));
    assert_true(test_node_tell(sentinel, "SENTINEL MONITOR other 127.0.0.1 %d 2",
                               test_node_port(server_at(index))));
}

static char *url_of_other(void) {
    return world_print("redis+sentinel://127.0.0.1:%d/other",
                       test_node_port(test_sentinels_sentinel(site, 0)));
}

TEST_WITH(site_that_waits, a_replica_that_a_sentinel_calls_the_master_is_refused) {
    lk_client *client = NULL;
    name_other(master() == 1 ? 2 : 1);
    assert_status(lk_open(url_of_other(), NULL, &client), LK_UNAVAILABLE);
    assert_said("READONLY");
    assert_said("it is not the master any more, or not yet");
}

TEST_WITH(site_that_waits, a_sentinel_that_lies_is_asked_again) {
    int right = master(), wrong = right == 1 ? 2 : 1;
    name_other(right);
    lk_lock *lock = new_lock(open_hanging(url_of_other()), "a");
    take_and_release(lock);
    name_other(wrong);
    eventually(!is_connected_to(server_at(right)));
    eventually(lk_trywrlock(lock) == LK_UNAVAILABLE && strstr(lk_last_error(), "READONLY"));
    assert_said("it is not the master any more, or not yet");
    name_other(right);
    eventually(lk_trywrlock(lock) == LK_OK);
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ a cluster */

static test_cluster *cluster;

static void stop_cluster(void) {
    test_cluster_stop(cluster);
    cluster = NULL;
}

static void plain_cluster(void) {
    cluster = test_cluster_start(&(test_cluster_options){.node_timeout_ms = 3000});
    assert_non_null(cluster);
    run_after_closing(stop_cluster);
}

TEST_WITH(plain_cluster, a_dial_to_a_node_without_slots_is_given_up) {
    lk_lock *lock = new_lock(open_hanging(test_cluster_url(cluster)), "a");
    int slot = test_key_slot("lk:{a}", strlen("lk:{a}"));
    int former = test_cluster_owner(cluster, slot);
    test_node *node = test_cluster_node(cluster, (size_t)former);
    take_and_release(lock);
    hang(lock, node);
    assert_true(test_cluster_wait_for_other_owner(cluster, slot, former, FAILOVER_MS) >= 0);
    eventually(lk_trywrlock(lock) == LK_OK);
    eventually(!is_connected_to(node));
    test_node_continue(node);
    assert_true(test_cluster_wait_until_settled(cluster, FAILOVER_MS));
    eventually(!is_connected_to(node));
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ one server */

static char *place; /* a path that leads to one server, and then to another */

static void remove_place(void) {
    unlink(place);
}

static void lead_to(const test_server *to) {
    char *next = world_print("%s.next", place);
    assert_int_equal(symlink(test_server_socket(to), next), 0);
    assert_int_equal(rename(next, place), 0);
}

/* The connection for messages is made later, and finds another server. */
TEST(both_connections_lead_to_one_server) {
    test_server *second = start_server(NULL);
    place = world_print("%s.place", test_server_socket(server));
    run_after_closing(remove_place);
    lead_to(server);
    lk_client *client = open_client_url(world_print("unix://%s", place),
                                        &(lk_client_options){.command_timeout_ms = LONG_MS});
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(client, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    lead_to(second);
    begin_lock(&waiting, waiter, LK_WRITE, -1);
    assert_call(&waiting, LK_OK); /* by the second server: the first has the holder */
    eventually(!lk_valid(holder));
    assert_int_equal(ask_at(connect_to(second), "EXISTS lk:{a}"), 1);
    assert_ok(lk_wrunlock(waiter));
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
