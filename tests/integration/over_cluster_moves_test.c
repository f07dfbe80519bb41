/*
 * Slots that move between the nodes of a cluster, in unusual ways: a move that is given up because
 * the target fails, fences that must not go back, and redis-cli, which moves many slots under load.
 */
#include "cluster.h"
#include "judge.h"
#include "world.h"

#include <limits.h>

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

static int slot_of(const char *name) {
    char *key = world_print("lk:{%s}", name);
    return test_key_slot(key, strlen(key));
}

static int owner_of(const char *name) {
    int owner = test_cluster_owner(cluster, slot_of(name));
    assert_true(owner >= 0);
    return owner;
}

static test_slot_move move_of(const char *name) {
    int from = owner_of(name);
    return (test_slot_move){slot_of(name), from, (from + 1) % NODES};
}

static long long key_count_at(int node) {
    redisReply *reply = test_node_ask(node_at(node), "DBSIZE");
    long long count = reply ? reply->integer : -1;
    freeReplyObject(reply);
    return count;
}

/* ------------------------------------------------------------------------------ given up */

/* The target of the move dies; its replica, which does not know of the move, replaces it. */
static void kill_target(const test_slot_move *move) {
    int slot = 0;
    while (test_cluster_owner(cluster, slot) != move->to)
        slot++;
    test_node_kill(node_at(move->to));
    assert_true(test_cluster_wait_for_other_owner(cluster, slot, move->to, FAILOVER_MS) >= 0);
}

static void give_up(const test_slot_move *move) {
    assert_true(test_node_tell(node_at(move->from), "CLUSTER SETSLOT %d STABLE", move->slot));
}

/* How often the node has answered ASK. */
static long asks_at(int node) {
    static const char field[] = "errorstat_ASK:count=";
    redisReply *reply = test_node_ask(node_at(node), "INFO errorstats");
    const char *found = reply ? strstr(reply->str, field) : NULL;
    long count = found ? strtol(found + strlen(field), NULL, 10) : 0;
    freeReplyObject(reply);
    return count;
}

