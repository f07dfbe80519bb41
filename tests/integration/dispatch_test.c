/* Callbacks in the user's own event loop: lk_fd() and lk_dispatch(). */
#include "world.h"

#include <dirent.h>
#include <sys/epoll.h>
#include <sys/resource.h>

static lk_client *open_dispatched(void) {
    return open_client_with(&(lk_client_options){.dispatch = true});
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

/* Notes of callbacks. One thread at a time writes them. */
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

/* Makes one callback pending, of an operation that needs no server. */
static void make_pending(lk_lock *lock, notes *self) {
    assert_ok(lk_release_async(lock, LK_WRITE, note_done, self)); /* LK_NOT_HELD */
}

/* ------------------------------------------------------------------------------ dispatching */

TEST(callbacks_run_on_the_thread_that_dispatches_and_not_before) {
    open_client(); /* with it a sanitizer starts a thread of its own */
    int threads = threads_of_this_process();
    lk_client *client = open_dispatched();
    lk_lock *lock = new_lock(client, "d:first");
    notes self = {0};
    assert_false(is_readable(client));
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, note_done, &self));
    eventually(is_readable(client));
    assert_true(lk_valid(lock));
    assert_int_equal(atomic_load(&self.done.count), 0);
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_int_equal(atomic_load(&self.done.status), LK_OK);
    assert_true(pthread_equal(self.thread, pthread_self()));
    assert_false(is_readable(client));
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 1);
    eventually(threads_of_this_process() == threads + 1); /* the keeper */
}

TEST(callbacks_run_in_the_order_in_which_they_became_due) {
    lk_client *client = open_dispatched();
    lk_lock *locks[] = {new_lock(client, "d:a"), new_lock(client, "d:b"), new_lock(client, "d:c")};
    notes self = {0};
    for (size_t i = 0; i < 3; i++)
        make_pending(locks[i], &self);
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.with[LK_NOT_HELD]), 3);
    assert_memory_equal(self.locks, locks, sizeof locks);
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

TEST(a_chain_of_callbacks_does_not_keep_the_loop) {
    lk_client *client = open_dispatched();
    lk_lock *lock = new_lock(client, "d:chain");
    chain self = {0};
    begin_again(lock, LK_OK, &self);
    for (int i = 1; i < 10; i++) {
        assert_int_equal(self.calls, i);
        assert_true(is_readable(client));
        assert_ok(lk_dispatch(client));
    }
    close_client(client); /* ends the chain: no operation can begin any more */
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

TEST(losses_and_log_lines_are_dispatched_too) {
    journal log = {0};
    atomic_int lost = 0;
    lk_client *client =
        open_client_with(&(lk_client_options){.dispatch = true, .log = note_line, .log_arg = &log});
    lk_lock *lock = new_watched_lock(client, "d:lost", 300, &lost);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_dispatch(client));
    int before = atomic_load(&log.lines);
    assert_ok(lk_force_release(client, "d:lost", NULL));
    eventually(!lk_valid(lock));
    assert_true(is_readable(client));
    assert_int_equal(atomic_load(&lost), 0);
    assert_int_equal(atomic_load(&log.lines), before);
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&lost), 1);
    assert_true(atomic_load(&log.lines) > before);
    assert_true(pthread_equal(log.thread, pthread_self()));
    close_client(client); /* it may log, to this stack */
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

TEST(calls_that_block_are_refused_in_a_dispatched_callback) {
    journal log = {0};
    lk_client *client =
        open_client_with(&(lk_client_options){.dispatch = true, .log = note_line, .log_arg = &log});
    lk_lock *lock = new_lock(client, "d:refused");
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
    close_client(client); /* it may log, to this stack */
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
        jobs[i] = (job){.lock = new_lock(client, "d:jobs"), .inside = &inside};
        assert_ok(lk_acquire_async(jobs[i].lock, LK_WRITE, -1, on_taken, &jobs[i]));
    }
    while (!are_over(jobs)) {
        assert_int_equal(epoll_wait(loop, &event, 1, LONG_MS), 1);
        assert_ok(lk_dispatch(client));
    }
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(jobs[i].faults, 0);
    assert_nothing_left();
    close(loop);
}

TEST(a_loop_of_one_thread_takes_and_gives_back_a_thousand_times) {
    run_jobs_in_a_loop(0);
}

TEST(an_edge_triggered_loop_misses_nothing) {
    run_jobs_in_a_loop(EPOLLET);
}

/* ------------------------------------------------------------------------------ freeing */

