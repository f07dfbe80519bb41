/* See stage.h. */
#include "stage.h"

#include "actor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    READY_MS = 20000,       /* to connect, and perhaps to start a server */
    DOOM_PERCENT = 30,      /* of the run, then the victim is chosen */
    KILL_AFTER_US = 250000, /* after the start of its last turn */
    GIVE_UP_US = 20000000   /* after the end of the run */
};

static bool failed(record *shared, const char *who, const char *what) {
    if (!atomic_exchange(&shared->failing, true))
        snprintf(shared->why, sizeof shared->why, "%s%s", who, what);
    atomic_store(&shared->failed, true);
    return false;
}

static bool start_actor(stage *self, int i) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0)
        return failed(self->shared, "cannot start a process for ", self->shared->actors[i].label);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(getppid() == parent ? actor_run(self->shared, i) : 1);
    }
    self->pids[i] = child;
    return true;
}

/* Collects the processes that have ended. An unexpected end stops the demo. */
static void reap(stage *self) {
    int status;
    for (int i = 0; i < ACTORS; i++) {
        if (self->pids[i] == 0 || waitpid(self->pids[i], &status, WNOHANG) != self->pids[i])
            continue;
        self->pids[i] = 0;
        bool meant = i == VICTIM && self->shared->killed_us > 0;
        if (status != 0 && !meant)
            failed(self->shared, self->shared->actors[i].label, " ended unexpectedly");
    }
}

bool stage_start(stage *self, record *shared, int seconds) {
    *self = (stage){.shared = shared};
    for (int i = 0; i < ACTORS; i++)
        if (!start_actor(self, i))
            return false;
    if (lk_open(NULL, NULL, &self->client) != LK_OK)
        return failed(shared, "", lk_last_error());
    for (int ms = 0; atomic_load(&shared->ready) < ACTORS; ms++) {
        reap(self);
        if (ms == READY_MS)
            failed(shared, "", "the processes did not become ready in time");
        if (atomic_load(&shared->failed))
            return false;
        usleep(1000);
    }
    int64_t length_us = (int64_t)seconds * 1000000;
    shared->start_us = now_us();
    shared->stop_us = shared->start_us + length_us;
    self->doom_us = shared->start_us + length_us * DOOM_PERCENT / 100;
    self->give_up_us = shared->stop_us + GIVE_UP_US;
    atomic_store(&shared->go, true);
    return true;
}

/*
 * Records which turns wait. An actor has one turn at a time. So, if the same turn is the actor's
 * last one before lk_inspect() and after it, then that turn is the one in the answer.
 */
static void note_queue(stage *self) {
    int before[ACTORS];
    lk_info *info;
    for (int i = 0; i < ACTORS; i++)
        before[i] = atomic_load(&self->shared->actors[i].turn_count);
    if (lk_inspect(self->client, self->shared->lock_name, &info) != LK_OK) {
        failed(self->shared, "", lk_last_error());
        return;
    }
    int64_t now = now_us();
    for (int i = 0; i < ACTORS; i++) {
        actor *one = &self->shared->actors[i];
        int count = atomic_load(&one->turn_count);
        for (size_t w = 0; w < info->waiter_count; w++)
            if (strcmp(info->waiters[w].app, one->label) == 0 && count == before[i] && count > 0 &&
                one->turns[count - 1].seen_in_queue_us == 0)
                one->turns[count - 1].seen_in_queue_us = now;
    }
    lk_info_free(info);
}

static void kill_in_its_last_turn(stage *self) {
    record *shared = self->shared;
    const actor *victim = &shared->actors[VICTIM];
    int count = atomic_load(&victim->turn_count);
    if (shared->killed_us > 0 || now_us() < self->doom_us)
        return;
    atomic_store(&shared->doomed, VICTIM);
    if (count == 0)
        return;
    const turn *latest = &victim->turns[count - 1];
    if (turn_phase(latest) != PHASE_HELD || !latest->last ||
        now_us() < latest->granted_us + KILL_AFTER_US)
        return;
    shared->killed_us = now_us();
    kill(self->pids[VICTIM], SIGKILL);
}

bool stage_step(stage *self) {
    bool runs = false;
    reap(self);
    note_queue(self);
    kill_in_its_last_turn(self);
    if (now_us() > self->give_up_us)
        failed(self->shared, "", "the processes did not end in time");
    for (int i = 0; i < ACTORS; i++)
        runs |= self->pids[i] != 0;
    return runs && !atomic_load(&self->shared->failed);
}

void stage_end(stage *self) {
    for (int i = 0; i < ACTORS; i++) {
        if (self->pids[i] == 0)
            continue;
        kill(self->pids[i], SIGKILL);
        waitpid(self->pids[i], NULL, 0);
        self->pids[i] = 0;
    }
}
