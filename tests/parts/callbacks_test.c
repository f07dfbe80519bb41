/*
 * Callbacks: one after the other, each once, all of them before the end; on a thread of their own,
 * or dispatched.
 */
#include "base/thread.h"
#include "session/callbacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <poll.h>

#include <cmocka.h>

enum { MANY = 1000 };

/* In the place of the library's, so that there can be none. */
static bool no_thread_left;
static int threads_started;

bool lki_thread_start(pthread_t *thread, void *(*run)(void *), void *context) {
    if (no_thread_left)
        return false;
    threads_started++;
    return pthread_create(thread, NULL, run, context) == 0;
}

static pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static lki_callbacks callbacks;

/* What the callbacks of a test write down; under the monitor. */
static lki_callback entries[MANY];
static unsigned runs[MANY];
static size_t order[2 * MANY], run_count;
static bool gate_open;
static _Atomic int running;
static _Atomic bool overlapped, still_queued;

static void note(size_t which) {
    runs[which]++;
    order[run_count++] = which;
    pthread_cond_broadcast(&changed);
}

static void run_noting(lki_callback *callback) {
    if (atomic_fetch_add(&running, 1) != 0)
        overlapped = true;
    pthread_mutex_lock(&monitor); /* which nobody holds for us */
    note((size_t)(callback - entries));
    pthread_mutex_unlock(&monitor);
    atomic_fetch_sub(&running, 1);
}

static void run_behind_the_gate(lki_callback *callback) {
    pthread_mutex_lock(&monitor);
    while (!gate_open)
        pthread_cond_wait(&changed, &monitor);
    pthread_mutex_unlock(&monitor);
    run_noting(callback);
}

static int set_up(void **state) {
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        entries[i] = (lki_callback){.run = run_noting};
        runs[i] = 0;
    }
    run_count = 0;
    threads_started = 0;
    gate_open = no_thread_left = false;
    overlapped = still_queued = false;
    lki_callbacks_init(&callbacks, &monitor, &changed);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return overlapped || still_queued;
}

static void start(void) {
    lki_error error;
    pthread_mutex_lock(&monitor);
    assert_int_equal(lki_callbacks_start(&callbacks, &error), LK_OK);
    pthread_mutex_unlock(&monitor);
}

static void add(size_t which) {
    pthread_mutex_lock(&monitor);
    lki_callbacks_add(&callbacks, &entries[which]);
    pthread_mutex_unlock(&monitor);
}

static void open_gate(void) {
    pthread_mutex_lock(&monitor);
    gate_open = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&monitor);
}

static void wait_for_runs(size_t count) {
    pthread_mutex_lock(&monitor);
    while (run_count < count)
        pthread_cond_wait(&changed, &monitor);
    pthread_mutex_unlock(&monitor);
}

static void assert_each_ran_once_in_order(size_t count) {
    assert_int_equal(run_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(order[i], i);
        assert_int_equal(runs[i], 1);
    }
}

/* --------------------------------------------------------------------------------------- order */

static void a_callback_runs_without_anybody_stopping(void **state) {
    (void)state;
    start();
    add(0);
    wait_for_runs(1);
    lki_callbacks_stop(&callbacks);
    assert_each_ran_once_in_order(1);
}

static void callbacks_run_once_each_in_the_order_of_asking(void **state) {
    (void)state;
    start();
    for (size_t i = 0; i < MANY; i++)
        add(i);
    wait_for_runs(MANY);
    lki_callbacks_stop(&callbacks);
    assert_each_ran_once_in_order(MANY);
}

static void callbacks_that_piled_up_run_in_the_order_of_asking(void **state) {
    (void)state;
    entries[0].run = run_behind_the_gate;
    start();
    for (size_t i = 0; i < MANY; i++)
        add(i);
    open_gate();
    wait_for_runs(MANY);
    lki_callbacks_stop(&callbacks);
    assert_each_ran_once_in_order(MANY);
}

/* The list was empty in between, and has to begin anew. */
static void callbacks_run_after_all_had_run(void **state) {
    (void)state;
    start();
    for (size_t i = 0; i < 50; i++) {
        add(i);
        wait_for_runs(i + 1);
    }
    lki_callbacks_stop(&callbacks);
    assert_each_ran_once_in_order(50);
}

