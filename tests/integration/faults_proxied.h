/*
 * Two clients of one server, for what a network does to one of them: a proxy stands before
 * `client`, and none before `other`. Include after cmocka.h.
 */
#ifndef TEST_FAULTS_PROXIED_H
#define TEST_FAULTS_PROXIED_H

#include "faults_world.h"

static proxy *net;             /* between `client` and the server */
static lk_client *client;      /* suffers */
static lk_client *other;       /* does not */
static lk_lock *lock, *holder; /* on "a", of each of them */
static call waiting;           /* of `lock` */

static inline int setup_with(void **state, int64_t command_timeout_ms) {
    empty_server(state);
    net = start_proxy();
    client = open_client(proxy_socket(net), command_timeout_ms);
    other = open_client(test_server_socket(server), PATIENT_MS);
    teach_scripts(client, eye);
    lock = new_lock(client, "a", 0);
    holder = new_lock(other, "a", 0);
    return 0;
}

static inline int setup(void **state) {
    return setup_with(state, PATIENT_MS);
}

static inline int setup_hasty(void **state) {
    return setup_with(state, HASTY_MS);
}

static inline int teardown(void **state) {
    (void)state;
    lk_lock_free(lock);
    lk_lock_free(holder);
    lk_close(client);
    lk_close(other);
    proxy_stop(net);
    return 0;
}

/* `holder` holds, and `lock` waits. */
static inline void wait_behind_holder(void) {
    assert_status(lk_wrlock(holder), LK_OK);
    begin_wait(&waiting, lock, other, "a");
}

/* `lock` does not wait any more, and nothing is left when `holder` is unlocked. */
static inline void expect_no_waiter(void) {
    eventually(look_at(other, "a").waiters == 0);
    assert_status(lk_wrunlock(holder), LK_OK);
    eventually(is_empty(eye));
}

#endif
