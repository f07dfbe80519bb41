/* Which node has which slot: views that are applied, slots that are given away, and no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "topology/cluster_map.h"

#include <stdio.h>
#include <string.h>

enum { RANGES_MOST = 4, PORT_SIZE = 8 };

static lki_cluster_map map;

static int begin(void **state) {
    (void)state;
    lki_cluster_map_init(&map);
    return 0;
}

static int end(void **state) {
    (void)state;
    lki_cluster_map_clear(&map);
    return 0;
}

/* A view of slots with a master each: all are at the host "h", and told apart by their ports. */
typedef struct {
    unsigned first, last;
    char port[PORT_SIZE];
} share;

static bool apply(uint64_t epoch, const share *shares, size_t count, bool *changed) {
    static char host[] = "h";
    lki_slot_range ranges[RANGES_MOST];
    share copies[RANGES_MOST];
    for (size_t i = 0; i < count; i++) {
        copies[i] = shares[i];
        ranges[i] = (lki_slot_range){shares[i].first, shares[i].last, host, copies[i].port};
    }
    lki_cluster_view view = {.ranges = ranges, .count = count, .epoch = epoch, .is_ok = true};
    return lki_cluster_map_apply(&map, &view, changed);
}

#define APPLY(epoch, ...)                                                                  \
    do {                                                                                   \
        const share shares[] = {__VA_ARGS__};                                              \
        assert_true(apply((epoch), shares, sizeof shares / sizeof *shares, &has_changed)); \
    } while (0)

static bool has_changed;

static void assert_owner(unsigned slot, const char *port) {
    size_t node = lki_cluster_map_owner(&map, slot);
    assert_true(node < map.count);
    assert_string_equal(map.nodes[node].port, port);
}

static void a_view_is_applied(void **state) {
    (void)state;
    APPLY(3, {0, 8000, "1"}, {8001, 16383, "2"});
    assert_true(has_changed);
    assert_int_equal(map.epoch, 3);
    assert_int_equal(map.count, 2);
    assert_owner(0, "1");
    assert_owner(8000, "1");
    assert_owner(8001, "2");
    assert_owner(16383, "2");
    assert_int_equal(map.nodes[0].slots, 8001);
    assert_int_equal(map.nodes[1].slots, 8383);
    APPLY(4, {0, 8000, "1"}, {8001, 16383, "2"});
    assert_false(has_changed);
    assert_int_equal(map.epoch, 4);
}

static void a_node_keeps_its_index_when_it_leaves_and_comes_back(void **state) {
    (void)state;
    APPLY(1, {0, 8000, "1"}, {8001, 16383, "2"});
    APPLY(2, {0, 16383, "3"});
    assert_true(has_changed);
    assert_int_equal(map.count, 3);
    assert_int_equal(map.nodes[0].slots + map.nodes[1].slots, 0);
    assert_int_equal(map.nodes[2].slots, LKI_SLOTS);
    APPLY(3, {0, 16383, "2"});
    assert_int_equal(map.count, 3);
    assert_int_equal(lki_cluster_map_owner(&map, 5), 1);
}

static void nodes_are_told_apart_by_host_and_port(void **state) {
    (void)state;
    size_t a, b, c, again;
    assert_true(lki_cluster_map_node(&map, "h", "1", &a));
    assert_true(lki_cluster_map_node(&map, "h", "2", &b));
    assert_true(lki_cluster_map_node(&map, "i", "1", &c));
    assert_true(lki_cluster_map_node(&map, "h", "2", &again));
    assert_true(a != b && b != c && a != c);
    assert_int_equal(again, b);
}

static void a_slot_is_given_to_another_node(void **state) {
    (void)state;
    size_t other;
    APPLY(1, {0, 16383, "1"});
    assert_true(lki_cluster_map_node(&map, "h", "2", &other));
    assert_int_equal(map.nodes[other].slots, 0);
    assert_true(lki_cluster_map_give(&map, 7, other));
    assert_true(lki_cluster_map_give(&map, 7, other));
    assert_owner(6, "1");
    assert_owner(7, "2");
    assert_int_equal(map.nodes[other].slots, 1);
    assert_int_equal(map.nodes[0].slots, LKI_SLOTS - 1);
}

static void assert_move(const char *from, const char *to) {
    lki_map_move move;
    assert_true(lki_cluster_map_take_move(&map, &move));
    assert_string_equal(map.nodes[move.from].port, from);
    assert_string_equal(map.nodes[move.to].port, to);
}

