/* Callbacks in the user's own event loop: lk_fd() and lk_dispatch(). */
#include "fake_server.h"
#include "old_world.h"

#include <dirent.h>
#include <sys/epoll.h>
#include <sys/resource.h>

static lk_client *open_dispatched(void) {
    return open_with(&(lk_client_options){.dispatch = true});
}

static bool is_readable(lk_client *client) {
    struct pollfd readable = {lk_fd(client), POLLIN, 0};
    return poll(&readable, 1, 0) == 1;
}

static int threads_of_this_process(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* What callbacks saw. Written by one thread at a time. */
typedef struct {
    tally done;
    pthread_t thread; /* of the last callback */
    lk_lock *locks[8];
} notes;

static void note_done(lk_lock *lock, lk_status status, void *arg) {
    notes *self = arg;
    int which = atomic_load(&self->done.count);
    self->thread = pthread_self();
    if (which < 8)
        self->locks[which] = lock;
    tally_done(lock, status, &self->done);
}

/* One callback each is pending, of operations that need no server. */
static void make_pending(lk_lock *lock, notes *self) {
    assert_ok(lk_release_async(lock, LK_WRITE, note_done, self)); /* LK_NOT_HELD */
}

/* ------------------------------------------------------------------------------ dispatching */

static void callbacks_run_on_the_thread_that_dispatches_and_not_before(void **state) {
    (void)state;
    lk_client *other = open_client(); /* a sanitizer has a thread too, once there are others */
    int threads = threads_of_this_process();
    lk_client *client = open_dispatched();
    lk_lock *lock = handle_of(client, "d:first");
    notes self = {0};
    assert_false(is_readable(client));
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, note_done, &self));
    assert_eventually(is_readable(client));
    assert_true(lk_valid(lock));
    assert_int_equal(atomic_load(&self.done.count), 0);
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_int_equal(atomic_load(&self.done.status), LK_OK);
    assert_true(pthread_equal(self.thread, pthread_self()));
    assert_false(is_readable(client));
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_eventually(threads_of_this_process() == threads + 1); /* the keeper */
    lk_lock_free(lock);
    lk_close(client);
    lk_close(other);
}

static void callbacks_run_in_the_order_in_which_they_became_due(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *locks[] = {handle_of(client, "d:a"), handle_of(client, "d:b"),
                        handle_of(client, "d:c")};
    notes self = {0};
    for (size_t i = 0; i < 3; i++)
        make_pending(locks[i], &self);
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.with[LK_NOT_HELD]), 3);
    assert_memory_equal(self.locks, locks, sizeof locks);
    free_handles(locks, 3);
    lk_close(client);
}

typedef struct {
    int calls;
} chain;

static void begin_again(lk_lock *lock, lk_status status, void *arg) {
    chain *self = arg;
    (void)status;
    self->calls++;
    if (lk_release_async(lock, LK_WRITE, begin_again, self) != LK_OK)
        self->calls = -1;
}

static void a_chain_of_callbacks_does_not_keep_the_loop(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *lock = handle_of(client, "d:chain");
    chain self = {0};
    begin_again(lock, LK_OK, &self);
    for (int i = 1; i < 10; i++) {
        assert_int_equal(self.calls, i);
        assert_true(is_readable(client));
        assert_ok(lk_dispatch(client));
    }
    lk_close(client); /* where no operation can be begun any more */
    lk_lock_free(lock);
}

typedef struct {
    atomic_int lines, errors;
    pthread_t thread;
} journal;

static void note_line(lk_log_level level, const char *line, void *arg) {
    journal *self = arg;
    (void)line;
    self->thread = pthread_self();
    atomic_fetch_add(&self->lines, 1);
    atomic_fetch_add(&self->errors, level == LK_LOG_ERROR);
}

