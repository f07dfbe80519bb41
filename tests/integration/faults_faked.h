/*
 * One client of a fake server that has the real one behind it, for answers that the real one does
 * not give. Include after cmocka.h.
 */
#ifndef TEST_FAULTS_FAKED_H
#define TEST_FAULTS_FAKED_H

#include "faults_world.h"

static fake_server *fake; /* before the real one */
static lk_client *client; /* of `fake`; a test opens it by open_here */
static lk_lock *lock;     /* on "a", of `client` */
static call waiting;

static inline int setup(void **state) {
    empty_server(state);
    fake = start_fake();
    client = NULL;
    lock = NULL;
    return 0;
}

static inline int teardown(void **state) {
    (void)state;
    lk_lock_free(lock);
    lk_close(client);
    fake_server_stop(fake);
    return 0;
}

static inline void open_here(int64_t command_timeout_ms) {
    client = open_client(fake_server_socket(fake), command_timeout_ms);
    lock = new_lock(client, "a", 0);
}

#endif
