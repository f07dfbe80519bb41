/*
 * A cluster of three masters and three replicas: where locks live, what holders, waiters and callers
 * see when a master fails, and what they see while slots move.
 */
#include "cluster.h"
#include "world.h"

enum { FAILOVER_MS = 60000, LEASE_MS = 60000, NODES = 3 };

/* ------------------------------------------------------------------------------ the cluster */

static test_cluster *cluster;

static void stop_cluster(void) {
    test_cluster_stop(cluster);
    cluster = NULL;
}

static void start_cluster(const test_cluster_options *options) {
    cluster = test_cluster_start(options);
    assert_non_null(cluster);
    run_after_closing(stop_cluster);
}

/* A busy machine must not look like a master that is down. */
static void with_replicas(void) {
    start_cluster(&(test_cluster_options){.node_timeout_ms = 3000});
}

/* No failover happens here. */
static void masters_alone(void) {
    start_cluster(
        &(test_cluster_options){.masters = NODES, .replicas = 0, .node_timeout_ms = 60000});
}

static lk_client *open_at_cluster(void) {
    return open_client_url(test_cluster_url(cluster),
                           &(lk_client_options){.command_timeout_ms = FAILOVER_MS});
}

static test_node *node_at(int index) {
    return test_cluster_node(cluster, (size_t)index);
}

static char *key_of(const char *name) {
    return world_print("lk:{%s}", name);
}

static int slot_of(const char *name) {
    char *key = key_of(name);
    return test_key_slot(key, strlen(key));
}

static int owner_of(const char *name) {
    int owner = test_cluster_owner(cluster, slot_of(name));
    assert_true(owner >= 0);
    return owner;
}

/* A name whose lock lives on this node: "n0", "n1" and so on. */
static char *name_on(int node) {
    for (int i = 0; i < 10000; i++) {
        char *name = world_print("n%d", i);
        if (owner_of(name) == node)
            return name;
    }
    fail_msg("no name on node %d", node);
    return NULL;
}

static long long key_count_at(int node) {
    redisReply *reply = test_node_ask(node_at(node), "DBSIZE");
    long long count = reply ? reply->integer : -1;
    freeReplyObject(reply);
    return count;
}

static int other_owner(const char *name, int former) {
    int found = test_cluster_wait_for_other_owner(cluster, slot_of(name), former, FAILOVER_MS);
    assert_true(found >= 0);
    return found;
}

/* Until the replica of the owner has what the owner has. */
static void replicate(const char *name) {
    redisContext *context = test_node_connect(node_at(owner_of(name)));
    char *key = world_print("replicated:{%s}", name);
    freeReplyObject(redisCommand(context, "SET %s yes", key));
    freeReplyObject(redisCommand(context, "DEL %s", key));
    redisReply *reply = redisCommand(context, "WAIT 1 %d", FAILOVER_MS);
    assert_non_null(reply);
    assert_int_equal(reply->integer, 1);
    freeReplyObject(reply);
    redisFree(context);
}

static void take_and_release(lk_client *client, const char *name) {
    lk_lock *lock = new_lock(client, name);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ where locks are */

TEST_WITH(masters_alone, a_lock_lives_on_the_node_that_has_its_slot) {
    lk_client *client = open_at_cluster();
    for (int node = 0; node < NODES; node++) {
        lk_lock *lock = new_lock(client, name_on(node));
        assert_ok(lk_wrlock(lock));
        assert_int_equal(key_count_at(node), 1);
        assert_ok(lk_wrunlock(lock));
        assert_int_equal(key_count_at(node), 0);
    }
}

TEST_WITH(masters_alone, names_with_braces_have_slots_too) {
    static const char *const names[] = {"a}b", "}", "%", "{}", "a{b}c", "{x", "x}}"};
    lk_client *client = open_at_cluster();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        take_and_release(client, names[i]);
}

TEST_WITH(masters_alone, waiters_are_granted_on_every_node) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    for (int node = 0; node < NODES; node++) {
        const char *name = name_on(node);
        lk_lock *holder = new_lock(client, name), *waiter = new_lock(other, name);
        call waiting;
        assert_ok(lk_wrlock(holder));
        begin_wait(&waiting, waiter, LK_WRITE, other, name, 1);
        assert_ok(lk_wrunlock(holder));
        assert_call(&waiting, LK_OK);
        assert_ok(lk_wrunlock(waiter));
    }
}