static void losses_and_log_lines_are_dispatched_too(void **state) {
    (void)state;
    journal log = {0};
    tally lost = {0};
    lk_client *client =
        open_with(&(lk_client_options){.dispatch = true, .log = note_line, .log_arg = &log});
    lk_lock *lock = handle_with(
        client, "d:lost",
        &(lk_lock_options){.lease_ms = 300, .on_lost = tally_lost, .on_lost_arg = &lost});
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_dispatch(client));
    int before = atomic_load(&log.lines);
    assert_ok(lk_force_release(client, "d:lost", NULL));
    assert_eventually(!lk_valid(lock));
    assert_true(is_readable(client));
    assert_int_equal(atomic_load(&lost.losses), 0);
    assert_int_equal(atomic_load(&log.lines), before);
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&lost.losses), 1);
    assert_true(atomic_load(&log.lines) > before);
    assert_true(pthread_equal(log.thread, pthread_self()));
    lk_lock_free(lock);
    lk_close(client);
}

typedef struct {
    lk_client *client;
    lk_status dispatched, taken, listed;
    bool was_readable;
} attempts;

static bool hear_nothing(const char *name, void *arg) {
    (void)name, (void)arg;
    return true;
}

static void try_what_is_refused(lk_lock *lock, lk_status status, void *arg) {
    attempts *self = arg;
    (void)status;
    self->dispatched = lk_dispatch(self->client);
    self->taken = lk_wrlock(lock);
    self->listed = lk_list(self->client, NULL, hear_nothing, NULL);
    self->was_readable = is_readable(self->client);
    lk_close(self->client);
}

static void calls_that_block_are_refused_in_a_dispatched_callback(void **state) {
    (void)state;
    journal log = {0};
    lk_client *client =
        open_with(&(lk_client_options){.dispatch = true, .log = note_line, .log_arg = &log});
    lk_lock *lock = handle_of(client, "d:refused");
    attempts self = {.client = client, .was_readable = true};
    assert_ok(lk_release_async(lock, LK_WRITE, try_what_is_refused, &self));
    assert_ok(lk_dispatch(client));
    assert_int_equal(self.dispatched, LK_INVALID);
    assert_int_equal(self.taken, LK_INVALID);
    assert_int_equal(self.listed, LK_INVALID);
    assert_false(self.was_readable);
    assert_ok(lk_dispatch(client)); /* what lk_close() logged */
    assert_int_equal(atomic_load(&log.errors), 1);
    assert_ok(lk_wrlock(lock)); /* outside of a callback this thread may block */
    assert_ok(lk_wrunlock(lock));
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ a loop */

enum { JOBS = 20, ROUNDS = 50 };

typedef struct {
    lk_lock *lock;
    int rounds, faults;
    int *inside;
} job;

static void on_taken(lk_lock *, lk_status, void *);

static void on_given(lk_lock *lock, lk_status status, void *arg) {
    job *self = arg;
    self->faults += status != LK_OK;
    if (++self->rounds < ROUNDS)
        self->faults += lk_acquire_async(lock, LK_WRITE, -1, on_taken, self) != LK_OK;
}

static void on_taken(lk_lock *lock, lk_status status, void *arg) {
    job *self = arg;
    self->faults += status != LK_OK || ++*self->inside != 1;
    --*self->inside;
    self->faults += lk_release_async(lock, LK_WRITE, on_given, self) != LK_OK;
}

static bool are_over(const job jobs[]) {
    for (int i = 0; i < JOBS; i++)
        if (jobs[i].rounds < ROUNDS && jobs[i].faults == 0)
            return false;
    return true;
}

static void run_jobs_in_a_loop(uint32_t trigger) {
    lk_client *client = open_dispatched();
    job jobs[JOBS] = {0};
    int inside = 0, loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | trigger};
    assert_int_equal(epoll_ctl(loop, EPOLL_CTL_ADD, lk_fd(client), &event), 0);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (job){.lock = handle_of(client, "d:jobs"), .inside = &inside};
        assert_ok(lk_acquire_async(jobs[i].lock, LK_WRITE, -1, on_taken, &jobs[i]));
    }
    while (!are_over(jobs)) {
        assert_int_equal(epoll_wait(loop, &event, 1, WORLD_PATIENCE_MS), 1);
        assert_ok(lk_dispatch(client));
    }
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(jobs[i].faults, 0);
        lk_lock_free(jobs[i].lock);
    }
    assert_nothing_left();
    close(loop);
    lk_close(client);
}