static void a_callback_that_has_run_may_be_asked_for_again(void **state) {
    (void)state;
    start();
    add(0);
    wait_for_runs(1);
    add(0);
    wait_for_runs(2);
    lki_callbacks_stop(&callbacks);
    assert_int_equal(runs[0], 2);
}

static void run_asking_for_more(lki_callback *callback) {
    size_t which = (size_t)(callback - entries);
    pthread_mutex_lock(&monitor);
    note(which);
    if (callback->queued)
        still_queued = true;
    if (runs[which] < 2)
        lki_callbacks_add(&callbacks, callback);
    else
        lki_callbacks_add(&callbacks, &entries[which + 1]);
    pthread_mutex_unlock(&monitor);
}

static void a_callback_may_ask_for_itself_and_for_others(void **state) {
    (void)state;
    entries[0].run = run_asking_for_more;
    start();
    add(0);
    wait_for_runs(3);
    lki_callbacks_stop(&callbacks);
    assert_int_equal(runs[0], 2);
    assert_int_equal(runs[1], 1);
}

static void run_freeing(lki_callback *callback) {
    free(callback);
    pthread_mutex_lock(&monitor);
    note(0);
    pthread_mutex_unlock(&monitor);
}

static void a_callback_may_be_freed_while_it_runs(void **state) {
    (void)state;
    start();
    for (size_t i = 0; i < 100; i++) {
        lki_callback *callback = calloc(1, sizeof *callback);
        assert_non_null(callback);
        callback->run = run_freeing;
        pthread_mutex_lock(&monitor);
        lki_callbacks_add(&callbacks, callback);
        pthread_mutex_unlock(&monitor);
    }
    lki_callbacks_stop(&callbacks);
    assert_int_equal(run_count, 100);
}

static void *add_ten(void *context) {
    size_t first = *(size_t *)context;
    for (size_t i = first; i < first + 10; i++)
        add(i);
    return NULL;
}

static void callbacks_of_many_threads_run_once_each(void **state) {
    (void)state;
    pthread_t threads[20];
    size_t firsts[20];
    start();
    for (size_t i = 0; i < 20; i++) {
        firsts[i] = 10 * i;
        assert_int_equal(pthread_create(&threads[i], NULL, add_ten, &firsts[i]), 0);
    }
    for (size_t i = 0; i < 20; i++)
        pthread_join(threads[i], NULL);
    lki_callbacks_stop(&callbacks);
    assert_int_equal(run_count, 200);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(runs[i], 1);
}

/* -------------------------------------------------------------------------------------- inside */

static lki_callbacks others;
static bool was_inside, was_inside_others;

static void run_looking(lki_callback *callback) {
    was_inside = lki_callbacks_inside(&callbacks);
    was_inside_others = lki_callbacks_inside(&others);
    run_noting(callback);
}

static void a_callback_knows_that_it_is_inside_of_its_own(void **state) {
    (void)state;
    entries[0].run = run_looking;
    start();
    add(0);
    lki_callbacks_stop(&callbacks);
    assert_true(was_inside);
    assert_false(was_inside_others);
}

static void nobody_else_is_inside(void **state) {
    (void)state;
    assert_false(lki_callbacks_inside(&callbacks));
    entries[0].run = run_behind_the_gate;
    start();
    add(0);
    assert_false(lki_callbacks_inside(&callbacks));
    open_gate();
    lki_callbacks_stop(&callbacks);
    assert_false(lki_callbacks_inside(&callbacks));
}

/* ------------------------------------------------------------------------- starting, stopping */

static void there_is_one_thread_however_often_it_is_started(void **state) {
    (void)state;
    assert_int_equal(threads_started, 0);
    start();
    start();
    assert_int_equal(threads_started, 1);
    lki_callbacks_stop(&callbacks);
}

static void a_thread_that_cannot_be_started_is_told_and_may_be_tried_again(void **state) {
    (void)state;
    lki_error error = {0};
    no_thread_left = true;
    assert_int_equal(lki_callbacks_start(&callbacks, &error), LK_NOMEM);
    assert_int_equal(error.status, LK_NOMEM);
    no_thread_left = false;
    start();
    add(0);
    lki_callbacks_stop(&callbacks);
    assert_each_ran_once_in_order(1);
}

