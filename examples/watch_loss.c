/*
 * Long work that stops when its lock is lost.
 *
 * The work consists of steps. on_lost runs on a thread of the client and sets a flag. The program
 * also checks lk_valid() before each step, because lk_valid() knows immediately when the lease has
 * expired on this machine's clock, even if the server cannot be reached. Here another process takes
 * the lock away by force, as an operator would do with a holder that hangs.
 */
#include <err.h>
#include <latchkey.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The client renews a lease three times in its length, and a renewal also finds a loss. So with a
 * short lease, a program never works for long without the lock. */
enum { LEASE_MS = 3000, STEP_US = 20000, STEPS_BEFORE = 5, STEPS_MOST = 500, OWNER_MOST = 128 };

#define NAME "report:example"

typedef struct {
    atomic_bool lost;
    atomic_int calls;
} watch;

static void die_unless(lk_status status) {
    if (status != LK_OK)
        errx(1, "%s", lk_last_error());
}

static void expect(bool as_expected, const char *what) {
    if (!as_expected)
        errx(1, "failed: %s", what);
}

/* Runs on the client's callback thread. It only sets a flag; the work itself knows how to stop. */
static void on_lost(lk_lock *lock, void *arg) {
    watch *told = arg;
    (void)lock;
    atomic_fetch_add(&told->calls, 1);
    atomic_store(&told->lost, true);
}

/* The other process: takes the lock away from the owner whose name comes through the pipe. */
static int operate(int from_fd) {
    char owner[OWNER_MOST + 1] = "";
    lk_client *client;
    if (read(from_fd, owner, OWNER_MOST) <= 0)
        errx(1, "no owner to take the lock from");
    die_unless(lk_open(NULL, NULL, &client));
    die_unless(lk_force_release(client, NAME, owner));
    lk_close(client);
    return 0;
}

static int work(lk_lock *lock, watch *told, int operator_fd) {
    int steps = 0;
    while (!atomic_load(&told->lost) && lk_valid(lock) && steps < STEPS_MOST) {
        usleep(STEP_US); /* a step that must not run without the lock */
        if (++steps == STEPS_BEFORE) {
            const char *owner = lk_owner(lock);
            printf("%d steps done; now somebody takes the lock away\n", steps);
            if (write(operator_fd, owner, strlen(owner)) != (ssize_t)strlen(owner))
                err(1, "pipe");
        }
    }
    return steps;
}

static void wait_for_call(watch *told) {
    for (int ms = 0; !atomic_load(&told->lost) && ms < 10000; ms++)
        usleep(1000);
}

int main(void) {
    watch told = {false, 0};
    const lk_lock_options options = {
        .lease_ms = LEASE_MS, .on_lost = on_lost, .on_lost_arg = &told};
    lk_client *client;
    lk_lock *lock;
    int fds[2], status;
    if (pipe(fds) != 0)
        err(1, "pipe");
    pid_t operator_pid = fork(); /* before lk_open(): a client does not survive a fork */
    if (operator_pid < 0)
        err(1, "fork");
    if (operator_pid == 0) {
        close(fds[1]);
        exit(operate(fds[0]));
    }

    die_unless(lk_open(NULL, NULL, &client));
    die_unless(lk_lock_new(client, NAME, &options, &lock));
    die_unless(lk_wrlock(lock));
    int steps = work(lock, &told, fds[1]);
    printf("stopped after %d steps\n", steps);

    wait_for_call(&told); /* lk_valid() may have noticed before on_lost was called */
    expect(steps < STEPS_MOST, "the work stopped because the lock was lost");
    expect(!lk_valid(lock), "lk_valid() reports the loss");
    expect(lk_wrlock(lock) == LK_LOST, "a lost handle acquires nothing before it is unlocked");
    expect(lk_wrunlock(lock) == LK_LOST, "the unlock reports the loss too");

    die_unless(lk_wrlock(lock));
    expect(lk_abandoned(lock), "the next holder is told that the work may be half done");
    printf("the lock is held again; lk_abandoned() says that the last writer did not finish\n");
    die_unless(lk_wrunlock(lock));
    lk_lock_free(lock);
    lk_close(client);
    expect(atomic_load(&told.calls) == 1, "on_lost was called once");
    expect(waitpid(operator_pid, &status, 0) == operator_pid && status == 0,
           "the forced release worked");
    return 0;
}
