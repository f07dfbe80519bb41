/* The text of CLUSTER NODES, of all versions and with every fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "topology/cluster_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 1024, NODES_MOST = 8 };

static char text[TEXT_SIZE];
static lki_cluster_node nodes[NODES_MOST];

static size_t read_all(const char *given) {
    char *rest = text;
    size_t count = 0;
    snprintf(text, sizeof text, "%s", given);
    while (count < NODES_MOST && lki_cluster_nodes_next(&rest, &nodes[count]))
        count++;
    return count;
}

static void assert_address(size_t node, const char *ip, const char *port, const char *name) {
    assert_string_equal(nodes[node].ip, ip);
    assert_string_equal(nodes[node].port, port);
    assert_string_equal(nodes[node].name, name);
}

static void masters_and_replicas_are_told_apart(void **state) {
    (void)state;
    assert_int_equal(read_all("aa 10.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5\n"
                              "bb 10.0.0.2:7000@17000 slave aa 0 0 1 connected\n"
                              "cc 10.0.0.3:7000@17000 slave,fail aa 0 0 1 disconnected\n"
                              "dd 10.0.0.4:7000@17000 master,fail? - 0 0 2 connected 6\n"),
                     4);
    assert_string_equal(nodes[0].id, "aa");
    assert_true(nodes[0].is_self && !nodes[0].is_replica && !nodes[0].is_down);
    assert_true(!nodes[1].is_self && nodes[1].is_replica && !nodes[1].is_down);
    assert_string_equal(nodes[1].master, "aa");
    assert_true(nodes[2].is_replica && nodes[2].is_down);
    assert_true(!nodes[3].is_replica && nodes[3].is_down);
}

static void addresses_of_all_versions_are_read(void **state) {
    (void)state;
    assert_int_equal(
        read_all("aa 10.0.0.1:7000@17000 master - 0 0 1 connected\n"
                 "bb 10.0.0.1:7000@17000,name.example master - 0 0 1 connected\n"
                 "cc 10.0.0.1:7000@17000,,tls-port=0,shard-id=f00 master - 0 0 1 connected\n"
                 "dd 2001:db8::7:7000@17000 master - 0 0 1 connected\n"
                 "ee :7000@17000 myself,master - 0 0 1 connected\n"
                 "ff 10.0.0.1:7000 master - 0 0 1 connected\r\n"),
        6);
    assert_address(0, "10.0.0.1", "7000", "");
    assert_address(1, "10.0.0.1", "7000", "name.example");
    assert_address(2, "10.0.0.1", "7000", "");
    assert_address(3, "2001:db8::7", "7000", "");
    assert_address(4, "", "7000", "");
    assert_address(5, "10.0.0.1", "7000", "");
}

static void assert_ranges(const char *slots, const char *wanted) {
    char found[TEXT_SIZE] = "";
    unsigned first, last;
    while (lki_cluster_slots_next(&slots, &first, &last)) {
        size_t length = strlen(found);
        snprintf(found + length, sizeof found - length, "%u-%u,", first, last);
    }
    assert_string_equal(found, wanted);
}

static void slots_are_ranges(void **state) {
    (void)state;
    assert_ranges("", "");
    assert_ranges("0-5460", "0-5460,");
    assert_ranges("7 9-11 16383", "7-7,9-11,16383-16383,");
}

static void slots_that_move_are_counted_apart(void **state) {
    (void)state;
    assert_ranges("0-9 [3->-aa] [12-<-bb]", "0-9,");
    assert_int_equal(lki_cluster_slots_open("0-9 [3->-aa] [12-<-bb]"), 2);
    assert_int_equal(lki_cluster_slots_open("0-9"), 0);
}

static void nonsense_is_left_out(void **state) {
    (void)state;
    assert_int_equal(read_all(""), 0);
    assert_int_equal(read_all("\n\n"), 0);
    assert_int_equal(read_all("aa\naa 10.0.0.1:7000\naa b c d e f g\n"), 0);
    assert_int_equal(read_all("aa nowhere master - 0 0 1 connected\n"
                              "aa 10.0.0.1:@1 master - 0 0 1 connected\n"
                              "bb 10.0.0.1:7000@17000 master - 0 0 1 connected 1"),
                     1);
    assert_string_equal(nodes[0].id, "bb");
    assert_ranges("5-3 16384 0-99999 x 99999999999999999999 2", "2-2,");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masters_and_replicas_are_told_apart),
        cmocka_unit_test(addresses_of_all_versions_are_read),
        cmocka_unit_test(slots_are_ranges),
        cmocka_unit_test(slots_that_move_are_counted_apart),
        cmocka_unit_test(nonsense_is_left_out),
    };
    return cmocka_run_group_tests_name("cluster nodes", tests, NULL, NULL);
}
