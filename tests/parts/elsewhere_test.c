/*
 * MOVED, ASK and TRYAGAIN: which are followed, and which are for later. The servers are never
 * connected: real ones of version 7 say TRYAGAIN where earlier ones say ASK.
 */
#include "session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static lki_server servers[2];
static lki_server *both[] = {&servers[0], &servers[1]};
static lki_session session;
static lki_elsewhere elsewhere;

static size_t server_of(lki_topology *topology, unsigned slot) {
    (void)topology;
    (void)slot;
    return 0;
}

/* Each names the other. */
static lk_status redirect(lki_topology *topology, size_t from, const lki_redirect *given,
                          size_t *server) {
    (void)topology;
    (void)given;
    *server = 1 - from;
    return LK_OK;
}

static const lki_topology_methods methods = {.server_of = server_of, .redirect = redirect};
static lki_topology topology = {.methods = &methods};

static int begin(void **state) {
    (void)state;
    memset(servers, 0, sizeof servers);
    session.topology = &topology;
    session.servers = both;
    session.server_count = 2;
    for (size_t i = 0; i < 2; i++) {
        servers[i].session = &session;
        servers[i].index = i;
        servers[i].commands.wanted = true;
    }
    return 0;
}

static lki_refusal refused_at(size_t server, size_t keys, const char *reply) {
    return lki_server_refused(&servers[server], (lki_sent){.keys = keys}, reply, &elsewhere);
}

static void assert_for_later(lki_refusal refusal, bool is_split) {
    assert_int_equal(refusal.kind, LKI_REFUSED_LATER);
    assert_int_equal(refusal.status, LK_UNAVAILABLE);
    assert_int_equal(refusal.is_split, is_split);
    assert_null(elsewhere.to);
}

static void assert_followed_to(size_t server, lki_refusal refusal, bool asking) {
    assert_int_equal(refusal.kind, LKI_REFUSED_RESEND);
    assert_false(refusal.is_split);
    assert_ptr_equal(elsewhere.to, &servers[server]);
    assert_int_equal(elsewhere.asking, asking);
}

static void assert_followed(lki_refusal refusal, bool asking) {
    assert_followed_to(1, refusal, asking);
}

static void a_slot_that_has_moved_is_followed_with_all_its_keys(void **state) {
    (void)state;
    assert_followed(refused_at(0, 1, "MOVED 5 h:7001"), false);
    assert_followed(refused_at(0, 2, "MOVED 5 h:7001"), false);
}

static void ask_for_one_key_is_followed(void **state) {
    (void)state;
    assert_followed(refused_at(0, 1, "ASK 5 h:7001"), true);
}

/* One of them may still be here. The other server would take its lock for a free one. */
static void ask_for_several_keys_is_not_followed(void **state) {
    (void)state;
    assert_for_later(refused_at(0, 2, "ASK 5 h:7001"), true);
}

static void several_keys_that_are_not_in_one_place_are_named_one_by_one(void **state) {
    (void)state;
    assert_for_later(refused_at(0, 2, "TRYAGAIN Multiple keys request"), true);
    assert_for_later(refused_at(0, 1, "TRYAGAIN Multiple keys request"), false);
}

static void a_redirect_that_leads_back_is_for_later(void **state) {
    (void)state;
    assert_followed(refused_at(0, 1, "ASK 5 h:7001"), true);
    assert_for_later(refused_at(1, 1, "MOVED 5 h:7000"), false);
}

/* Slot 5 moves there, and slot 6 comes from there. */
static void slots_may_move_both_ways_at_the_same_time(void **state) {
    (void)state;
    assert_followed(refused_at(0, 1, "MOVED 5 h:7001"), false);
    assert_followed_to(0, refused_at(1, 1, "MOVED 6 h:7000"), false);
    assert_for_later(refused_at(1, 1, "MOVED 5 h:7000"), false);
    assert_for_later(refused_at(0, 1, "MOVED 6 h:7001"), false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_slot_that_has_moved_is_followed_with_all_its_keys, begin),
        cmocka_unit_test_setup(ask_for_one_key_is_followed, begin),
        cmocka_unit_test_setup(ask_for_several_keys_is_not_followed, begin),
        cmocka_unit_test_setup(several_keys_that_are_not_in_one_place_are_named_one_by_one, begin),
        cmocka_unit_test_setup(a_redirect_that_leads_back_is_for_later, begin),
        cmocka_unit_test_setup(slots_may_move_both_ways_at_the_same_time, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