static void what_never_started_can_be_stopped(void **state) {
    (void)state;
    lki_callbacks_stop(&callbacks);
    assert_int_equal(threads_started, 0);
}

static void *stop(void *context) {
    lki_callbacks_stop(context);
    return NULL;
}

static void stopping_runs_what_is_left(void **state) {
    (void)state;
    pthread_t stopper;
    entries[0].run = run_behind_the_gate;
    start();
    for (size_t i = 0; i < MANY; i++)
        add(i);
    assert_int_equal(pthread_create(&stopper, NULL, stop, &callbacks), 0);
    pthread_mutex_lock(&monitor);
    while (!callbacks.stopping) {
        pthread_mutex_unlock(&monitor);
        pthread_mutex_lock(&monitor);
    }
    assert_int_equal(run_count, 0);
    pthread_mutex_unlock(&monitor);
    open_gate();
    pthread_join(stopper, NULL);
    assert_each_ran_once_in_order(MANY);
}

static void stopping_runs_what_the_last_callbacks_ask_for(void **state) {
    (void)state;
    entries[0].run = run_asking_for_more;
    start();
    add(0);
    lki_callbacks_stop(&callbacks);
    assert_int_equal(run_count, 3);
}

/* -------------------------------------------------------------------------------- dispatched */

static int set_up_dispatched(void **state) {
    lki_error error;
    set_up(state);
    return lki_callbacks_dispatched(&callbacks, &error) == LK_OK ? 0 : -1;
}

static bool is_ready(void) {
    struct pollfd readable = {callbacks.ready, POLLIN, 0};
    return poll(&readable, 1, 0) == 1;
}

static void dispatch(void) {
    pthread_mutex_lock(&monitor);
    lki_callbacks_dispatch(&callbacks);
    pthread_mutex_unlock(&monitor);
}

static bool run_about(const void *about) {
    pthread_mutex_lock(&monitor);
    bool ran = lki_callbacks_run_about(&callbacks, about);
    pthread_mutex_unlock(&monitor);
    return ran;
}

static void dispatched_callbacks_run_when_asked_and_need_no_thread(void **state) {
    (void)state;
    start();
    assert_false(is_ready());
    for (size_t i = 0; i < 3; i++)
        add(i);
    assert_true(is_ready());
    assert_int_equal(run_count, 0);
    dispatch();
    assert_each_ran_once_in_order(3);
    assert_false(is_ready());
    dispatch();
    assert_int_equal(run_count, 3);
    assert_int_equal(threads_started, 0);
    lki_callbacks_stop(&callbacks);
}

static void what_callbacks_ask_for_is_for_the_next_time(void **state) {
    (void)state;
    entries[0].run = run_asking_for_more;
    add(0);
    dispatch();
    assert_int_equal(run_count, 1);
    assert_true(is_ready());
    dispatch();
    assert_int_equal(run_count, 2);
    dispatch();
    assert_int_equal(run_count, 3);
    assert_false(is_ready());
    lki_callbacks_stop(&callbacks);
}

static void callbacks_about_one_thing_are_run_apart(void **state) {
    (void)state;
    int one, other;
    for (size_t i = 0; i < 6; i++) {
        entries[i].about = i % 2 ? &other : &one;
        add(i);
    }
    while (run_about(&other)) {}
    assert_int_equal(run_count, 3);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[2], 5); /* the last one in the list */
    assert_true(is_ready());
    entries[1].about = NULL;
    add(1);
    while (run_about(&one)) {}
    assert_int_equal(run_count, 6);
    assert_true(is_ready());
    dispatch();
    assert_int_equal(order[6], 1);
    assert_false(is_ready());
    assert_false(run_about(&one));
    lki_callbacks_stop(&callbacks);
}

static bool was_ready, ran_about_it;

/* In a callback: nobody else may run one meanwhile. */
static void run_dispatching(lki_callback *callback) {
    was_ready = is_ready();
    dispatch();
    ran_about_it = run_about(NULL);
    was_inside = lki_callbacks_inside(&callbacks);
    run_noting(callback);
}