static long long calls_at(int node, const char *command) {
    redisReply *reply = test_node_ask(node_at(node), "INFO commandstats");
    char *wanted = world_print("cmdstat_%s:calls=", command);
    assert_non_null(reply);
    const char *found = strstr(reply->str, wanted);
    long long calls = found ? strtoll(found + strlen(wanted), NULL, 10) : 0;
    freeReplyObject(reply);
    return calls;
}

/* PUBLISH would reach all nodes: with many nodes and grants, that floods the cluster. */
TEST_WITH(masters_alone, a_grant_is_told_on_its_own_node_alone) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    for (int node = 0; node < NODES; node++) {
        const char *name = name_on(node);
        lk_lock *holder = new_lock(client, name), *waiter = new_lock(other, name);
        call waiting;
        assert_ok(lk_wrlock(holder));
        begin_wait(&waiting, waiter, LK_WRITE, other, name, 1);
        assert_ok(lk_wrunlock(holder));
        assert_call(&waiting, LK_OK);
        assert_ok(lk_wrunlock(waiter));
        assert_true(calls_at(node, "spublish") > 0);
        assert_int_equal(calls_at(node, "publish"), 0);
    }
}

static int channel_slot(const lk_lock *lock) {
    char *channel = world_print("lk:%.32s", lk_owner(lock)); /* the handle: it has no other owner */
    return test_key_slot(channel, strlen(channel));
}

/* Then the node ends the sharded subscription, and PUBLISH reaches the plain one. */
TEST_WITH(masters_alone, a_grant_is_told_although_the_slot_of_the_channel_has_moved) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(other, "a");
    call waiting;
    int owner = owner_of("a");
    assert_int_equal(test_cluster_owner(cluster, channel_slot(waiter)), owner);
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    assert_true(test_cluster_move_slot(cluster, channel_slot(waiter), (owner + 1) % NODES));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
    assert_true(calls_at(owner, "publish") > 0);
}

static size_t connections_at(int node, const char *name) {
    redisReply *reply = test_node_ask(node_at(node), "CLIENT LIST");
    char *wanted = world_print(" name=%s ", name);
    size_t count = 0;
    assert_non_null(reply);
    for (const char *at = reply->str; (at = strstr(at, wanted)); at += strlen(wanted))
        count++;
    freeReplyObject(reply);
    return count;
}

static bool keep_names(const char *name, void *arg) {
    int *count = arg;
    (void)name;
    ++*count;
    return true;
}

TEST_WITH(masters_alone, a_client_with_1000_locks_has_two_connections_a_node) {
    enum { LOCKS = 1000 };
    lk_client *client =
        open_client_url(test_cluster_url(cluster),
                        &(lk_client_options){.app = "thousand", .command_timeout_ms = FAILOVER_MS});
    lk_client *other = open_at_cluster();
    lk_lock *locks[LOCKS];
    int listed = 0;
    for (int i = 0; i < LOCKS; i++) {
        locks[i] = new_leased_lock(client, world_print("n%d", i), 2000);
        assert_ok(lk_wrlock(locks[i]));
    }
    for (int node = 0; node < NODES; node++) { /* waiters need the second connection */
        const char *name = name_on(node);
        lk_lock *waiter = new_lock(client, name);
        call waiting;
        begin_wait(&waiting, waiter, LK_READ, other, name, 1);
        assert_ok(lk_cancel(waiter));
        assert_call(&waiting, LK_CANCELED);
    }
    size_t connections = 0;
    for (int node = 0; node < NODES; node++)
        connections += connections_at(node, "latchkey:thousand");
    assert_int_equal(connections, 2 * NODES);
    assert_ok(lk_list(client, NULL, keep_names, &listed));
    assert_int_equal(listed, LOCKS);
    sleep_ms(3000); /* longer than their leases: they are renewed, each slot by itself */
    for (int i = 0; i < LOCKS; i++) {
        assert_true(lk_valid(locks[i]));
        assert_ok(lk_wrunlock(locks[i]));
    }
}

TEST_WITH(masters_alone, locks_are_inspected_listed_and_released_wherever_they_are) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    int listed = 0;
    for (int node = 0; node < NODES; node++)
        assert_ok(lk_wrlock(new_lock(client, name_on(node))));
    assert_ok(lk_list(other, NULL, keep_names, &listed));
    assert_int_equal(listed, NODES);
    for (int node = 0; node < NODES; node++) {
        lk_info *info = inspect(other, name_on(node));
        assert_int_equal(info->holder_total, 1);
        assert_string_equal(info->server,
                            world_print("127.0.0.1:%d", test_node_port(node_at(node))));
        assert_ok(lk_force_release(other, name_on(node), NULL));
        assert_int_equal(key_count_at(node), 1); /* the mark of the write */
    }
}

