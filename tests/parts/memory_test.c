/*
 * Out of memory is a status: each allocation of the library is refused once, in turn, in the course
 * of a scenario that uses all of it. Every call works or says LK_NOMEM (LK_UNAVAILABLE where it was
 * the background that failed), nothing hangs, and the server is empty in the end. That nothing
 * leaks is seen under AddressSanitizer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "world.h"

enum { EMPTY_MS = 4000 }; /* until nothing is left: far below the leases */

/* ------------------------------------------------------------------------------ refusing one */

static atomic_long allocations, refused_one;

static bool refuses(void) {
    return atomic_fetch_add(&allocations, 1) == atomic_load(&refused_one);
}

static void begin_refusing(long which) {
    atomic_store(&allocations, 0);
    atomic_store(&refused_one, which);
    lki_memory_refuse(refuses);
}

/* Whether one was refused. */
static bool end_refusing(void) {
    lki_memory_refuse(NULL);
    return atomic_load(&allocations) > atomic_load(&refused_one);
}

/* ------------------------------------------------------------------------------ what may be said
 */

#define worked(call) check_worked((call), #call)

static bool check_worked(lk_status status, const char *what) {
    if (status == LK_OK)
        return true;
    if (status != LK_NOMEM && status != LK_UNAVAILABLE)
        fail_msg("allocation %ld: %s is %s: %s", atomic_load(&refused_one), what,
                 lk_status_name(status), lk_last_error());
    assert_true(*lk_last_error());
    return false;
}

/* A release that finds no memory changes nothing: it is called again. */
static void unlock(lk_lock *lock, lk_status (*run)(lk_lock *)) {
    while (!worked(run(lock))) {}
}

/* ------------------------------------------------------------------------------ the scenario */

typedef struct {
    lk_client *client, *other;
    lk_lock *lock;  /* of client */
    lk_lock *rival; /* of other */
    atomic_int losses;
} world;

static void hear_log(lk_log_level level, const char *line, void *arg) {
    (void)level, (void)line, (void)arg;
}

static bool open_all(world *self) {
    char *url = test_print("unix://%s", test_server_socket(server));
    lk_client_options options = {.app = "memory", .prefix = "lk", .log = hear_log};
    lk_lock_options watched = {.lease_ms = 20000,
                               .group = "readers",
                               .owner = "me",
                               .on_lost = count_loss,
                               .on_lost_arg = &self->losses};
    bool opened = worked(lk_open(url, &options, &self->client)) &&
                  worked(lk_open(url, NULL, &self->other)) &&
                  worked(lk_lock_new(self->client, "a", &watched, &self->lock)) &&
                  worked(lk_lock_new(self->other, "a", NULL, &self->rival));
    free(url);
    return opened;
}

static void close_all(world *self) {
    lk_lock_free(self->lock);
    lk_close(self->client);
    lk_close(self->other);
    lk_lock_free(self->rival);
}

static void take_and_try(world *self) {
    if (!worked(lk_wrlock(self->lock)))
        return;
    lk_status status = lk_trywrlock(self->rival);
    if (status != LK_BUSY)
        assert_false(worked(status));
    status = lk_timedrdlock(self->rival, 5);
    if (status != LK_TIMEOUT)
        assert_false(worked(status));
    worked(lk_renew(self->lock, 0));
    unlock(self->lock, worked(lk_downgrade(self->lock)) ? lk_rdunlock : lk_wrunlock);
}

/* The value of the lock's key grows with each waiter. */
static long long lock_size(void) {
    return ask("STRLEN lk:{a}");
}

static void wait_for_hand_over(world *self) {
    call waiting;
    if (!worked(lk_wrlock(self->rival)))
        return;
    long long held_size = lock_size();
    begin_call(&waiting, lk_wrlock, self->lock);
    eventually(lock_size() > held_size || atomic_load(&waiting.over));
    unlock(self->rival, lk_wrunlock);
    if (worked(end_call(&waiting)))
        unlock(self->lock, lk_wrunlock);
}