static void a_loop_of_one_thread_takes_and_gives_back_a_thousand_times(void **state) {
    (void)state;
    run_jobs_in_a_loop(0);
}

static void an_edge_triggered_loop_misses_nothing(void **state) {
    (void)state;
    run_jobs_in_a_loop(EPOLLET);
}

/* ------------------------------------------------------------------------------ freeing */

static void freeing_a_handle_runs_its_callbacks_and_no_others(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *locks[] = {handle_of(client, "d:a"), handle_of(client, "d:b")}, *freed = locks[1];
    notes self = {0};
    make_pending(locks[0], &self);
    make_pending(locks[1], &self);
    make_pending(locks[1], &self);
    lk_lock_free(locks[1]);
    assert_int_equal(atomic_load(&self.done.count), 2);
    assert_ptr_equal(self.locks[0], freed);
    assert_ptr_equal(self.locks[1], freed);
    assert_true(pthread_equal(self.thread, pthread_self()));
    assert_true(is_readable(client));
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 3);
    assert_ptr_equal(self.locks[2], locks[0]);
    lk_lock_free(locks[0]);
    lk_close(client);
}

static void freeing_a_handle_that_waits_cancels_on_this_thread(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *holder = handle_of(client, "d:wait"), *waiter = handle_of(client, "d:wait");
    notes self = {0};
    assert_ok(lk_wrlock(holder));
    assert_ok(lk_acquire_async(waiter, LK_WRITE, -1, note_done, &self));
    assert_eventually(waiter_total(client, "d:wait") == 1);
    lk_lock_free(waiter);
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_int_equal(atomic_load(&self.done.status), LK_CANCELED);
    assert_false(is_readable(client));
    lk_lock_free(holder);
    lk_close(client);
}

/* A release is over with the server's answer: its callback is queued while the free waits. */
static void freeing_a_handle_waits_for_an_answer_and_runs_its_callback(void **state) {
    (void)state;
    fake_server *fake = fake_server_start(test_server_socket(world_server));
    char *url = test_print("unix://%s", fake_server_socket(fake));
    lk_client *client = NULL;
    assert_ok(lk_open(url, &(lk_client_options){.dispatch = true}, &client));
    lk_lock *lock = handle_of(client, "d:answer");
    notes self = {0};
    assert_ok(lk_wrlock(lock));
    fake_server_do(fake, "EVALSHA", 1, FAKE_PIECES); /* the answer takes its time */
    assert_ok(lk_release_async(lock, LK_WRITE, note_done, &self));
    lk_lock_free(lock);
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_int_equal(atomic_load(&self.done.status), LK_OK);
    lk_close(client);
    fake_server_stop(fake);
    free(url);
}

static void free_other(lk_lock *lock, lk_status status, void *arg) {
    (void)lock, (void)status;
    lk_lock_free(arg);
}