/* ------------------------------------------------------------------------------ failover */

TEST_WITH(with_replicas, a_hold_that_was_replicated_goes_on) {
    atomic_int losses = 0;
    lk_client *client = open_at_cluster();
    lk_lock *lock = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    replicate("a");
    int former = owner_of("a");
    test_node_kill(node_at(former));
    int now = other_owner("a", former);
    assert_true(lk_valid(lock));
    assert_ok(lk_renew(lock, 0));
    assert_int_equal(lk_fence(lock), fence);
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 0);
    assert_int_equal(key_count_at(now), 0);
}

TEST_WITH(with_replicas, a_hold_that_the_new_master_lacks_is_lost_and_the_next_fence_is_greater) {
    atomic_int losses = 0;
    lk_client *client = open_at_cluster();
    lk_lock *lock = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    int former = owner_of("a");
    assert_true(test_node_tell(node_at(former), "DEL lk:{a}")); /* as if it had never come there */
    replicate("a");
    test_node_kill(node_at(former));
    other_owner("a", former);
    eventually(atomic_load(&losses) == 1);
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_fence(lock) > fence);
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(with_replicas, a_waiter_is_granted_by_the_new_master) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    replicate("a");
    int former = owner_of("a");
    test_node_kill(node_at(former));
    other_owner("a", former);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
}

TEST_WITH(with_replicas, a_master_that_stops_and_goes_on_is_left) {
    atomic_int losses = 0;
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_watched_lock(client, "a", LEASE_MS, &losses);
    lk_lock *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    replicate("a");
    int former = owner_of("a");
    test_node_pause(node_at(former));
    other_owner("a", former);
    assert_ok(lk_renew(holder, 0)); /* by the new master: the old one cannot answer */
    eventually(look_at(other, "a").waiters == 1);
    test_node_continue(node_at(former));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
    assert_int_equal(atomic_load(&losses), 0);
}

TEST_WITH(with_replicas, a_failover_on_request_loses_nothing) {
    atomic_int losses = 0;
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_watched_lock(client, "a", LEASE_MS, &losses);
    lk_lock *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    replicate("a");
    int former = owner_of("a"), replica = test_cluster_replica_of(cluster, former);
    assert_true(replica >= 0);
    assert_true(test_cluster_fail_over(cluster, (size_t)replica, NULL, FAILOVER_MS));
    assert_ok(lk_renew(holder, 0));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
    assert_int_equal(atomic_load(&losses), 0);
    assert_true(test_cluster_wait_until_settled(cluster, FAILOVER_MS));
    assert_int_equal(owner_of("a"), replica);
    take_and_release(client, "a"); /* the node that came back is a replica: nobody asks it */
}

/* A release that the old master confirmed, and the new one never saw. */
TEST_WITH(with_replicas, a_release_that_was_not_replicated_is_repeated) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *lock = new_leased_lock(client, "a", LEASE_MS), *next = new_lock(other, "a");
    assert_ok(lk_wrlock(lock));
    replicate("a");
    int former = owner_of("a"), replica = test_cluster_replica_of(cluster, former);
    assert_true(replica >= 0);
    test_node_pause(node_at(replica));
    assert_true(test_node_tell(node_at(former), "CLIENT KILL TYPE replica"));
    assert_ok(lk_wrunlock(lock));
    test_node_kill(node_at(former));
    test_node_continue(node_at(replica));
    other_owner("a", former);
    int64_t began_ms = now_ms();
    assert_ok(lk_wrlock(next));
    assert_true(now_ms() - began_ms < LEASE_MS / 2);
    assert_ok(lk_wrunlock(next));
}

/* ------------------------------------------------------------------------------ moving slots */

static test_slot_move move_of(const char *name) {
    int from = owner_of(name);
    return (test_slot_move){slot_of(name), from, (from + 1) % NODES};
}

TEST_WITH(masters_alone, a_hold_and_its_waiter_go_along_when_their_slot_moves) {
    atomic_int losses = 0;
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_watched_lock(client, "a", LEASE_MS, &losses);
    lk_lock *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    uint64_t fence = lk_fence(holder);
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_slot(cluster, move.slot, move.to));
    assert_ok(lk_renew(holder, 0));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_true(lk_fence(waiter) > fence);
    assert_ok(lk_wrunlock(waiter));
    assert_int_equal(atomic_load(&losses), 0);
    assert_int_equal(key_count_at(move.from), 0);
    assert_int_equal(key_count_at(move.to), 0);
}

