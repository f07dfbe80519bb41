/*
 * A program with an event loop that never blocks in a lock: poll(2), and the async calls.
 *
 * Callbacks come on a thread of the client. These only write what happened into a pipe; the loop
 * reads it there, among its other events, so that all the program's state belongs to one thread.
 */
#include <err.h>
#include <errno.h>
#include <latchkey.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { JOBS = 3, WORK_MS = 60, IMPATIENT = JOBS, IMPATIENT_MS = 40, TICK_MS = 10 };

typedef struct job job;

/* What goes through the pipe: below PIPE_BUF, so that each arrives in one piece. */
typedef struct {
    job *of;
    void (*next)(job *, lk_status);
    lk_status status;
} event;

struct job {
    int number;
    lk_lock *lock;
    void (*next)(job *, lk_status); /* of the operation under way */
    int64_t work_ends_ms;           /* 0: does not work */
};

static int pipe_fds[2];
static int inside, finished, gave_up;
static bool overlapped;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* On the client's callback thread. */
static void tell_loop(lk_lock *lock, lk_status status, void *arg) {
    job *of = arg;
    event happened = {of, of->next, status};
    (void)lock;
    if (status != LK_OK && status != LK_TIMEOUT)
        warnx("job %d: %s", of->number, lk_last_error());
    if (write(pipe_fds[1], &happened, sizeof happened) != sizeof happened)
        err(1, "pipe");
}

static void on_acquired(job *self, lk_status status) {
    if (status == LK_TIMEOUT) {
        printf("job %d did not want to wait any longer\n", self->number);
        gave_up++;
    } else if (status == LK_OK) {
        overlapped |= ++inside > 1;
        printf("job %d has the lock and begins to work\n", self->number);
        self->work_ends_ms = now_ms() + WORK_MS;
    } else {
        errx(1, "job %d: %s", self->number, lk_status_text(status));
    }
}

static void on_released(job *self, lk_status status) {
    if (status != LK_OK)
        errx(1, "job %d: %s", self->number, lk_status_text(status));
    printf("job %d is done\n", self->number);
    finished++;
}

static void begin(job *self, int64_t wait_ms) {
    self->next = on_acquired;
    if (lk_acquire_async(self->lock, LK_WRITE, wait_ms, tell_loop, self) != LK_OK)
        errx(1, "%s", lk_last_error());
}

static void end_work(job *self) {
    self->work_ends_ms = 0;
    inside--;
    self->next = on_released;
    if (lk_release_async(self->lock, LK_WRITE, tell_loop, self) != LK_OK)
        errx(1, "%s", lk_last_error());
}

/* The loop: what the pipe brings, whose work is over, and a tick for all else it could do. */
static int run_loop(job jobs[], int count) {
    int ticks = 0;
    while (finished + gave_up < count) {
        struct pollfd readable = {pipe_fds[0], POLLIN, 0};
        event happened;
        if (poll(&readable, 1, TICK_MS) < 0 && errno != EINTR)
            err(1, "poll");
        if (readable.revents & POLLIN) {
            if (read(pipe_fds[0], &happened, sizeof happened) != sizeof happened)
                err(1, "pipe");
            happened.next(happened.of, happened.status);
        } else {
            ticks++;
        }
        for (int i = 0; i < count; i++)
            if (jobs[i].work_ends_ms > 0 && now_ms() >= jobs[i].work_ends_ms)
                end_work(&jobs[i]);
    }
    return ticks;
}

int main(void) {
    job jobs[JOBS + 1] = {0};
    lk_client *client;
    if (pipe(pipe_fds) != 0)
        err(1, "pipe");
    if (lk_open(NULL, NULL, &client) != LK_OK)
        errx(1, "%s", lk_last_error());
    for (int i = 0; i <= JOBS; i++) {
        jobs[i].number = i + 1;
        if (lk_lock_new(client, "loop:example", NULL, &jobs[i].lock) != LK_OK)
            errx(1, "%s", lk_last_error());
        begin(&jobs[i], i == IMPATIENT ? IMPATIENT_MS : -1);
    }
    int ticks = run_loop(jobs, JOBS + 1);
    for (int i = 0; i <= JOBS; i++)
        lk_lock_free(jobs[i].lock);
    lk_close(client);
    printf("%d jobs done, %d gave up, and the loop ticked %d times meanwhile\n", finished, gave_up,
           ticks);
    return finished == JOBS && gave_up == 1 && !overlapped && ticks > 0 ? 0 : 1;
}
