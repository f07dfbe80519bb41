/*
 * Answers and messages are late, repeated or lost: a client never believes in a hold for longer
 * than the server grants it, and a late message changes nothing.
 */
#include "network.h"

enum { CLIENT_ID = 32, MARGIN_MS = 2 };

/* The part of a lease that the client may rely on (docs/GUARANTEES.md). */
static int64_t sure_ms(int64_t lease_ms, int64_t ago_ms) {
    return lease_ms * 99 / 100 - MARGIN_MS - ago_ms;
}

/* ------------------------------------------------------------------------------ late answers */

TEST_WITH(network, a_renewal_by_hand_counts_from_its_sending) {
    enum { LEASE_MS = 4000, LATE_MS = 1000 };
    lk_lock *late = NULL;
    lk_lock_options options = {.lease_ms = LEASE_MS, .manual_renew = true};
    late = new_lock_with(client, "a", &options);
    assert_ok(lk_wrlock(late));
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, LATE_MS);
    assert_ok(lk_renew(late, 0));
    assert_true(lk_remaining_ms(late) <= sure_ms(LEASE_MS, LATE_MS));
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, 0);
    assert_ok(lk_wrunlock(late));
}

/* Every answer is late. At no instant does the client count more, after the grant or a renewal. */
TEST_WITH(network, a_renewal_in_the_background_counts_from_its_sending) {
    enum { LEASE_MS = 1500, LATE_MS = 300, RENEWALS = 3, SAMPLE_MS = 1 };
    lk_lock *late = new_leased_lock(client, "a", LEASE_MS);
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, LATE_MS);
    assert_ok(lk_wrlock(late));
    for (int64_t end_ms = now_ms() + RENEWALS * LEASE_MS / 3 + LATE_MS; now_ms() < end_ms;) {
        assert_true(lk_remaining_ms(late) <= sure_ms(LEASE_MS, LATE_MS));
        sleep_ms(SAMPLE_MS);
    }
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, 0);
}

/* The server has granted the lock to another client before the answer arrives. */
TEST_WITH(network, a_hold_is_not_valid_while_its_release_is_on_the_way) {
    assert_ok(lk_wrlock(lock));
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    begin_call(&waiting, lk_wrunlock, lock);
    eventually(lk_trywrlock(holder) == LK_OK);
    assert_false(atomic_load(&waiting.over));
    assert_false(lk_valid(lock));
    assert_int_equal(lk_remaining_ms(lock), 0);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(holder));
}

/* ------------------------------------------------------------------------------ late messages */

/* Receives the messages for `client`, so that the test can publish them once more. */
static redisContext *ear;
static char *channel;

static void listen_beside(const lk_lock *of_client) {
    ear = connect_to(server);
    channel = world_print("lk:%.*s", CLIENT_ID, lk_owner(of_client));
    redisReply *reply = redisCommand(ear, "SUBSCRIBE %s", channel);
    assert_non_null(reply);
    freeReplyObject(reply);
}

/* The next message that begins with `kind`; the caller frees it. */
static redisReply *hear(const char *kind) {
    for (;;) {
        redisReply *reply = NULL;
        redisSetTimeout(ear, (struct timeval){.tv_sec = LONG_MS / 1000});
        assert_int_equal(redisGetReply(ear, (void **)&reply), REDIS_OK);
        if (strncmp(reply->element[2]->str, kind, strlen(kind)) == 0)
            return reply;
        freeReplyObject(reply);
    }
}

static void publish_again(const redisReply *message) {
    const redisReply *text = message->element[2];
    redisReply *reply = redisCommand(probe, "PUBLISH %s %b", channel, text->str, (size_t)text->len);
    assert_non_null(reply);
    freeReplyObject(reply);
}

/* Returns when `client` has handled every message that was published until now. */
static void hear_all(void) {
    lk_lock *ours = new_lock(client, "b"), *theirs = new_lock(other, "b");
    call ours_waiting;
    assert_ok(lk_wrlock(theirs));
    begin_wait(&ours_waiting, ours, LK_WRITE, other, "b", 1);
    assert_ok(lk_wrunlock(theirs));
    assert_call(&ours_waiting, LK_OK);
    free_lock(ours);
    free_lock(theirs);
}

/* The waiter missed its turn, and waits again when the message of that turn arrives. */
TEST_WITH(network, a_grant_that_ran_out_is_not_taken_for_the_next) {
    lk_lock *next = new_lock(other, "a");
    call next_waiting;
    listen_beside(lock);
    wait_behind_holder();
    begin_call(&next_waiting, lk_wrlock, next);
    eventually(look_at(other, "a").waiters == 2);
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    assert_ok(lk_wrunlock(holder));
    redisReply *message = hear("granted");
    assert_call(&next_waiting, LK_OK); /* `lock` did not claim its grant */
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    eventually(look_at(other, "a").waiters == 1);
    publish_again(message);
    hear_all();
    assert_false(lk_valid(lock));
    assert_false(atomic_load(&waiting.over));
    assert_ok(lk_wrunlock(next));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(lock));
    freeReplyObject(message);
}

/*
 * The answer to the acquire is lost. The lock is granted, and the grant expires, before the client
 * repeats its request. The message of that grant arrives when the client waits again.
 */