TEST_WITH(with_replicas, a_handle_comes_back_when_the_target_of_a_move_fails) {
    lk_client *client = open_at_cluster();
    lk_lock *lock = new_lock(client, "a");
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_begin(cluster, &move));
    assert_ok(lk_trywrlock(lock)); /* over there */
    assert_int_equal(key_count_at(move.to), 1);
    assert_ok(lk_wrunlock(lock));
    kill_target(&move);
    give_up(&move);
    assert_ok(lk_trywrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_true(test_node_restart(node_at(move.to))); /* as a replica */
    assert_ok(lk_trywrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* The client never gets a connection to the target: that one is dead before it is asked. */
TEST_WITH(with_replicas, a_handle_comes_back_from_a_target_that_was_never_reached) {
    lk_lock *lock = new_lock(open_at_cluster(), "a");
    test_slot_move move = move_of("a");
    call taking;
    assert_true(test_cluster_move_begin(cluster, &move));
    kill_target(&move);
    begin_lock(&taking, lock, LK_WRITE, -1);
    eventually(asks_at(move.from) > 0);
    give_up(&move);
    assert_call(&taking, LK_OK);
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(with_replicas, a_waiter_comes_back_when_the_target_of_a_move_fails) {
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(other, "a");
    call waiting;
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_begin(cluster, &move));
    assert_ok(lk_wrlock(holder)); /* over there, and lost with the move */
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    kill_target(&move);
    give_up(&move);
    assert_call(&waiting, LK_OK);
    assert_status(lk_wrunlock(holder), LK_LOST);
    assert_ok(lk_wrunlock(waiter));
}

static lk_client *inspector;

static lk_status inspect_it(lk_lock *lock) {
    lk_info *info;
    lk_status status = lk_inspect(inspector, "a", &info);
    (void)lock;
    if (status == LK_OK)
        lk_info_free(info);
    return status;
}

/* It has no handle, and asks the owner now and then, not without a pause. */
TEST_WITH(with_replicas, a_call_comes_back_from_a_target_that_does_not_answer) {
    enum { ASKS_MOST = 5000 };
    lk_lock *lock = new_lock(open_at_cluster(), "a");
    test_slot_move move = move_of("a");
    call inspecting;
    inspector = open_at_cluster();
    assert_true(test_cluster_move_begin(cluster, &move));
    kill_target(&move);
    begin_call(&inspecting, inspect_it, lock);
    eventually(asks_at(move.from) > 2);
    give_up(&move);
    assert_call(&inspecting, LK_OK);
    assert_in_range(asks_at(move.from), 3, ASKS_MOST);
}

/* ------------------------------------------------------------------------------ messages */

static int channel_slot(const lk_lock *lock) {
    char *channel = world_print("lk:%.32s", lk_owner(lock)); /* the handle: it has no other owner */
    return test_key_slot(channel, strlen(channel));
}

/*
 * Its sharded subscription has ended, so the message comes by PUBLISH. Another node could have sent
 * it, nobody knows when. So the time of the message does not count: the waiter asks.
 */
TEST_WITH(masters_alone, a_grant_that_comes_from_an_unknown_node_is_claimed_first) {
    enum { UNCLAIMED_MS = 1000 };
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS);
    lk_lock *waiter = new_leased_lock(other, "a", LEASE_MS);
    call waiting;
    int owner = owner_of("a");
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    assert_true(test_cluster_move_slot(cluster, channel_slot(waiter), (owner + 1) % NODES));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_true(lk_remaining_ms(waiter) > UNCLAIMED_MS);
    assert_ok(lk_wrunlock(waiter));
}

/* ------------------------------------------------------------------------------ fences */

/* As codec.lua writes a free lock whose last fence is ahead of the clock: by an hour. */
static const char *const lock_with_fence_ahead =
    "return redis.call('SET', KEYS[1], struct.pack('<c3BBBBBddsdddds', 'lk4', 1, 0, 0, 0, 0,"
    " (redis.call('TIME')[1] + 3600) * 1000000, 0, '', 0, 0, 0, 0, ''))";

/* Takes the lock once; its handle is gone then, and its key as well. */
static uint64_t see_fence_ahead(lk_client *client) {
    lk_lock *lock = new_lock(client, "a");
    int owner = owner_of("a");
    assert_true(test_node_tell(node_at(owner), "EVAL %s 1 lk:{a}", lock_with_fence_ahead));
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    assert_ok(lk_wrunlock(lock));
    free_lock(lock);
    assert_true(fence > ((uint64_t)time(NULL) + 1800) * 1000000);
    assert_true(test_node_tell(node_at(owner), "DEL lk:{a}"));
    return fence;
}

/* After lk_inspect the client knows where the lock is: a new handle begins there. */
static void assert_next_fence_above(lk_client *client, uint64_t fence) {
    lk_lock *lock;
    assert_int_equal(inspect(client, "a")->holder_total, 0);
    lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    assert_true(lk_fence(lock) > fence);
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(masters_alone, a_fence_does_not_go_back_when_a_slot_moves_and_nobody_has_a_handle) {
    lk_client *client = open_at_cluster();
    uint64_t fence = see_fence_ahead(client);
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_slot(cluster, move.slot, move.to));
    assert_next_fence_above(client, fence);
}

/* The slot still belongs to the former node, which says ASK. */
TEST_WITH(masters_alone, a_fence_does_not_go_back_while_a_slot_moves) {
    lk_client *client = open_at_cluster();
    lk_lock *lock = new_lock(client, "a");
    uint64_t fence = see_fence_ahead(client);
    test_slot_move move = move_of("a");
    assert_true(test_cluster_move_begin(cluster, &move));
    assert_ok(lk_wrlock(lock));
    assert_int_equal(key_count_at(move.to), 1);
    assert_true(lk_fence(lock) > fence);
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(with_replicas, a_fence_does_not_go_back_when_a_master_fails_and_nobody_has_a_handle) {
    lk_client *client = open_at_cluster();
    uint64_t fence = see_fence_ahead(client);
    int former = owner_of("a");
    test_node_kill(node_at(former));
    assert_true(
        test_cluster_wait_for_other_owner(cluster, slot_of("a"), former, FAILOVER_MS) >= 0);
    assert_next_fence_above(client, fence);
}

/* ------------------------------------------------------------------------------ redis-cli */

/* More than 12 readers: their lock has two keys. */
enum { MOVED_SLOTS = 60, ROUNDS = 3, CLIENTS = 3, HOLDERS = 4, READERS = 20 };

/* The names of locks in the first slots: redis-cli takes these first. */
static char *name_in_first_slots(int which) {
    for (int i = 0;; i++) {
        char *name = world_print("n%d", i);
        if (slot_of(name) < MOVED_SLOTS && which-- == 0)
            return name;
    }
}

/* redis-cli comes with redis-server, and valkey-cli with valkey-server. Each knows both servers. */
static void reshard(int from, int to) {
    char *words =
        world_print("--cluster reshard 127.0.0.1:%d --cluster-from %s --cluster-to %s "
                    "--cluster-slots %d --cluster-pipeline 10 --cluster-yes",
                    test_node_port(node_at(from)), test_cluster_id(cluster, (size_t)from),
                    test_cluster_id(cluster, (size_t)to), MOVED_SLOTS);
    char *command = world_print("cli=$(command -v redis-cli || command -v valkey-cli) && "
                                "output=$(\"$cli\" %s 2>&1) || { echo \"$output\" >&2; exit 1; }",
                                words);
    assert_true(test_cluster_wait_until_settled(cluster, FAILOVER_MS));
    assert_int_equal(system(command), 0);
}

/* Takes a lock and releases it, again and again. */
typedef struct {
    size_t room, index;
    lk_lock *lock;
    pthread_t thread;
    atomic_int taken;
    atomic_int failure; /* the first status that is not LK_OK */
    char said[512];
} worker;

static atomic_bool is_over;

static void note(worker *w, lk_status status) {
    if (status == LK_OK || atomic_load(&w->failure))
        return;
    snprintf(w->said, sizeof w->said, "%s", lk_last_error());
    atomic_store(&w->failure, (int)status);
}

static void *work(void *context) {
    worker *w = context;
    for (int turn = 0; !atomic_load(&is_over) && !atomic_load(&w->failure); turn++) {
        lk_mode mode = (turn + (int)w->index) % 3 ? LK_WRITE : LK_READ;
        lk_status status = lock_as(w->lock, mode, -1);
        note(w, status);
        if (status != LK_OK)
            break;
        show_guest(w->room, w->index, (guest){w->lock, mode});
        if (turn % 4 == 0)
            note(w, lk_renew(w->lock, 0));
        show_guest(w->room, w->index, (guest){0});
        note(w, unlock_as(w->lock, mode));
        atomic_fetch_add(&w->taken, 1);
    }
    return NULL;
}

static int turns_of_slowest(const worker *workers) {
    int least = INT_MAX;
    for (size_t i = 0; i < ROOMS * GUESTS; i++) {
        int taken = atomic_load(&workers[i].taken);
        least = taken < least ? taken : least;
        if (atomic_load(&workers[i].failure))
            fail_msg("%s: %s", lk_status_name((lk_status)workers[i].failure), workers[i].said);
    }
    return least;
}

static void start_workers(worker *workers) {
    lk_client *clients[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = open_at_cluster();
    for (size_t i = 0; i < ROOMS * GUESTS; i++) {
        worker *w = &workers[i];
        w->room = i % ROOMS;
        w->index = i / ROOMS;
        const char *name = name_in_first_slots((int)w->room);
        w->lock = new_leased_lock(clients[i / GUESTS], name, LEASE_MS);
        w->thread = thread_start(work, w);
    }
}

static void end_work(void) {
    atomic_store(&is_over, true);
}

/* There and back, while workers take locks, holders renew theirs, and a writer waits. */
TEST_WITH(masters_alone, redis_cli_moves_slots_under_load) {
    static worker workers[ROOMS * GUESTS];
    atomic_int losses = 0;
    lk_client *client = open_at_cluster(), *other = open_at_cluster();
    lk_lock *holders[HOLDERS], *readers[READERS];
    call waiting;
    for (int i = 0; i < HOLDERS; i++) {
        holders[i] = new_watched_lock(client, name_in_first_slots(ROOMS + 1 + i), 15000, &losses);
        assert_ok(lk_wrlock(holders[i]));
    }
    const char *wide = name_in_first_slots(ROOMS);
    for (int i = 0; i < READERS; i++) {
        readers[i] = new_watched_lock(client, wide, 15000, &losses);
        assert_ok(lk_rdlock(readers[i]));
    }
    lk_lock *writer = new_lock(other, wide);
    begin_wait(&waiting, writer, LK_WRITE, other, wide, 1);
    int here = owner_of(wide), there = (here + 1) % NODES;
    run_before_closing(end_work);
    start_workers(workers);
    for (int i = 0; i < ROUNDS; i++) {
        int turns = turns_of_slowest(workers);
        reshard(here, there);
        assert_int_equal(owner_of(wide), there);
        eventually(turns_of_slowest(workers) > turns); /* nobody was forgotten */
        reshard(there, here);
    }
    end_work();
    for (size_t i = 0; i < ROOMS * GUESTS; i++)
        thread_join(workers[i].thread);
    turns_of_slowest(workers); /* none has failed */
    assert_int_equal(atomic_load(&clashes), 0);
    assert_int_equal(atomic_load(&old_fences), 0);
    for (int i = 0; i < HOLDERS; i++)
        assert_ok(lk_wrunlock(holders[i]));
    for (int i = 0; i < READERS; i++)
        assert_ok(lk_rdunlock(readers[i]));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(writer));
    assert_int_equal(atomic_load(&losses), 0);
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
