/*
 * What a handle believes when answers come in orders that the tests from outside cannot bring
 * about: the client's monitor is held throughout, so that the test alone decides what happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "client/client.h"
#include "lock/hold.h"
#include "lock/operation.h"
#include "world.h"

enum { CLAIM_MS = 1000 };

static lk_client *client;
static lk_lock *lock;

/* `lock` holds, and the monitor is held. */
static void hold(lk_status (*take)(lk_lock *)) {
    client = open_client_at(test_server_socket(server), PATIENT_MS);
    lock = new_lock(client, "a");
    assert_status(take(lock), LK_OK);
    pthread_mutex_lock(&client->session.monitor);
}

static void let_go(void) {
    pthread_mutex_unlock(&client->session.monitor);
    free_lock(lock);
    close_client(client);
}

/* An operation that nobody waits for, as lki_operation_begin leaves it. */
static lki_operation *begin(lki_kind kind, lk_mode mode) {
    lki_operation *op = lki_operation_new(lock, kind, mode);
    assert_non_null(op);
    lki_operation_retain(op);
    client->locks.operations++;
    lki_operation_set(op, LKI_UNSENT);
    return op;
}

/* A release that was asked, was cut off from its answer, and asked again. */
static lki_operation *begin_release_in_doubt(lk_mode mode) {
    lki_operation *op = begin(LKI_DO_RELEASE, mode);
    op->in_doubt = true;
    op->life = lock->server->life;
    op->fence = lock->fence;
    lock->asked = op;
    lki_operation_set(op, LKI_ASKED);
    return op;
}

static lk_status not_held(lki_operation *op) {
    lki_answer answer = {.word = LKI_ANSWER_NOT_HELD};
    lki_release_answered(op, &answer);
    lk_status status = op->result.status;
    assert_int_equal(op->state, LKI_OVER);
    lki_operation_release(op);
    return status;
}

static void a_repeated_release_that_is_not_held_was_done_before(void **state) {
    (void)state;
    hold(lk_wrlock);
    assert_int_equal(not_held(begin_release_in_doubt(LK_WRITE)), LK_OK);
    let_go();
}

/* Another server process answers, which may never have had the hold. */
static void a_repeated_release_that_is_not_held_on_another_server_was_lost(void **state) {
    (void)state;
    hold(lk_wrlock);
    lki_operation *op = begin_release_in_doubt(LK_WRITE);
    lock->server->life++;
    assert_int_equal(not_held(op), LK_LOST);
    let_go();
}

/* The keeper has not yet noticed that the lease is over. */
static void a_repeated_release_that_is_not_held_after_the_lease_was_lost(void **state) {
    (void)state;
    hold(lk_wrlock);
    lock->deadline_us = lki_now_us() - 1;
    assert_int_equal(not_held(begin_release_in_doubt(LK_WRITE)), LK_LOST);
    let_go();
}

/*
 * The last read is on its way back, in doubt, when another call of the handle is granted: that is a
 * hold of its own, and has nothing of the earlier one's lease.
 */
static void a_grant_while_the_last_release_is_in_doubt_begins_a_new_hold(void **state) {
    (void)state;
    hold(lk_rdlock);
    uint64_t fence = lock->fence + 1;
    lki_operation *release = begin_release_in_doubt(LK_READ);
    lki_operation *acquire = begin(LKI_DO_ACQUIRE, LK_WRITE);
    lki_operation_set(acquire, LKI_ASKED);
    lock->waiting = acquire;
    lki_operation_set(acquire, LKI_WAITING);
    lki_answer granted = {.word = LKI_ANSWER_GRANTED, .fence = fence, .ms = CLAIM_MS};
    lki_acquire_granted(acquire, &granted, lki_now_us(), false);
    assert_int_equal(acquire->result.status, LK_OK);
    assert_true(lock->deadline_us <= lki_lease_end_us(lki_now_us(), CLAIM_MS));
    assert_int_equal(lock->first_fence, fence);
    assert_int_equal(not_held(release), LK_OK); /* the earlier hold's, and gone as it should be */
    assert_true(lki_lock_holds(lock));
    assert_int_equal(lock->reads, 0);
    assert_int_equal(lock->writes, 1);
    lki_operation_release(acquire);
    let_go();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_repeated_release_that_is_not_held_was_done_before, empty_server),
        cmocka_unit_test_setup(a_repeated_release_that_is_not_held_on_another_server_was_lost,
                               empty_server),
        cmocka_unit_test_setup(a_repeated_release_that_is_not_held_after_the_lease_was_lost,
                               empty_server),
        cmocka_unit_test_setup(a_grant_while_the_last_release_is_in_doubt_begins_a_new_hold,
                               empty_server),
    };
    return cmocka_run_group_tests(tests, begin_world, end_world);
}