/* As codec.lua writes a free lock whose last fence is ahead of the clock: by an hour. */
static const char *const lock_with_fence_ahead =
    "return redis.call('SET', KEYS[1], struct.pack('<c3BBBBBddsdddds', 'lk4', 1, 0, 0, 0, 0,"
    " (redis.call('TIME')[1] + 3600) * 1000000, 0, '', 0, 0, 0, 0, ''))";

/* The node that it comes from drew fences that the clock of the next one has not reached. */
TEST_WITH(masters_alone, a_fence_does_not_go_back_when_a_slot_moves_without_its_lock) {
    lk_client *client = open_at_cluster();
    lk_lock *lock = new_lock(client, "a");
    test_slot_move move = move_of("a");
    assert_true(test_node_tell(node_at(move.from), "EVAL %s 1 lk:{a}", lock_with_fence_ahead));
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    assert_ok(lk_wrunlock(lock));
    assert_true(fence > ((uint64_t)time(NULL) + 1800) * 1000000);
    assert_true(test_node_tell(node_at(move.from), "DEL lk:{a}"));
    assert_true(test_cluster_move_slot(cluster, move.slot, move.to));
    assert_ok(lk_wrlock(lock));
    assert_true(lk_fence(lock) > fence);
    assert_ok(lk_wrunlock(lock));
}

/* While the slot moves, the holder's key is still here: a newcomer must not get a lock over there. */
TEST_WITH(masters_alone, a_lock_whose_key_has_not_moved_yet_is_held_here) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_lock(client, "a"), *late = new_lock(other, "a");
    test_slot_move move = move_of("a");
    assert_ok(lk_wrlock(holder));
    assert_true(test_cluster_move_begin(cluster, &move));
    assert_status(lk_trywrlock(late), LK_BUSY);
    assert_ok(lk_renew(holder, 0));
    assert_true(test_cluster_move_keys(cluster, &move));
    assert_status(lk_trywrlock(late), LK_BUSY);
    assert_ok(lk_renew(holder, 0));
    assert_true(test_cluster_move_end(cluster, &move));
    assert_status(lk_trywrlock(late), LK_BUSY);
    assert_ok(lk_wrunlock(holder));
    assert_ok(lk_trywrlock(late));
    assert_ok(lk_wrunlock(late));
}

TEST_WITH(masters_alone, a_free_lock_of_a_slot_that_moves_is_taken_over_there) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_lock(client, "a"), *waiter = new_lock(other, "a");
    call waiting;
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_begin(cluster, &move));
    assert_ok(lk_wrlock(holder));
    assert_int_equal(key_count_at(move.to), 1);
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_true(test_cluster_move_keys(cluster, &move));
    assert_true(test_cluster_move_end(cluster, &move));
    assert_ok(lk_wrunlock(waiter));
    take_and_release(client, "a");
    assert_int_equal(key_count_at(move.from) + key_count_at(move.to), 0);
}

/* More than 12 readers: the lock has two keys, which move one after the other. */
TEST_WITH(masters_alone, a_lock_with_two_keys_waits_until_both_have_moved) {
    enum { READERS = 20 };
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *readers[READERS], *writer = new_lock(other, "a");
    call waiting;
    for (int i = 0; i < READERS; i++) {
        readers[i] = new_lock(client, "a");
        assert_ok(lk_rdlock(readers[i]));
    }
    begin_wait(&waiting, writer, LK_WRITE, other, "a", 1);
    for (int index_first = 0; index_first < 2; index_first++) {
        test_slot_move move = move_of("a");
        const char *keys[] = {"lk:{a}", "lk:{a}:i"};
        assert_int_equal(key_count_at(move.from), 2);
        assert_true(test_cluster_move_begin(cluster, &move));
        assert_status(lk_trywrlock(new_lock(other, "a")), LK_BUSY);
        assert_true(
            test_cluster_move_key(cluster, &move, keys[index_first], strlen(keys[index_first])));
        call renewing;
        begin_call(&renewing, lk_trywrlock, new_lock(client, "a")); /* waits for the second key */
        sleep_ms(300);
        assert_true(test_cluster_move_keys(cluster, &move));
        assert_call(&renewing, LK_BUSY);
        assert_true(test_cluster_move_end(cluster, &move));
        for (int i = 0; i < READERS; i++)
            assert_true(lk_valid(readers[i]));
    }
    for (int i = 0; i < READERS; i++)
        assert_ok(lk_rdunlock(readers[i]));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(writer));
}

