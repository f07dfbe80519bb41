/*
 * A program with an event loop that never blocks on a lock: it uses epoll(7) and the async calls.
 *
 * The program opens the client with `dispatch`. lk_fd() is readable when callbacks are pending, and
 * the loop runs them with lk_dispatch(). So all state of the program belongs to one thread, and
 * callbacks use it without a mutex.
 */
#include <err.h>
#include <errno.h>
#include <latchkey.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { JOBS = 3, WORK_MS = 60, IMPATIENT = JOBS, IMPATIENT_MS = 40, TICK_MS = 10 };

typedef struct {
    int number;
    lk_lock *lock;
    int64_t work_ends_ms; /* 0: the job is not working */
} job;

static int inside, finished, gave_up;
static bool overlapped;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_acquired(lk_lock *lock, lk_status status, void *arg) {
    job *self = arg;
    (void)lock;
    if (status == LK_TIMEOUT) {
        printf("job %d gave up: its wait is over\n", self->number);
        gave_up++;
    } else if (status == LK_OK) {
        overlapped |= ++inside > 1;
        printf("job %d has the lock and starts to work\n", self->number);
        self->work_ends_ms = now_ms() + WORK_MS;
    } else {
        errx(1, "job %d: %s", self->number, lk_last_error());
    }
}

static void on_released(lk_lock *lock, lk_status status, void *arg) {
    job *self = arg;
    (void)lock;
    if (status != LK_OK)
        errx(1, "job %d: %s", self->number, lk_last_error());
    printf("job %d is done\n", self->number);
    finished++;
}

static void begin(job *self, int64_t wait_ms) {
    if (lk_acquire_async(self->lock, LK_WRITE, wait_ms, on_acquired, self) != LK_OK)
        errx(1, "%s", lk_last_error());
}

static void end_work(job *self) {
    self->work_ends_ms = 0;
    inside--;
    if (lk_release_async(self->lock, LK_WRITE, on_released, self) != LK_OK)
        errx(1, "%s", lk_last_error());
}

/* Runs pending callbacks, ends work that is over, and counts ticks, in which it could do more. */
static int run_loop(int loop, lk_client *client, job jobs[], int count) {
    int ticks = 0;
    while (finished + gave_up < count) {
        struct epoll_event event;
        int ready = epoll_wait(loop, &event, 1, TICK_MS);
        if (ready < 0 && errno != EINTR)
            err(1, "epoll_wait");
        if (ready > 0 && lk_dispatch(client) != LK_OK)
            errx(1, "%s", lk_last_error());
        if (ready == 0)
            ticks++;
        for (int i = 0; i < count; i++)
            if (jobs[i].work_ends_ms > 0 && now_ms() >= jobs[i].work_ends_ms)
                end_work(&jobs[i]);
    }
    return ticks;
}

int main(void) {
    job jobs[JOBS + 1] = {0};
    lk_client_options options = {.dispatch = true};
    lk_client *client;
    if (lk_open(NULL, &options, &client) != LK_OK)
        errx(1, "%s", lk_last_error());
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event callbacks = {.events = EPOLLIN};
    if (loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, lk_fd(client), &callbacks) != 0)
        err(1, "epoll");
    for (int i = 0; i <= JOBS; i++) {
        jobs[i].number = i + 1;
        if (lk_lock_new(client, "loop:example", NULL, &jobs[i].lock) != LK_OK)
            errx(1, "%s", lk_last_error());
        begin(&jobs[i], i == IMPATIENT ? IMPATIENT_MS : -1);
    }
    int ticks = run_loop(loop, client, jobs, JOBS + 1);
    for (int i = 0; i <= JOBS; i++)
        lk_lock_free(jobs[i].lock);
    close(loop);
    lk_close(client);
    printf("%d jobs done, %d gave up, and the loop ticked %d times meanwhile\n", finished, gave_up,
           ticks);
    return finished == JOBS && gave_up == 1 && !overlapped && ticks > 0 ? 0 : 1;
}