static void who_had_the_slots_before_is_told_once_and_in_order(void **state) {
    (void)state;
    lki_map_move move;
    APPLY(1, {0, 99, "1"}, {100, 199, "2"});
    assert_false(lki_cluster_map_take_move(&map, &move)); /* nobody had them */
    APPLY(2, {0, 49, "2"}, {50, 99, "3"}, {100, 199, "2"});
    assert_true(lki_cluster_map_give(&map, 40, 2));
    assert_true(lki_cluster_map_give(&map, 41, 2));
    assert_move("1", "2");
    assert_move("1", "3");
    assert_move("2", "3");
    assert_false(lki_cluster_map_take_move(&map, &move));
    APPLY(3, {0, 39, "2"}, {40, 41, "3"}, {42, 49, "2"}, {50, 99, "3"}); /* 100 to 199: nobody */
    assert_false(lki_cluster_map_take_move(&map, &move));
}

/* Somebody must be asked about it: a node with other slots, which answers CLUSTERDOWN or MOVED. */
static void a_slot_that_nobody_has_is_asked_from_a_node_with_others(void **state) {
    (void)state;
    assert_int_equal(lki_cluster_map_owner(&map, 7), 0); /* no node is known yet */
    APPLY(1, {0, 16383, "1"});
    APPLY(2, {100, 200, "2"}, {300, 300, "3"});
    assert_true(has_changed);
    assert_owner(150, "2");
    assert_owner(300, "3");
    assert_owner(7, "2"); /* not the first node, which has no slots any more */
}

/* Nobody has slot 99: it counts for the node that is asked about it. */
static void the_slots_of_a_node_are_those_that_it_owns(void **state) {
    (void)state;
    lki_slots all = {0}, of_second = {0};
    APPLY(1, {0, 98, "1"}, {100, 16383, "2"});
    lki_cluster_map_add_slots(&map, lki_cluster_map_owner(&map, 100), &of_second);
    assert_int_equal(lki_slots_first_missing(&of_second), 0);
    lki_cluster_map_add_slots(&map, lki_cluster_map_owner(&map, 0), &all);
    assert_int_equal(lki_slots_first_missing(&all), 100);
    lki_slots_add_common(&all, &of_second, &of_second);
    assert_int_equal(lki_slots_first_missing(&all), LKI_SLOTS);
}

static void a_range_that_ends_before_it_begins_has_no_slots(void **state) {
    (void)state;
    APPLY(1, {10, 5, "1"}, {0, 3, "2"});
    assert_int_equal(map.nodes[0].slots, 0);
    assert_int_equal(map.nodes[1].slots, 4);
}

static void there_is_a_limit_to_nodes(void **state) {
    (void)state;
    char port[PORT_SIZE];
    size_t node;
    for (int i = 0; i < LKI_NODES_MOST; i++) {
        snprintf(port, sizeof port, "%d", i);
        assert_true(lki_cluster_map_node(&map, "h", port, &node));
        assert_int_equal(node, i);
    }
    assert_false(lki_cluster_map_node(&map, "h", "99999", &node));
    assert_true(lki_cluster_map_node(&map, "h", "7", &node));
    assert_int_equal(node, 7);
}

static size_t allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

/* Without memory, the map stays as it was: each slot has the owner that it had. */
static void each_allocation_may_fail(void **state) {
    (void)state;
    static const share next[] = {{0, 99, "2"}, {100, 16383, "3"}};
    bool done = false;
    APPLY(1, {0, 16383, "1"});
    for (refused_one = 1; !done; refused_one++) {
        bool changed = false;
        allocations = 0;
        lki_memory_refuse(refuses);
        done = apply(2, next, 2, &changed);
        lki_memory_refuse(NULL);
        assert_int_equal(done, allocations < refused_one);
        assert_int_equal(changed, done);
        assert_int_equal(map.epoch, done ? 2 : 1);
        assert_owner(5, done ? "2" : "1");
        assert_owner(500, done ? "3" : "1");
    }
    assert_true(refused_one > 4);
}

#define MAP_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        MAP_TEST(a_view_is_applied),
        MAP_TEST(a_node_keeps_its_index_when_it_leaves_and_comes_back),
        MAP_TEST(nodes_are_told_apart_by_host_and_port),
        MAP_TEST(a_slot_is_given_to_another_node),
        MAP_TEST(who_had_the_slots_before_is_told_once_and_in_order),
        MAP_TEST(a_slot_that_nobody_has_is_asked_from_a_node_with_others),
        MAP_TEST(the_slots_of_a_node_are_those_that_it_owns),
        MAP_TEST(a_range_that_ends_before_it_begins_has_no_slots),
        MAP_TEST(there_is_a_limit_to_nodes),
        MAP_TEST(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("the map of a cluster", tests, NULL, NULL);
}
