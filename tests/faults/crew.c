/* See crew.h. */
#include "crew.h"

#include "draw.h"
#include "test_memory.h"
#include "waiting.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

typedef struct {
    worker_order order;
    pid_t pid; /* 0: it has ended */
    bool stopped;
} member;

struct crew {
    history *past;
    journal *notes;
    member members[CREW_SIZE];
    unsigned *killed; /* the numbers of those that were killed */
    size_t killed_count, crashes;
};

static bool start_member(crew *self, member *one) {
    one->order.number = journal_new_worker(self->notes);
    one->pid = worker_start(&one->order);
    one->stopped = false;
    if (one->pid > 0)
        return true;
    one->pid = 0;
    perror("starting a worker");
    return false;
}

crew *crew_start(history *past, journal *notes, store *cells, const char *const urls[CREW_SIZE]) {
    crew *self = test_alloc(1, sizeof *self);
    self->past = past;
    self->notes = notes;
    for (unsigned i = 0; i < CREW_SIZE; i++) {
        member *one = &self->members[i];
        one->order = (worker_order){.role = i == CREW_WATCHER ? WORKER_WATCHES : WORKER_HOLDS,
                                    .url = urls[i],
                                    .history = history_path(past),
                                    .journal = journal_path(notes),
                                    .store = store_path(cells)};
        if (!start_member(self, one)) {
            crew_free(self);
            return NULL;
        }
    }
    return self;
}

static void kill_member(member *one) {
    if (!one->pid)
        return;
    kill(one->pid, SIGKILL);
    waitpid(one->pid, NULL, 0);
    one->pid = 0;
}

void crew_free(crew *self) {
    if (!self)
        return;
    for (size_t i = 0; i < CREW_SIZE; i++)
        kill_member(&self->members[i]);
    free(self->killed);
    free(self);
}

/* Notices a worker that ended by itself. */
static bool has_ended(crew *self, member *one) {
    int status;
    if (!one->pid)
        return true;
    if (waitpid(one->pid, &status, WNOHANG) != one->pid)
        return false;
    if (status != 0 || !history_is_over(self->past)) {
        fprintf(stderr, "worker %u ended with %x\n", one->order.number, (unsigned)status);
        self->crashes++;
    }
    one->pid = 0;
    return true;
}

static member *draw_member(crew *self, unsigned *seed) {
    return &self->members[CREW_WATCHER + 1 + draw(seed, CREW_SIZE - 1)];
}

void crew_replace(crew *self, unsigned *seed) {
    member *one = draw_member(self, seed);
    if (!has_ended(self, one)) {
        self->killed = test_grow(self->killed, self->killed_count, sizeof *self->killed);
        self->killed[self->killed_count++] = one->order.number;
        kill_member(one);
    }
    start_member(self, one);
}

void crew_stop(crew *self, unsigned *seed) {
    member *one = draw_member(self, seed);
    if (!one->pid)
        return;
    kill(one->pid, SIGSTOP);
    one->stopped = true;
}

void crew_continue(crew *self) {
    for (size_t i = 0; i < CREW_SIZE; i++) {
        member *one = &self->members[i];
        if (one->stopped && one->pid)
            kill(one->pid, SIGCONT);
        one->stopped = false;
    }
}

static bool have_all_ended(crew *self) {
    bool all = true;
    for (size_t i = 0; i < CREW_SIZE; i++)
        if (!has_ended(self, &self->members[i]))
            all = false;
    return all;
}

bool crew_wait(crew *self, int64_t limit_ms) {
    int64_t end_ms = test_wait_end(limit_ms);
    while (!have_all_ended(self))
        if (!test_wait_on(end_ms))
            return false;
    return true;
}

size_t crew_crashes(const crew *self) {
    return self->crashes;
}

bool crew_killed(const crew *self, unsigned worker) {
    for (size_t i = 0; i < self->killed_count; i++)
        if (self->killed[i] == worker)
            return true;
    return false;
}
