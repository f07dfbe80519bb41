/*
 * Many waiters: in order, over two connections, beside processes that die, for longer than leases.
 */
#include "world.h"

/* ------------------------------------------------------------------------------ order */

enum { PROCESSES = 4, EACH = 5, WRITERS = PROCESSES * EACH };

/* An actor that has an answer. */
static size_t who_answers(const actor *actors) {
    struct pollfd polled[PROCESSES];
    for (size_t i = 0; i < PROCESSES; i++)
        polled[i] = (struct pollfd){fileno(actors[i].answers), POLLIN, 0};
    if (poll(polled, PROCESSES, LONG_MS) < 1)
        fail_msg("nobody is granted the lock");
    size_t i = 0;
    while (!polled[i].revents)
        i++;
    return i;
}

TEST(writers_of_four_processes_come_in_the_order_of_queueing) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "w:fifo");
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
    eventually(look_at(client, "w:fifo").waiters == WRITERS);
    lk_info *info = inspect(client, "w:fifo");
    for (size_t i = 0; i < WRITERS; i++)
        snprintf(order[i], sizeof order[i], "%s", info->waiters[i].owner);

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

TEST(a_thousand_threads_wait_over_two_connections_and_come_in_order) {
    static one_of_many crowd[CROWD];
    lk_client *looker = open_client(),
              *client = open_client_with(&(lk_client_options){.app = "crowd"});
    lk_lock *first = new_lock(looker, "w:crowd");
    assert_ok(lk_wrlock(first));
    atomic_store(&granted_so_far, 0);
    for (size_t i = 0; i < CROWD; i++)
        crowd[i].lock = new_lock(client, "w:crowd");
    qsort(crowd, CROWD, sizeof *crowd, compare_owners);
    for (size_t i = 0; i < CROWD; i++)
        crowd[i].thread = thread_start(take_and_give, &crowd[i]);
    eventually(look_at(looker, "w:crowd").waiters == CROWD);
    assert_int_equal(connections_named("latchkey:crowd"), 2);
    lk_info *info = inspect(looker, "w:crowd");
    assert_int_equal(info->waiter_count, CROWD);

    assert_ok(lk_wrunlock(first));
    for (size_t i = 0; i < CROWD; i++)
        thread_join(crowd[i].thread);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(crowd[i].taken, LK_OK);
        assert_int_equal(crowd[i].given, LK_OK);
        assert_int_equal(find(crowd, info->waiters[i].owner)->place, i);
    }
    assert_int_equal(connections_named("latchkey:crowd"), 2);
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ deaths */

/* The first waiter is another process. It is killed, and then the holder unlocks. */
static void assert_no_stall(const char *name, int64_t lease_ms) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, name), new_lock(client, name)};
    call second;
    actor doomed = actor_start("doomed");
    actor_does(&doomed, "new 0 %" PRId64 " %s", lease_ms, name);
    assert_ok(lk_wrlock(locks[0]));
    actor_tell(&doomed, "write 0 -1");
    eventually(look_at(client, name).waiters == 1);
    begin_wait(&second, locks[1], LK_WRITE, client, name, 2);
    actor_kill(&doomed);
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&second, LK_OK);
    assert_true(second.took_ms < PATIENT_MS); /* not as long as a lease */
}

TEST(a_killed_waiter_does_not_stall_the_queue) {
    assert_no_stall("w:dead-waiter", 300);
    assert_no_stall("w:dead-waiter-30s", 30000);
}

TEST(the_lock_of_a_killed_holder_goes_on_after_its_lease) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:dead-holder"), new_lock(client, "w:dead-holder")};
    call waiters[2];
    actor doomed = actor_start("doomed");
    actor_does(&doomed, "new 0 500 w:dead-holder");
    actor_does(&doomed, "write 0 -1");
    begin_wait(&waiters[0], locks[0], LK_READ, client, "w:dead-holder", 1);
    begin_wait(&waiters[1], locks[1], LK_READ, client, "w:dead-holder", 2);
    actor_kill(&doomed);
    assert_call(&waiters[0], LK_OK);
    assert_call(&waiters[1], LK_OK);
    assert_true(waiters[0].took_ms < PATIENT_MS);
}

/* ------------------------------------------------------------------------------ heartbeats */

static int64_t waited_ms(lk_client *client, const char *name, const lk_lock *lock) {
    lk_info *info = inspect(client, name);
    int64_t waited = -1;
    for (size_t i = 0; i < info->waiter_count; i++)
        if (strcmp(info->waiters[i].owner, lk_owner(lock)) == 0)
            waited = info->waiters[i].waited_ms;
    return waited;
}

TEST(a_waiter_outlasts_its_own_liveness_and_keeps_its_place) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:heart"), new_leased_lock(client, "w:heart", 1500),
                        new_lock(client, "w:heart")};
    call waiters[2];
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiters[0], locks[1], LK_WRITE, client, "w:heart", 1);
    begin_wait(&waiters[1], locks[2], LK_WRITE, client, "w:heart", 2);
    eventually(waited_ms(client, "w:heart", locks[1]) >= 4000);
    assert_ok(lk_wrunlock(locks[0]));
    assert_true(is_holder(client, "w:heart", locks[1]));
    assert_call(&waiters[0], LK_OK);
    assert_ok(lk_wrunlock(locks[1]));
    assert_call(&waiters[1], LK_OK);
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