TEST_WITH(network, a_grant_of_an_earlier_try_is_not_taken_for_the_next) {
    lk_lock *next = new_lock(other, "a");
    call next_waiting;
    assert_ok(lk_wrlock(holder));
    size_t cuts = proxy_cuts(net);
    proxy_refuse(net, true);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    eventually(proxy_cuts(net) > cuts);
    begin_call(&next_waiting, lk_wrlock, next);
    eventually(look_at(other, "a").waiters == 2);
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    assert_ok(lk_wrunlock(holder));
    assert_call(&next_waiting, LK_OK); /* `lock` did not claim its grant */
    proxy_refuse(net, false);
    eventually(look_at(other, "a").waiters == 1);
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    hear_all();
    assert_false(lk_valid(lock));
    assert_false(atomic_load(&waiting.over));
    assert_ok(lk_wrunlock(next));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(lock));
}

/*
 * The client sent its request long ago, and repeated it. Only the new connection for messages
 * proves that the grant is recent: the client cannot ask the server.
 */
TEST_WITH(network, a_grant_over_a_new_connection_is_believed_without_an_answer) {
    enum { DEAF_MS = 1100 }; /* a grant must be claimed within a second */
    assert_ok(lk_wrlock(holder));
    size_t cuts = proxy_cuts(net);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    eventually(proxy_cuts(net) > cuts && proxy_connections_now(net, PROXY_COMMANDS) == 1);
    proxy_refuse(net, true);
    proxy_cut_all(net, PROXY_SUBSCRIPTIONS);
    sleep_ms(DEAF_MS);
    proxy_refuse(net, false);
    eventually(proxy_connections_now(net, PROXY_SUBSCRIPTIONS) == 1);
    hear_all(); /* the refresh that follows the subscription has its answer, too */
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    lk_wrunlock(lock); /* the grant may have expired in the server */
}

/*
 * A lost write must expire in the server, so that it leaves its mark. The late message of its grant
 * must not make the client release it.
 */
TEST_WITH(network, a_late_message_of_its_grant_does_not_give_back_a_lost_write) {
    enum { LEASE_MS = 4000 }; /* the server has it for 42 ms more than the client */
    atomic_int losses = 0;
    lk_lock *lost = NULL;
    lk_lock_options options = {
        .lease_ms = LEASE_MS, .manual_renew = true, .on_lost = count_loss, .on_lost_arg = &losses};
    lost = new_lock_with(client, "a", &options);
    listen_beside(lost);
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, lost, LK_WRITE, other, "a", 1);
    assert_ok(lk_wrunlock(holder));
    redisReply *message = hear("granted");
    assert_call(&waiting, LK_OK);
    eventually(atomic_load(&losses) == 1);
    assert_status(lk_wrunlock(lost), LK_LOST);
    publish_again(message);
    assert_ok(lk_wrlock(holder));
    assert_true(lk_abandoned(holder));
    assert_ok(lk_wrunlock(holder));
    freeReplyObject(message);
}

/* The next renewal is far away: only the message can tell. */
TEST_WITH(network, a_forced_loss_is_told_by_its_message) {
    enum { LEASE_MS = 3600000 };
    atomic_int losses = 0;
    lk_lock *forced = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(forced));
    assert_ok(lk_force_release(other, "a", NULL));
    eventually(atomic_load(&losses) == 1);
    assert_false(lk_valid(forced));
    assert_status(lk_wrunlock(forced), LK_LOST);
}

/* It never renews by itself, so no renewal can tell either. */
TEST_WITH(network, a_forced_loss_of_a_hold_that_is_renewed_by_hand_is_told_by_its_message) {
    atomic_int losses = 0;
    lk_lock_options options = {.manual_renew = true, .on_lost = count_loss, .on_lost_arg = &losses};
    lk_lock *forced = new_lock_with(client, "a", &options);
    make_it_listen(client);
    assert_ok(lk_wrlock(forced));
    assert_ok(lk_force_release(other, "a", NULL));
    eventually(atomic_load(&losses) == 1);
    assert_false(lk_valid(forced));
    assert_status(lk_wrunlock(forced), LK_LOST);
}

/*
 * A grant that this handle does not wait for any more, as the server would tell it (SPEC 10.10,
 * 10.11). The client cannot know its mode, so it releases both.
 */
TEST_WITH(network, a_grant_that_nobody_waits_for_is_released) {
    lk_lock *idle = new_lock(client, "unknown");
    const char *handle = lk_owner(idle); /* no owner was given: the handle's own text */
    teach_scripts(client);
    long long scripts = command_calls("evalsha");
    const char *its_channel = world_print("lk:%.32s", handle);
    const char *text = world_print("granted %s 1 1234567 1700000000000000 1000 0", handle);
    freeReplyObject(redisCommand(probe, "PUBLISH %s %s", its_channel, text));
    eventually(command_calls("evalsha") == scripts + 2);
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ claims */

/*
 * The connection is cut before the claim. The client claims a hold with manual_renew all the same.
 */
TEST_WITH(network, a_hold_that_is_renewed_by_hand_is_claimed_after_a_cut) {
    enum { LEASE_MS = 30000, CLAIM_MS = 1000 };
    lk_lock *manual = NULL;
    lk_lock_options options = {.lease_ms = LEASE_MS, .manual_renew = true};
    manual = new_lock_with(client, "a", &options);
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, manual, LK_WRITE, other, "a", 1);
    size_t cuts = proxy_cuts(net);
    proxy_cut_before_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    eventually(proxy_cuts(net) > cuts);
    eventually(!lk_valid(manual) || lk_remaining_ms(manual) > CLAIM_MS);
    assert_true(lk_valid(manual));
    assert_ok(lk_wrunlock(manual));
}

int main(void) {
    return world_run(begin_world);
}
