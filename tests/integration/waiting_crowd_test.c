/* Many who wait: in order, over two connections, beside processes that die, for longer than their
 * leases. */
#include "old_world.h"

/* ------------------------------------------------------------------------------ order */

enum { PROCESSES = 4, EACH = 5, WRITERS = PROCESSES * EACH };

/* Which of the actors has something to say. */
static size_t who_answers(const actor *actors) {
    struct pollfd polled[PROCESSES];
    for (size_t i = 0; i < PROCESSES; i++)
        polled[i] = (struct pollfd){fileno(actors[i].answers), POLLIN, 0};
    if (poll(polled, PROCESSES, WORLD_PATIENCE_MS) < 1)
        fail_msg("nobody is granted the lock");
    size_t i = 0;
    while (!polled[i].revents)
        i++;
    return i;
}

static void writers_of_four_processes_come_in_the_order_of_queueing(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "w:fifo");
    actor actors[PROCESSES];
    char order[WRITERS][16];
    assert_ok(lk_wrlock(lock));
    for (size_t i = 0; i < PROCESSES; i++) {
        actors[i] = actor_start("writer");
        for (int h = 0; h < EACH; h++)
            actor_does(&actors[i], "new %d 30000 w:fifo writer-%zu-%d", h, i, h);
    }
    for (int h = 0; h < EACH; h++)
        for (size_t i = 0; i < PROCESSES; i++)
            actor_tell(&actors[i], "write %d -1", h);
    assert_eventually(waiter_total(client, "w:fifo") == WRITERS);
    lk_info *info = look(client, "w:fifo");
    for (size_t i = 0; i < WRITERS; i++)
        snprintf(order[i], sizeof order[i], "%s", info->waiters[i].owner);
    lk_info_free(info);

    assert_ok(lk_wrunlock(lock));
    uint64_t fence = 0;
    for (size_t granted = 0, released = 0; released < WRITERS;) {
        size_t who = who_answers(actors);
        actor_answer answer = actor_succeeds(&actors[who]);
        if (answer.released) { /* perhaps after the next one was granted */
            released++;
            continue;
        }
        char owner[32];
        snprintf(owner, sizeof owner, "writer-%zu-%d", who, answer.handle);
        assert_string_equal(owner, order[granted++]);
        assert_true(answer.fence > fence);
        fence = answer.fence;
        actor_tell(&actors[who], "unwrite %d", answer.handle);
    }
    for (size_t i = 0; i < PROCESSES; i++)
        actor_end(&actors[i]);
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

enum { CROWD = 1000 };

static atomic_int granted_so_far;

typedef struct {
    lk_lock *lock;
    lk_status taken, given;
    int place; /* among all grants */
    pthread_t thread;
} one_of_many;

static void *take_and_give(void *context) {
    one_of_many *self = context;
    self->taken = lk_wrlock(self->lock);
    self->place = atomic_fetch_add(&granted_so_far, 1);
    self->given = lk_wrunlock(self->lock);
    return NULL;
}

static int compare_owners(const void *a, const void *b) {
    const one_of_many *x = a, *y = b;
    return strcmp(lk_owner(x->lock), lk_owner(y->lock));
}

static const one_of_many *find(const one_of_many *crowd, const char *owner) {
    size_t low = 0, high = CROWD;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(lk_owner(crowd[middle].lock), owner) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    assert_true(low < CROWD);
    assert_string_equal(lk_owner(crowd[low].lock), owner);
    return &crowd[low];
}

static void a_thousand_threads_wait_over_two_connections_and_come_in_order(void **state) {
    (void)state;
    static one_of_many crowd[CROWD];
    lk_client *looker = open_client(), *client = open_with(&(lk_client_options){.app = "crowd"});
    lk_lock *first = handle_of(looker, "w:crowd");
    assert_ok(lk_wrlock(first));
    atomic_store(&granted_so_far, 0);
    for (size_t i = 0; i < CROWD; i++)
        crowd[i].lock = handle_of(client, "w:crowd");
    qsort(crowd, CROWD, sizeof *crowd, compare_owners);
    for (size_t i = 0; i < CROWD; i++)
        crowd[i].thread = thread_start(take_and_give, &crowd[i]);
    assert_eventually(waiter_total(looker, "w:crowd") == CROWD);
    assert_int_equal(world_connections("latchkey:crowd"), 2);
    lk_info *info = look(looker, "w:crowd");
    assert_int_equal(info->waiter_count, CROWD);

    assert_ok(lk_wrunlock(first));
    for (size_t i = 0; i < CROWD; i++)
        thread_join(crowd[i].thread);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(crowd[i].taken, LK_OK);
        assert_int_equal(crowd[i].given, LK_OK);
        assert_int_equal(find(crowd, info->waiters[i].owner)->place, i);
    }
    assert_int_equal(world_connections("latchkey:crowd"), 2);
    assert_nothing_left();
    for (size_t i = 0; i < CROWD; i++)
        lk_lock_free(crowd[i].lock);
    lk_info_free(info);
    lk_lock_free(first);
    lk_close(client);
    lk_close(looker);
}