static void wait_for_hand_over_by_callback(world *self) {
    tally taken = {0}, given = {0};
    if (!worked(lk_wrlock(self->rival)))
        return;
    long long held_size = lock_size();
    bool waits = worked(lk_acquire_async(self->lock, LK_WRITE, -1, tally_done, &taken));
    eventually(!waits || lock_size() > held_size || atomic_load(&taken.count));
    unlock(self->rival, lk_wrunlock);
    if (!waits)
        return;
    eventually(atomic_load(&taken.count) == 1);
    if (atomic_load(&taken.status) != LK_OK) {
        assert_true(atomic_load(&taken.status) == LK_NOMEM ||
                    atomic_load(&taken.status) == LK_UNAVAILABLE);
        return;
    }
    if (!worked(lk_release_async(self->lock, LK_WRITE, tally_done, &given))) {
        unlock(self->lock, lk_wrunlock);
        return;
    }
    eventually(atomic_load(&given.count) == 1);
    if (atomic_load(&given.status) == LK_NOMEM)
        unlock(self->lock, lk_wrunlock);
    else
        assert_int_equal(atomic_load(&given.status), LK_OK);
}

static void upgrade(world *self) {
    if (!worked(lk_rdlock(self->lock)))
        return;
    if (worked(lk_wrlock(self->lock)))
        unlock(self->lock, lk_unlock);
    unlock(self->lock, lk_unlock);
}

static void connect_again(world *self) {
    ask("CLIENT KILL TYPE normal SKIPME yes");
    ask("CLIENT KILL TYPE pubsub");
    if (worked(lk_wrlock(self->lock)))
        unlock(self->lock, lk_wrunlock);
    wait_for_hand_over(self);
}

static bool hear_name(const char *name, void *arg) {
    (void)name;
    ++*(int *)arg;
    return true;
}

static void see_and_force(world *self) {
    lk_info *info = NULL;
    int names = 0;
    if (!worked(lk_rdlock(self->lock)))
        return;
    if (worked(lk_inspect(self->other, "a", &info)))
        assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    if (worked(lk_list(self->other, "*", hear_name, &names)))
        assert_int_equal(names, 1);
    if (!worked(lk_force_release(self->other, "a", "me"))) {
        unlock(self->lock, lk_rdunlock);
        return;
    }
    eventually(!lk_valid(self->lock));
    lk_status status;
    do {
        status = lk_rdunlock(self->lock);
    } while (status == LK_NOMEM);
    assert_int_equal(status, LK_LOST);
    eventually(atomic_load(&self->losses) == 1);
}

static void run(void) {
    world self = {0};
    if (open_all(&self)) {
        take_and_try(&self);
        wait_for_hand_over(&self);
        wait_for_hand_over_by_callback(&self);
        upgrade(&self);
        connect_again(&self);
        see_and_force(&self);
        /* The ends of the handles and of the clients give these back. */
        worked(lk_rdlock(self.rival));
        lk_lock_options same = {.group = ""};
        lk_lock *freed = NULL;
        if (worked(lk_lock_new(self.client, "a", &same, &freed)))
            worked(lk_rdlock(freed));
        lk_lock_free(freed);
    }
    close_all(&self);
}

/* The order of the first 64 holds needs no memory. */
static void a_hold_whose_place_in_the_order_finds_no_memory_is_not_taken(void **state) {
    (void)state;
    world self = {0};
    atomic_store(&refused_one, -1);
    assert_true(open_all(&self));
    for (int i = 0; i < 64; i++)
        assert_int_equal(lk_rdlock(self.lock), LK_OK);
    begin_refusing(0);
    lk_status status = lk_rdlock(self.lock);
    assert_true(end_refusing());
    assert_int_equal(status, LK_NOMEM);
    assert_int_equal(lk_reads(self.lock), 64);
    assert_int_equal(lk_wrlock(self.lock), LK_OK);
    assert_int_equal(lk_unlock(self.lock), LK_OK);
    assert_int_equal(lk_reads(self.lock), 64);
    assert_int_equal(lk_writes(self.lock), 0);
    close_all(&self);
}

static bool gets_empty(void) {
    int64_t end_ms = now_ms() + EMPTY_MS;
    while (!is_empty()) {
        if (now_ms() > end_ms)
            return false;
        sleep_ms(2);
    }
    return true;
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    bool refused = true;
    long which = 0, leftovers = 0;
    for (; refused; which++) {
        begin_refusing(which);
        run();
        refused = end_refusing();
        if (!gets_empty()) {
            print_error("allocation %ld: something is left in the server\n", which);
            leftovers++;
            empty_server(NULL);
        }
    }
    assert_true(which > 20); /* else nothing was tested */
    assert_int_equal(leftovers, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hold_whose_place_in_the_order_finds_no_memory_is_not_taken),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("memory", tests, begin_world, end_world);
}