/* A slot with several locks, of which some have moved: renewals name one lock each. */
TEST_WITH(masters_alone, renewals_go_on_while_the_locks_of_a_slot_move_one_by_one) {
    static const char *const names[] = {"a}1", "a}2", "a}3", "a}4"}; /* the tag of each is "a" */
    enum { LOCKS = sizeof names / sizeof *names };
    atomic_int losses = 0;
    lk_client *client = open_at_cluster();
    lk_lock *locks[LOCKS];
    for (int i = 0; i < LOCKS; i++) {
        locks[i] = new_watched_lock(client, names[i], 3000, &losses);
        assert_ok(lk_wrlock(locks[i]));
    }
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_begin(cluster, &move));
    for (int i = 0; i < LOCKS; i++) {
        char *key = key_of(names[i]);
        assert_true(test_cluster_move_key(cluster, &move, key, strlen(key)));
        sleep_ms(1200); /* more than a third of the lease */
    }
    assert_true(test_cluster_move_end(cluster, &move));
    for (int i = 0; i < LOCKS; i++)
        assert_ok(lk_wrunlock(locks[i]));
    assert_int_equal(atomic_load(&losses), 0);
}

static long long scripts_run(void) {
    long long sum = 0;
    for (int node = 0; node < NODES; node++)
        sum += calls_at(node, "evalsha") + calls_at(node, "eval");
    return sum;
}

/* Each hold learns alone that it needs both keys, and then that they are on two nodes. */
TEST_WITH(masters_alone, renewals_of_a_lock_with_keys_on_two_nodes_are_sent_with_pauses) {
    enum { READERS = 20, LEASE = 12000, PAUSE = 250 };
    atomic_int losses = 0;
    lk_client *client = open_at_cluster();
    lk_lock *readers[READERS];
    for (int i = 0; i < READERS; i++) {
        readers[i] = new_watched_lock(client, "a", LEASE, &losses);
        assert_ok(lk_rdlock(readers[i]));
    }
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_begin(cluster, &move));
    assert_true(test_cluster_move_key(cluster, &move, "lk:{a}", strlen("lk:{a}")));
    int64_t began_ms = now_ms();
    long long before = scripts_run();
    sleep_ms(LEASE / 3 + 1000);
    long long run = scripts_run() - before;
    int64_t pauses = (now_ms() - began_ms) / PAUSE + 2;
    assert_true(test_cluster_move_keys(cluster, &move));
    assert_true(test_cluster_move_end(cluster, &move));
    assert_in_range(run, 1, 3 * READERS * pauses);
    for (int i = 0; i < READERS; i++)
        assert_ok(lk_rdunlock(readers[i]));
    assert_int_equal(atomic_load(&losses), 0);
}

static long rejected_askings_at(int node) {
    redisReply *reply = test_node_ask(node_at(node), "INFO commandstats");
    const char *asking = reply ? strstr(reply->str, "cmdstat_asking:") : NULL;
    const char *rejected = asking ? strstr(asking, "rejected_calls=") : NULL;
    long count = rejected ? strtol(rejected + strlen("rejected_calls="), NULL, 10) : 0;
    freeReplyObject(reply);
    return count;
}

/* Without the right to ASKING, one node says ASK and the other MOVED. */
TEST_WITH(masters_alone, nodes_that_name_each_other_are_asked_with_pauses_and_not_for_ever) {
    for (int node = 0; node < NODES; node++)
        assert_true(test_node_tell(node_at(node), "ACL SETUSER app on >pw ~* &* +@all -asking"));
    const char *hosts = strstr(test_cluster_url(cluster), "://") + 3;
    lk_client *client = open_client_url(world_print("redis+cluster://app:pw@%s", hosts),
                                        &(lk_client_options){.command_timeout_ms = 1000});
    lk_info *info;
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_begin(cluster, &move));
    assert_status(lk_trywrlock(new_lock(client, "a")), LK_UNAVAILABLE);
    assert_said("the cluster is moving the keys of this lock");
    assert_status(lk_inspect(client, "a", &info), LK_UNAVAILABLE);
    assert_in_range(rejected_askings_at(move.to), 1, 100);
    assert_true(test_cluster_move_end(cluster, &move));
    assert_ok(lk_trywrlock(new_lock(client, "a")));
}

