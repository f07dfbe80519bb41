/*
 * Releases and downgrades that a master confirmed, and that the server which takes its place never
 * saw. The client repeats them there, so that no lock stays held by nobody.
 */
#include "site.h"

#include "lk_scripts.h"

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

/* The new master still has the write hold, but the release names a read. */
TEST_WITH(two_clients, a_downgrade_that_was_not_replicated_is_repeated) {
    assert_ok(lk_wrlock(lock));
    stop_replication();
    assert_ok(lk_downgrade(lock));
    assert_ok(lk_rdunlock(lock));
    fail_over_to_cut_replica(former);
    assert_next_gets_it();
}

/* As if another client had used it there. */
static void load_script(const test_node *node, const char *name) {
    for (size_t i = 0; i < sizeof lki_scripts / sizeof *lki_scripts; i++)
        if (strcmp(lki_scripts[i].name, name) == 0)
            assert_true(test_node_tell(node, "SCRIPT LOAD %b", lki_scripts[i].text,
                                       (size_t)lki_scripts[i].length));
}

/* If the new master had to ask for the text of the downgrade, the release would come before it. */
TEST_WITH(two_clients, a_downgrade_is_repeated_before_its_release) {
    assert_ok(lk_wrlock(lock));
    for (size_t i = 0; i < test_sentinels_server_count(site); i++)
        load_script(server_at((int)i), "release");
    stop_replication();
    assert_ok(lk_downgrade(lock));
    assert_ok(lk_rdunlock(lock));
    fail_over_to_cut_replica(former);
    assert_next_gets_it();
}

/* ------------------------------------------------------------------------------ upgrades */

/* The new master has the hold with the fence that it had before the upgrade. */
TEST_WITH(two_clients, releases_of_an_upgrade_that_was_not_replicated_are_repeated) {
    assert_ok(lk_rdlock(lock));
    stop_replication();
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_rdunlock(lock));
    fail_over_to_cut_replica(former);
    assert_next_gets_it();
}

TEST_WITH(two_clients, an_upgrade_that_was_not_replicated_is_lost_and_leaves_no_read) {
    atomic_int losses = 0;
    lk_lock *watched = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_rdlock(watched));
    stop_replication();
    assert_ok(lk_wrlock(watched));
    fail_over_to_cut_replica(former);
    eventually(atomic_load(&losses) == 1);
    assert_status(lk_wrunlock(watched), LK_LOST);
    assert_status(lk_rdunlock(watched), LK_LOST);
    assert_next_gets_it();
    assert_int_equal(atomic_load(&losses), 1);
}

/* No caller is left that could be told of a loss. */
TEST_WITH(two_clients, a_release_in_doubt_of_an_upgrade_that_was_not_replicated_leaves_no_read) {
    lk_client *hasty = open_client_url(test_sentinels_url(site),
                                       &(lk_client_options){.command_timeout_ms = HASTY_MS});
    lk_lock *upgraded = new_leased_lock(hasty, "a", LEASE_MS);
    eventually(lk_rdlock(upgraded) == LK_OK);
    stop_replication();
    eventually(lk_wrlock(upgraded) == LK_OK);
    test_node_pause(server_at(former));
    assert_status(lk_wrunlock(upgraded), LK_UNAVAILABLE);
    assert_status(lk_rdunlock(upgraded), LK_UNAVAILABLE);
    fail_over_to_cut_replica(former);
    assert_next_gets_it();
}

/* ------------------------------------------------------------------------------ refused */

static void want_replicas(int number) {
    for (size_t i = 0; i < test_sentinels_server_count(site); i++)
        if ((int)i != former)
            assert_true(test_node_tell(server_at((int)i), "CONFIG SET min-replicas-to-write %d",
                                       number));
}

static bool has_refused(int index) {
    redisReply *reply = test_node_ask(server_at(index), "INFO errorstats");
    bool has = reply && reply->type == REDIS_REPLY_STRING && strstr(reply->str, "NOREPLICAS");
    freeReplyObject(reply);
    return has;
}

/* The new master refuses writes until want_replicas(0). */
static void fail_over_to_refusing_replica(void) {
    int now = fail_over_to_cut_replica(former);
    eventually(has_refused(now));
}

TEST_WITH(two_clients, a_repeat_that_is_refused_is_sent_again) {
    assert_ok(lk_wrlock(lock));
    former = master();
    want_replicas(5);
    stop_replication();
    assert_ok(lk_wrunlock(lock));
    fail_over_to_refusing_replica();
    want_replicas(0);
    assert_next_gets_it();
}

/* Before the repeat, it would make the repeat stale. */
TEST_WITH(two_clients, a_release_comes_after_the_repeats_of_its_hold) {
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdlock(lock));
    former = master();
    want_replicas(5);
    stop_replication();
    assert_ok(lk_rdunlock(lock));
    fail_over_to_refusing_replica();
    assert_status(lk_rdunlock(lock), LK_UNAVAILABLE); /* it goes on alone */
    want_replicas(0);
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