static void freeing_inside_a_callback_leaves_its_callbacks_to_the_loop(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *locks[] = {handle_of(client, "d:a"), handle_of(client, "d:b")}, *freed = locks[1];
    notes self = {0};
    assert_ok(lk_release_async(locks[0], LK_WRITE, free_other, freed));
    make_pending(freed, &self);
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_ptr_equal(self.locks[0], freed);
    lk_lock_free(locks[0]);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ closing */

static void closing_runs_what_is_left_on_this_thread(void **state) {
    (void)state;
    lk_client *client = open_dispatched(), *other = open_client();
    lk_lock *rival = handle_of(other, "d:close");
    lk_lock *locks[] = {handle_of(client, "d:close"), handle_of(client, "d:other")};
    notes self = {0};
    assert_ok(lk_wrlock(rival));
    assert_ok(lk_acquire_async(locks[0], LK_WRITE, -1, note_done, &self));
    assert_ok(lk_acquire_async(locks[1], LK_WRITE, -1, note_done, &self));
    assert_eventually(waiter_total(other, "d:close") == 1 && lk_valid(locks[1]));
    lk_close(client);
    assert_int_equal(atomic_load(&self.done.count), 2);
    assert_int_equal(atomic_load(&self.done.with[LK_CANCELED]), 1);
    assert_int_equal(atomic_load(&self.done.with[LK_OK]), 1);
    assert_true(pthread_equal(self.thread, pthread_self()));
    free_handles(locks, 2);
    lk_lock_free(rival);
    lk_close(other);
}

/* ------------------------------------------------------------------------------ many threads */

/* A callback that stays in until it is let out. */
typedef struct {
    atomic_bool entered, let_out;
    atomic_int count;
} gate;

static void pass_gate(lk_lock *lock, lk_status status, void *arg) {
    gate *self = arg;
    (void)lock, (void)status;
    atomic_store(&self->entered, true);
    while (!atomic_load(&self->let_out))
        pause_us(200);
    atomic_fetch_add(&self->count, 1);
}

typedef struct {
    lk_client *client;
    lk_status status;
    atomic_bool over;
} dispatcher;

static void *dispatch(void *context) {
    dispatcher *self = context;
    self->status = lk_dispatch(self->client);
    atomic_store(&self->over, true);
    return NULL;
}

static void *free_lock(void *context) {
    lk_lock_free(context);
    return NULL;
}

static void *close_client(void *context) {
    lk_close(context);
    return NULL;
}

/* Another thread is in a callback of `lock`. */
static pthread_t enter_gate(gate *self, lk_lock *lock, dispatcher *other) {
    assert_ok(lk_release_async(lock, LK_WRITE, pass_gate, self));
    pthread_t thread = thread_start(dispatch, other);
    assert_eventually(atomic_load(&self->entered));
    return thread;
}

static void a_second_thread_does_not_wait_for_the_first(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *lock = handle_of(client, "d:two");
    gate self = {0};
    notes after = {0};
    dispatcher other = {.client = client, .status = LK_INTERNAL};
    pthread_t thread = enter_gate(&self, lock, &other);
    make_pending(lock, &after);
    assert_false(is_readable(client)); /* else a second loop would spin */
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&after.done.count), 0);
    atomic_store(&self.let_out, true);
    thread_join(thread);
    assert_int_equal(other.status, LK_OK);
    assert_int_equal(atomic_load(&after.done.count), 0);
    assert_true(is_readable(client));
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&after.done.count), 1);
    lk_lock_free(lock);
    lk_close(client);
}

static void freeing_waits_while_another_thread_is_in_a_callback_of_the_handle(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *lock = handle_of(client, "d:free");
    gate self = {0};
    notes after = {0};
    dispatcher other = {.client = client, .status = LK_INTERNAL};
    pthread_t thread = enter_gate(&self, lock, &other);
    make_pending(lock, &after);
    pthread_t freeing = thread_start(free_lock, lock);
    pause_ms(20); /* if it did not wait it would run the second one now, or free the handle */
    assert_int_equal(atomic_load(&after.done.count), 0);
    assert_false(atomic_load(&other.over));
    atomic_store(&self.let_out, true);
    thread_join(freeing);
    assert_int_equal(atomic_load(&self.count), 1);
    assert_int_equal(atomic_load(&after.done.count), 1);
    thread_join(thread);
    lk_close(client);
}