TEST_WITH(masters_alone, a_node_joins_and_a_node_leaves) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    int joined = test_cluster_add_node(cluster, -1, FAILOVER_MS), former = owner_of("a");
    assert_true(joined >= 0);
    assert_true(test_cluster_move_slot(cluster, slot_of("a"), joined));
    assert_ok(lk_renew(holder, 0));
    assert_int_equal(key_count_at(joined), 1);
    assert_true(test_cluster_move_slot(cluster, slot_of("a"), former));
    assert_true(test_cluster_forget_node(cluster, (size_t)joined));
    test_node_kill(node_at(joined));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
}

/* The node that joins has no slot of its own yet, when the client hears that another slot has moved. */
TEST_WITH(masters_alone, a_lock_stays_with_a_node_that_gets_its_first_slot) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(other, "a");
    call waiting;
    int joined = test_cluster_add_node(cluster, -1, FAILOVER_MS);
    test_slot_move move = {slot_of("a"), owner_of("a"), joined};
    assert_true(joined >= 0 && test_cluster_move_begin(cluster, &move));
    assert_ok(lk_wrlock(holder)); /* over there */
    assert_int_equal(key_count_at(joined), 1);
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    char *elsewhere = name_on((move.from + 1) % NODES);
    take_and_release(client, elsewhere);
    take_and_release(other, elsewhere);
    assert_true(test_cluster_move_slot(cluster, slot_of(elsewhere), move.from));
    take_and_release(client, elsewhere); /* MOVED: the client asks who has which slots */
    take_and_release(other, elsewhere);
    sleep_ms(500);
    assert_ok(lk_renew(holder, 0));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
    assert_true(test_cluster_move_keys(cluster, &move));
    assert_true(test_cluster_move_end(cluster, &move));
    take_and_release(client, "a");
}

/* ------------------------------------------------------------------------------ bad input */

static void assert_refused(const char *url, lk_status wanted, const char *words) {
    lk_client *client = NULL;
    assert_status(lk_open(url, NULL, &client), wanted);
    assert_null(client);
    assert_said(words);
    assert_says_not(lk_last_error(), "secret");
}

TEST_WITH(masters_alone, a_node_with_the_url_of_one_server_is_refused) {
    assert_refused(world_print("redis://127.0.0.1:%d", test_node_port(node_at(0))), LK_UNSUPPORTED,
                   "redis+cluster://");
}

TEST(a_server_is_no_node_of_a_cluster) {
    const char *port = "--port";
    char *number = world_print("%d", test_server_free_port());
    start_server((const char *const[]){port, number, NULL});
    assert_refused(world_print("redis+cluster://127.0.0.1:%s", number), LK_UNSUPPORTED,
                   "is not a node of a cluster");
}

TEST(seeds_that_are_all_down_are_unavailable) {
    assert_refused(world_print("redis+cluster://127.0.0.1:%d,127.0.0.1:%d", test_server_free_port(),
                               test_server_free_port()),
                   LK_UNAVAILABLE, "onnect");
}

TEST_WITH(masters_alone, a_seed_that_is_down_does_no_harm) {
    char *url = world_print("redis+cluster://127.0.0.1:%d,127.0.0.1:%d", test_server_free_port(),
                            test_node_port(node_at(2)));
    take_and_release(open_client_url(url, NULL), "a");
}

TEST_WITH(masters_alone, a_slot_that_nobody_serves_is_unavailable) {
    int owner = owner_of("a");
    lk_client *client = open_client_url(test_cluster_url(cluster),
                                        &(lk_client_options){.command_timeout_ms = 1000});
    assert_true(test_node_tell(node_at(owner), "CLUSTER DELSLOTS %d", slot_of("a")));
    assert_status(lk_trywrlock(new_lock(client, "a")), LK_UNAVAILABLE);
    assert_said("CLUSTERDOWN");
}

static void with_password(void) {
    start_cluster(&(test_cluster_options){
        .masters = NODES, .replicas = 0, .node_timeout_ms = 60000, .password = "secret"});
}

TEST_WITH(with_password, the_password_is_for_all_nodes) {
    const char *hosts = strstr(test_cluster_url(cluster), "://") + 3;
    lk_client *client = open_client_url(world_print("redis+cluster://:secret@%s", hosts), NULL);
    for (int node = 0; node < NODES; node++)
        take_and_release(client, name_on(node));
    assert_refused(test_cluster_url(cluster), LK_DENIED, "NOAUTH");
    assert_refused(world_print("redis+cluster://:wrong@%s", hosts), LK_DENIED, "AUTH failed");
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
