/*
 * Read, decide, and only then write: an upgrade, and what to do when two processes want one.
 *
 * Two processes find the stock low, and each wants to order more. Both hold the lock for reading,
 * so neither can get it for writing before the other releases it. The second request fails
 * immediately with LK_DEADLOCK. The right reaction is to release the read hold and start again, and
 * to read the stock again: the other process may have ordered already.
 */
#include <err.h>
#include <latchkey.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 2, LOW = 10, ORDER = 100, START = 3 };

/* The lock protects the stock. The other fields arrange the collision, and count. */
typedef struct {
    int stock;
    atomic_int readers;
    atomic_int orders, deadlocks;
} shelf;

static void die_unless(lk_status status) {
    if (status != LK_OK)
        errx(1, "%s", lk_last_error());
}

/* On the first try, both processes wait here until both have read the stock. */
static void wait_for_other(shelf *shared) {
    atomic_fetch_add(&shared->readers, 1);
    for (int ms = 0; atomic_load(&shared->readers) < PROCESSES; ms++) {
        if (ms == 20000)
            errx(1, "the other process did not read in time");
        usleep(1000);
    }
}

/* Tries once. false: the caller must try again. */
static bool restock(shelf *shared, lk_lock *lock, int process, bool first_try) {
    bool done = true;
    die_unless(lk_rdlock(lock));
    int seen = shared->stock;
    if (first_try)
        wait_for_other(shared);
    if (seen >= LOW) {
        printf("process %d sees %d in stock, and does nothing\n", process, seen);
    } else {
        lk_status status = lk_wrlock(lock); /* on top of a read: an upgrade */
        if (status == LK_OK) {
            /* Nobody has written since the read, so the value is still right. */
            shared->stock = seen + ORDER;
            atomic_fetch_add(&shared->orders, 1);
            printf("process %d saw %d in stock, and ordered %d\n", process, seen, ORDER);
            die_unless(lk_wrunlock(lock));
        } else if (status == LK_DEADLOCK) {
            atomic_fetch_add(&shared->deadlocks, 1);
            printf("process %d saw %d in stock, gives way, and will read again\n", process, seen);
            done = false;
        } else {
            errx(1, "%s", lk_last_error());
        }
    }
    /* Always release, above all after LK_DEADLOCK: the other process waits for this. */
    fflush(stdout);
    die_unless(lk_rdunlock(lock));
    return done;
}

static int run(shelf *shared, int process) {
    lk_client *client;
    lk_lock *lock;
    die_unless(lk_open(NULL, NULL, &client));
    die_unless(lk_lock_new(client, "shelf:example", NULL, &lock));
    for (bool first_try = true; !restock(shared, lock, process, first_try);)
        first_try = false;
    lk_lock_free(lock);
    lk_close(client);
    return 0;
}

int main(void) {
    bool fine = true;
    shelf *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        err(1, "mmap");
    shared->stock = START;
    for (int i = 1; i <= PROCESSES; i++) {
        pid_t child = fork();
        if (child < 0)
            err(1, "fork");
        if (child == 0)
            exit(run(shared, i));
    }
    for (int i = 0, status; i < PROCESSES; i++)
        fine &= wait(&status) > 0 && status == 0;
    int orders = atomic_load(&shared->orders), deadlocks = atomic_load(&shared->deadlocks);
    printf("%d order, %d in stock, %d gave way\n", orders, shared->stock, deadlocks);
    fine &= orders == 1 && deadlocks == 1 && shared->stock == START + ORDER;
    munmap(shared, sizeof *shared);
    return fine ? 0 : 1;
}