static void freeing_a_handle_without_callbacks_waits_for_nobody(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *lock = handle_of(client, "d:gate"), *idle = handle_of(client, "d:idle");
    gate self = {0};
    dispatcher other = {.client = client, .status = LK_INTERNAL};
    pthread_t thread = enter_gate(&self, lock, &other);
    lk_lock_free(idle);
    assert_false(atomic_load(&other.over));
    atomic_store(&self.let_out, true);
    thread_join(thread);
    lk_lock_free(lock);
    lk_close(client);
}

static void closing_waits_while_another_thread_dispatches(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *lock = handle_of(client, "d:closing");
    gate self = {0};
    notes after = {0};
    dispatcher other = {.client = client, .status = LK_INTERNAL};
    pthread_t thread = enter_gate(&self, lock, &other);
    make_pending(lock, &after);
    pthread_t closing = thread_start(close_client, client);
    assert_eventually(lk_tryrdlock(lock) == LK_INVALID); /* it has begun */
    assert_int_equal(atomic_load(&after.done.count), 0);
    atomic_store(&self.let_out, true);
    thread_join(closing);
    assert_int_equal(atomic_load(&self.count), 1);
    assert_int_equal(atomic_load(&after.done.count), 1);
    thread_join(thread);
    lk_lock_free(lock);
}

/* Threads dispatch, free and close as they like: each callback is called once, none overlaps. */
enum { CROWD = 4, CROWD_ROUNDS = 50 };

typedef struct {
    lk_client *client;
    atomic_int begun, called, inside, overlaps;
    atomic_bool over;
} crowd;

static void count_one(lk_lock *lock, lk_status status, void *arg) {
    crowd *self = arg;
    (void)lock, (void)status;
    if (atomic_fetch_add(&self->inside, 1) != 0)
        atomic_fetch_add(&self->overlaps, 1);
    atomic_fetch_add(&self->called, 1);
    atomic_fetch_sub(&self->inside, 1);
}

static void *begin_and_free(void *context) {
    crowd *self = context;
    for (int i = 0; i < CROWD_ROUNDS; i++) {
        lk_lock *lock = NULL;
        if (lk_lock_new(self->client, "d:crowd", NULL, &lock) != LK_OK)
            break;
        for (int mode = LK_READ; mode <= LK_WRITE; mode++) {
            atomic_fetch_add(&self->begun,
                             lk_acquire_async(lock, (lk_mode)mode, 5, count_one, self) == LK_OK);
            atomic_fetch_add(&self->begun,
                             lk_release_async(lock, (lk_mode)mode, count_one, self) == LK_OK);
        }
        lk_lock_free(lock);
    }
    return NULL;
}

static void *dispatch_all_the_time(void *context) {
    crowd *self = context;
    while (!atomic_load(&self->over)) {
        struct pollfd readable = {lk_fd(self->client), POLLIN, 0};
        poll(&readable, 1, 1);
        lk_dispatch(self->client);
    }
    return NULL;
}

static void a_crowd_has_each_callback_once_and_one_at_a_time(void **state) {
    (void)state;
    crowd self = {.client = open_dispatched()};
    pthread_t beginners[CROWD], loops[2];
    for (int i = 0; i < 2; i++)
        loops[i] = thread_start(dispatch_all_the_time, &self);
    for (int i = 0; i < CROWD; i++)
        beginners[i] = thread_start(begin_and_free, &self);
    for (int i = 0; i < CROWD; i++)
        thread_join(beginners[i]);
    assert_int_equal(atomic_load(&self.called), atomic_load(&self.begun));
    atomic_store(&self.over, true);
    for (int i = 0; i < 2; i++)
        thread_join(loops[i]);
    assert_int_equal(atomic_load(&self.begun), CROWD * CROWD_ROUNDS * 4);
    assert_int_equal(atomic_load(&self.overlaps), 0);
    lk_close(self.client);
}

/* ------------------------------------------------------------------------------ the descriptor */