static void one_thread_at_a_time_runs_them(void **state) {
    (void)state;
    entries[0].run = run_dispatching;
    was_ready = ran_about_it = true;
    was_inside = false;
    add(0);
    add(1);
    dispatch();
    assert_each_ran_once_in_order(2);
    assert_false(was_ready);
    assert_false(ran_about_it);
    assert_true(was_inside);
    assert_false(lki_callbacks_inside(&callbacks));
    lki_callbacks_stop(&callbacks);
}

static bool was_inside_outer, was_inside_after;

/* A callback of these that dispatches those of others: it is inside both. */
static void run_inner(lki_callback *callback) {
    (void)callback;
    was_inside_outer = lki_callbacks_inside(&callbacks);
    was_inside_others = lki_callbacks_inside(&others);
}

static void run_outer(lki_callback *callback) {
    lki_callback inner = {.run = run_inner};
    pthread_mutex_lock(&monitor);
    lki_callbacks_add(&others, &inner);
    lki_callbacks_dispatch(&others);
    pthread_mutex_unlock(&monitor);
    was_inside_after = lki_callbacks_inside(&callbacks) && !lki_callbacks_inside(&others);
    run_noting(callback);
}

static void a_callback_may_dispatch_those_of_another_client(void **state) {
    (void)state;
    lki_error error;
    lki_callbacks_init(&others, &monitor, &changed);
    assert_int_equal(lki_callbacks_dispatched(&others, &error), LK_OK);
    was_inside_outer = was_inside_others = was_inside_after = false;
    entries[0].run = run_outer;
    add(0);
    dispatch();
    assert_int_equal(run_count, 1);
    assert_true(was_inside_outer && was_inside_others && was_inside_after);
    lki_callbacks_stop(&callbacks);
    lki_callbacks_stop(&others);
}

static void *dispatch_once(void *context) {
    (void)context;
    dispatch();
    return NULL;
}

static void stopping_waits_for_who_runs_some_and_runs_what_is_left(void **state) {
    (void)state;
    pthread_t runner, stopper;
    entries[0].run = run_behind_the_gate;
    entries[1].run = run_asking_for_more; /* twice, and then the next */
    add(0);
    assert_int_equal(pthread_create(&runner, NULL, dispatch_once, NULL), 0);
    for (bool runs_some = false; !runs_some;) {
        pthread_mutex_lock(&monitor);
        runs_some = callbacks.running;
        pthread_mutex_unlock(&monitor);
    }
    add(1);
    assert_int_equal(pthread_create(&stopper, NULL, stop, &callbacks), 0);
    for (bool stopping = false; !stopping;) {
        pthread_mutex_lock(&monitor);
        stopping = callbacks.stopping;
        pthread_mutex_unlock(&monitor);
    }
    open_gate();
    pthread_join(stopper, NULL);
    pthread_join(runner, NULL);
    assert_int_equal(run_count, 4);
    assert_int_equal(order[0], 0);
    assert_int_equal(callbacks.ready, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_callback_runs_without_anybody_stopping, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(callbacks_run_once_each_in_the_order_of_asking, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(callbacks_that_piled_up_run_in_the_order_of_asking, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(callbacks_run_after_all_had_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_callback_that_has_run_may_be_asked_for_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_callback_may_ask_for_itself_and_for_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_callback_may_be_freed_while_it_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(callbacks_of_many_threads_run_once_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_callback_knows_that_it_is_inside_of_its_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nobody_else_is_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_is_one_thread_however_often_it_is_started, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_thread_that_cannot_be_started_is_told_and_may_be_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_never_started_can_be_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stopping_runs_what_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stopping_runs_what_the_last_callbacks_ask_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(dispatched_callbacks_run_when_asked_and_need_no_thread,
                                        set_up_dispatched, tear_down),
        cmocka_unit_test_setup_teardown(what_callbacks_ask_for_is_for_the_next_time,
                                        set_up_dispatched, tear_down),
        cmocka_unit_test_setup_teardown(callbacks_about_one_thing_are_run_apart, set_up_dispatched,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_thread_at_a_time_runs_them, set_up_dispatched,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_callback_may_dispatch_those_of_another_client,
                                        set_up_dispatched, tear_down),
        cmocka_unit_test_setup_teardown(stopping_waits_for_who_runs_some_and_runs_what_is_left,
                                        set_up_dispatched, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