TEST(freeing_a_handle_runs_its_callbacks_and_no_others) {
    lk_client *client = open_dispatched();
    lk_lock *locks[] = {new_lock(client, "d:a"), new_lock(client, "d:b")}, *freed = locks[1];
    notes self = {0};
    make_pending(locks[0], &self);
    make_pending(locks[1], &self);
    make_pending(locks[1], &self);
    free_lock(locks[1]);
    assert_int_equal(atomic_load(&self.done.count), 2);
    assert_ptr_equal(self.locks[0], freed);
    assert_ptr_equal(self.locks[1], freed);
    assert_true(pthread_equal(self.thread, pthread_self()));
    assert_true(is_readable(client));
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 3);
    assert_ptr_equal(self.locks[2], locks[0]);
}

TEST(freeing_a_handle_that_waits_cancels_on_this_thread) {
    lk_client *client = open_dispatched();
    lk_lock *holder = new_lock(client, "d:wait"), *waiter = new_lock(client, "d:wait");
    notes self = {0};
    assert_ok(lk_wrlock(holder));
    assert_ok(lk_acquire_async(waiter, LK_WRITE, -1, note_done, &self));
    eventually(look_at(client, "d:wait").waiters == 1);
    free_lock(waiter);
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_int_equal(atomic_load(&self.done.status), LK_CANCELED);
    assert_false(is_readable(client));
}

/* A release ends with the server's answer. The callback is queued while lk_lock_free() waits. */
TEST(freeing_a_handle_waits_for_an_answer_and_runs_its_callback) {
    fake_server *fake = start_fake();
    char *url = world_print("unix://%s", fake_server_socket(fake));
    lk_client *client = open_client_url(url, &(lk_client_options){.dispatch = true});
    lk_lock *lock = new_lock(client, "d:answer");
    notes self = {0};
    assert_ok(lk_wrlock(lock));
    fake_server_do(fake, "EVALSHA", 1, FAKE_PIECES); /* the answer is slow */
    assert_ok(lk_release_async(lock, LK_WRITE, note_done, &self));
    free_lock(lock);
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_int_equal(atomic_load(&self.done.status), LK_OK);
}

static void free_other(lk_lock *lock, lk_status status, void *arg) {
    (void)lock, (void)status;
    free_lock(arg);
}

TEST(freeing_inside_a_callback_leaves_its_callbacks_to_the_loop) {
    lk_client *client = open_dispatched();
    lk_lock *locks[] = {new_lock(client, "d:a"), new_lock(client, "d:b")}, *freed = locks[1];
    notes self = {0};
    assert_ok(lk_release_async(locks[0], LK_WRITE, free_other, freed));
    make_pending(freed, &self);
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 1);
    assert_ptr_equal(self.locks[0], freed);
}

/* ------------------------------------------------------------------------------ closing */

TEST(closing_runs_what_is_left_on_this_thread) {
    lk_client *client = open_dispatched(), *other = open_client();
    lk_lock *rival = new_lock(other, "d:close");
    lk_lock *locks[] = {new_lock(client, "d:close"), new_lock(client, "d:other")};
    notes self = {0};
    assert_ok(lk_wrlock(rival));
    assert_ok(lk_acquire_async(locks[0], LK_WRITE, -1, note_done, &self));
    assert_ok(lk_acquire_async(locks[1], LK_WRITE, -1, note_done, &self));
    eventually(look_at(other, "d:close").waiters == 1 && lk_valid(locks[1]));
    close_client(client);
    assert_int_equal(atomic_load(&self.done.count), 2);
    assert_int_equal(atomic_load(&self.done.with[LK_CANCELED]), 1);
    assert_int_equal(atomic_load(&self.done.with[LK_OK]), 1);
    assert_true(pthread_equal(self.thread, pthread_self()));
}

/* ------------------------------------------------------------------------------ many threads */

/* A callback that does not return until the test lets it. */
typedef struct {
    atomic_bool entered, let_out;
    atomic_int count;
} gate;