static void only_a_client_that_dispatches_has_a_descriptor(void **state) {
    (void)state;
    lk_client *client = open_client();
    assert_int_equal(lk_fd(client), -1);
    assert_int_equal(lk_fd(NULL), -1);
    assert_status(lk_dispatch(client), LK_INVALID);
    assert_says(lk_last_error(), "dispatch");
    assert_status(lk_dispatch(NULL), LK_INVALID);
    lk_close(client);
}

static void the_descriptor_is_closed_with_the_client_and_in_other_programs(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    int fd = lk_fd(client);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    lk_close(client);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void a_child_has_neither_descriptor_nor_callbacks(void **state) {
    (void)state;
    lk_client *client = open_dispatched();
    lk_lock *lock = handle_of(client, "d:fork");
    notes self = {0};
    int fd = lk_fd(client), status = -1;
    make_pending(lock, &self);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        if (lk_fd(client) != -1 || lk_dispatch(client) != LK_INVALID)
            _exit(1);
        lk_lock_free(lock);
        lk_close(client);
        _exit(fcntl(fd, F_GETFD) == -1 && atomic_load(&self.done.count) == 0 ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(is_readable(client)); /* the parent's */
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 1);
    lk_lock_free(lock);
    lk_close(client);
}

static void without_a_descriptor_for_it_the_client_is_not_opened(void **state) {
    (void)state;
    lk_client *client = NULL;
    struct rlimit limit, low;
    int lowest = dup(STDERR_FILENO); /* the one that lk_open() gets first */
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){(rlim_t)lowest + 1, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    lk_status status = lk_open(world_url, &(lk_client_options){.dispatch = true}, &client);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, LK_NOMEM);
    assert_says(lk_last_error(), "descriptor");
    assert_int_equal(fcntl(lowest, F_GETFD), -1); /* and nothing is left of it */
}

/* Programs that were compiled before it was there set eight reserved words to zero. */
static void the_option_is_where_zero_was_before(void **state) {
    (void)state;
    assert_int_equal(offsetof(lk_client_options, dispatch),
                     offsetof(lk_client_options, log_arg) + sizeof(void *));
    assert_int_equal(sizeof(lk_client_options),
                     offsetof(lk_client_options, dispatch) + 8 * sizeof(void *));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(callbacks_run_on_the_thread_that_dispatches_and_not_before),
        world_test(callbacks_run_in_the_order_in_which_they_became_due),
        world_test(a_chain_of_callbacks_does_not_keep_the_loop),
        world_test(losses_and_log_lines_are_dispatched_too),
        world_test(calls_that_block_are_refused_in_a_dispatched_callback),
        world_test(a_loop_of_one_thread_takes_and_gives_back_a_thousand_times),
        world_test(an_edge_triggered_loop_misses_nothing),
        world_test(freeing_a_handle_runs_its_callbacks_and_no_others),
        world_test(freeing_a_handle_that_waits_cancels_on_this_thread),
        world_test(freeing_a_handle_waits_for_an_answer_and_runs_its_callback),
        world_test(freeing_inside_a_callback_leaves_its_callbacks_to_the_loop),
        world_test(closing_runs_what_is_left_on_this_thread),
        world_test(a_second_thread_does_not_wait_for_the_first),
        world_test(freeing_waits_while_another_thread_is_in_a_callback_of_the_handle),
        world_test(freeing_a_handle_without_callbacks_waits_for_nobody),
        world_test(closing_waits_while_another_thread_dispatches),
        world_test(a_crowd_has_each_callback_once_and_one_at_a_time),
        world_test(only_a_client_that_dispatches_has_a_descriptor),
        world_test(the_descriptor_is_closed_with_the_client_and_in_other_programs),
        world_test(a_child_has_neither_descriptor_nor_callbacks),
        world_test(without_a_descriptor_for_it_the_client_is_not_opened),
        cmocka_unit_test(the_option_is_where_zero_was_before),
    };
    return world_main(argc, argv, tests);
}