/* ------------------------------------------------------------------------------ deaths */

/* A waiter of another process in the first place, that is killed; then the lock is given back. */
static void assert_no_stall(const char *name, int64_t lease_ms) {
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, name), handle_of(client, name)};
    taker second;
    actor doomed = actor_start("doomed");
    actor_does(&doomed, "new 0 %" PRId64 " %s", lease_ms, name);
    assert_ok(lk_wrlock(locks[0]));
    actor_tell(&doomed, "write 0 -1");
    assert_eventually(waiter_total(client, name) == 1);
    taker_queue(&second, locks[1], LK_WRITE, client, name, 2);
    actor_kill(&doomed);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(taker_join(&second));
    assert_true(second.took_ms < WORLD_PATIENCE_MS); /* not as long as a lease */
    free_handles(locks, 2);
    lk_close(client);
}

static void a_killed_waiter_does_not_stall_the_queue(void **state) {
    (void)state;
    assert_no_stall("w:dead-waiter", 300);
    assert_no_stall("w:dead-waiter-30s", 30000);
}

static void the_lock_of_a_killed_holder_goes_on_after_its_lease(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:dead-holder"), handle_of(client, "w:dead-holder")};
    taker waiters[2];
    actor doomed = actor_start("doomed");
    actor_does(&doomed, "new 0 500 w:dead-holder");
    actor_does(&doomed, "write 0 -1");
    taker_queue(&waiters[0], locks[0], LK_READ, client, "w:dead-holder", 1);
    taker_queue(&waiters[1], locks[1], LK_READ, client, "w:dead-holder", 2);
    actor_kill(&doomed);
    assert_ok(taker_join(&waiters[0]));
    assert_ok(taker_join(&waiters[1]));
    assert_true(waiters[0].took_ms < WORLD_PATIENCE_MS);
    free_handles(locks, 2);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ heartbeats */

static int64_t waited_ms(lk_client *client, const char *name, const lk_lock *lock) {
    lk_info *info = look(client, name);
    int64_t waited = -1;
    for (size_t i = 0; i < info->waiter_count; i++)
        if (strcmp(info->waiters[i].owner, lk_owner(lock)) == 0)
            waited = info->waiters[i].waited_ms;
    lk_info_free(info);
    return waited;
}

static void a_waiter_outlasts_its_own_liveness_and_keeps_its_place(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:heart"), handle_leased(client, "w:heart", 1500),
                        handle_of(client, "w:heart")};
    taker waiters[2];
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&waiters[0], locks[1], LK_WRITE, client, "w:heart", 1);
    taker_queue(&waiters[1], locks[2], LK_WRITE, client, "w:heart", 2);
    assert_eventually(waited_ms(client, "w:heart", locks[1]) >= 4000);
    assert_ok(lk_wrunlock(locks[0]));
    assert_true(is_holder(client, "w:heart", locks[1]));
    assert_ok(taker_join(&waiters[0]));
    assert_ok(lk_wrunlock(locks[1]));
    assert_ok(taker_join(&waiters[1]));
    free_handles(locks, 3);
    lk_close(client);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(writers_of_four_processes_come_in_the_order_of_queueing),
        world_test(a_thousand_threads_wait_over_two_connections_and_come_in_order),
        world_test(a_killed_waiter_does_not_stall_the_queue),
        world_test(the_lock_of_a_killed_holder_goes_on_after_its_lease),
        world_test(a_waiter_outlasts_its_own_liveness_and_keeps_its_place),
    };
    return world_main(argc, argv, tests);
}