static void pass_gate(lk_lock *lock, lk_status status, void *arg) {
    gate *self = arg;
    (void)lock, (void)status;
    atomic_store(&self->entered, true);
    while (!atomic_load(&self->let_out))
        sleep_us(200);
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

static void *free_on_thread(void *context) {
    free_lock(context);
    return NULL;
}

static void *close_on_thread(void *context) {
    close_client(context);
    return NULL;
}

/* Another thread is in a callback of `lock`. */
static pthread_t enter_gate(gate *self, lk_lock *lock, dispatcher *other) {
    assert_ok(lk_release_async(lock, LK_WRITE, pass_gate, self));
    pthread_t thread = thread_start(dispatch, other);
    eventually(atomic_load(&self->entered));
    return thread;
}

TEST(a_second_thread_does_not_wait_for_the_first) {
    lk_client *client = open_dispatched();
    lk_lock *lock = new_lock(client, "d:two");
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
}

TEST(freeing_waits_while_another_thread_is_in_a_callback_of_the_handle) {
    lk_client *client = open_dispatched();
    lk_lock *lock = new_lock(client, "d:free");
    gate self = {0};
    notes after = {0};
    dispatcher other = {.client = client, .status = LK_INTERNAL};
    pthread_t thread = enter_gate(&self, lock, &other);
    make_pending(lock, &after);
    pthread_t freeing = thread_start(free_on_thread, lock);
    sleep_ms(20); /* if it did not wait it would run the second one now, or free the handle */
    assert_int_equal(atomic_load(&after.done.count), 0);
    assert_false(atomic_load(&other.over));
    atomic_store(&self.let_out, true);
    thread_join(freeing);
    assert_int_equal(atomic_load(&self.count), 1);
    assert_int_equal(atomic_load(&after.done.count), 1);
    thread_join(thread);
}

TEST(freeing_a_handle_without_callbacks_waits_for_nobody) {
    lk_client *client = open_dispatched();
    lk_lock *lock = new_lock(client, "d:gate"), *idle = new_lock(client, "d:idle");
    gate self = {0};
    dispatcher other = {.client = client, .status = LK_INTERNAL};
    pthread_t thread = enter_gate(&self, lock, &other);
    free_lock(idle);
    assert_false(atomic_load(&other.over));
    atomic_store(&self.let_out, true);
    thread_join(thread);
}

TEST(closing_waits_while_another_thread_dispatches) {
    lk_client *client = open_dispatched();
    lk_lock *lock = new_lock(client, "d:closing");
    gate self = {0};
    notes after = {0};
    dispatcher other = {.client = client, .status = LK_INTERNAL};
    pthread_t thread = enter_gate(&self, lock, &other);
    make_pending(lock, &after);
    pthread_t closing = thread_start(close_on_thread, client);
    eventually(lk_tryrdlock(lock) == LK_INVALID); /* it has begun */
    assert_int_equal(atomic_load(&after.done.count), 0);
    atomic_store(&self.let_out, true);
    thread_join(closing);
    assert_int_equal(atomic_load(&self.count), 1);
    assert_int_equal(atomic_load(&after.done.count), 1);
    thread_join(thread);
}

/* Threads dispatch and free at random: each callback runs once, and no two overlap. */
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
        free_lock(lock);
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

TEST(a_crowd_has_each_callback_once_and_one_at_a_time) {
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
}

/* ------------------------------------------------------------------------------ the descriptor */

TEST(only_a_client_that_dispatches_has_a_descriptor) {
    lk_client *client = open_client();
    assert_int_equal(lk_fd(client), -1);
    assert_int_equal(lk_fd(NULL), -1);
    assert_status(lk_dispatch(client), LK_INVALID);
    assert_said("dispatch");
    assert_status(lk_dispatch(NULL), LK_INVALID);
}

TEST(the_descriptor_is_closed_with_the_client_and_in_other_programs) {
    lk_client *client = open_dispatched();
    int fd = lk_fd(client);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close_client(client);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

TEST(a_child_has_neither_descriptor_nor_callbacks) {
    lk_client *client = open_dispatched();
    lk_lock *lock = new_lock(client, "d:fork");
    notes self = {0};
    int fd = lk_fd(client), status = -1;
    make_pending(lock, &self);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        if (lk_fd(client) != -1 || lk_dispatch(client) != LK_INVALID)
            _exit(1);
        free_lock(lock);
        close_client(client);
        _exit(fcntl(fd, F_GETFD) == -1 && atomic_load(&self.done.count) == 0 ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(is_readable(client)); /* the parent's */
    assert_ok(lk_dispatch(client));
    assert_int_equal(atomic_load(&self.done.count), 1);
}

TEST(without_a_descriptor_for_it_the_client_is_not_opened) {
    lk_client *client = NULL;
    struct rlimit limit, low;
    int lowest = dup(STDERR_FILENO); /* the one that lk_open() gets first */
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){(rlim_t)lowest + 1, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    lk_status status = lk_open(server_url, &(lk_client_options){.dispatch = true}, &client);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, LK_NOMEM);
    assert_said("descriptor");
    assert_int_equal(fcntl(lowest, F_GETFD), -1); /* and nothing is left of it */
}

/* Programs compiled with an older header set these eight reserved words to zero. */
TEST(the_option_is_where_zero_was_before) {
    assert_int_equal(offsetof(lk_client_options, dispatch),
                     offsetof(lk_client_options, log_arg) + sizeof(void *));
    assert_int_equal(sizeof(lk_client_options),
                     offsetof(lk_client_options, dispatch) + 8 * sizeof(void *));
}

int main(void) {
    return world_run(begin_world);
}
