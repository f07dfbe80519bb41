/*
 * Releases and downgrades that a master confirmed, and that the server which takes its place never
 * saw. The client repeats them there, so that no lock stays held by nobody.
 */
#include "site.h"

static lk_client *client, *other;
static lk_lock *lock, *next; /* on "a": the first of `client`, with a long lease */
static int former;           /* the master until the failover */

static void two_clients(void) {
    plain_site();
    client = open_at_site();
    other = open_at_site();
    lock = new_leased_lock(client, "a", LEASE_MS);
    next = new_lock(other, "a");
}

/* The replicas have what happened up to now, and nothing of what comes. */
static void stop_replication(void) {
    replicate();
    former = master();
    cut_replicas(former);
}

/* Long before the lease of `lock` has expired. */
static void assert_next_gets_it(void) {
    assert_ok(lk_timedwrlock(next, LEASE_MS / 2));
    assert_ok(lk_wrunlock(next));
}

/* ------------------------------------------------------------------------------ repeated */

TEST_WITH(two_clients, a_release_that_was_not_replicated_is_repeated) {
    assert_ok(lk_wrlock(lock));
    stop_replication();
    assert_ok(lk_wrunlock(lock));
    fail_over_to_cut_replica(former);
    assert_next_gets_it();
}

/* The new master has a write, and the release is that of a read. */
TEST_WITH(two_clients, a_downgrade_that_was_not_replicated_is_repeated) {
    assert_ok(lk_wrlock(lock));
    stop_replication();
    assert_ok(lk_downgrade(lock));
    assert_ok(lk_rdunlock(lock));
    fail_over_to_cut_replica(former);
    assert_next_gets_it();
}

/* ------------------------------------------------------------------------------ not repeated */

/* `not-held` of a server that never had the hold does not mean that the release was done. */
static void assert_release_in_doubt_is_lost(lk_client *its_client) {
    lk_lock *its_lock = new_leased_lock(its_client, "a", LEASE_MS);
    call releasing;
    former = master();
    cut_replicas(former);
    assert_ok(lk_wrlock(its_lock));
    test_node_pause(server_at(former));
    begin_call(&releasing, lk_wrunlock, its_lock);
    continue_replicas(former);
    other_master(former);
    assert_call(&releasing, LK_LOST);
}

TEST_WITH(plain_site, a_release_in_doubt_of_a_hold_that_was_not_replicated_is_lost) {
    assert_release_in_doubt_is_lost(open_at_site());
}

/* Without INFO, the client cannot know which server answers. */
TEST_WITH(plain_site, a_release_in_doubt_is_lost_if_the_servers_do_not_tell_who_they_are) {
    const char *url = test_sentinels_url(site), *hosts = strstr(url, "://") + strlen("://");
    for (size_t i = 0; i < test_sentinels_server_count(site); i++)
        assert_true(test_node_tell(server_at((int)i),
                                   "ACL SETUSER blind on >secret ~* &* +@all -info"));
    assert_release_in_doubt_is_lost(
        open_client_url(world_print("%.*sblind:secret@%s", (int)(hosts - url), url, hosts),
                        &(lk_client_options){.command_timeout_ms = FAILOVER_MS}));
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
