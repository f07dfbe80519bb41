/*
 * A fair mutex around a critical section: only the write side of a lock is used.
 *
 * Several processes add to a number in a file, each as often as it can. While the main process
 * holds the lock, they join the queue one after the other. So the first round must go in that
 * order. After its turn, each process joins the end of the queue again. So no process waits longer
 * than for one turn of each other process.
 */
#include <err.h>
#include <latchkey.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, ROUNDS = 20, TURNS = PROCESSES * ROUNDS };

#define NAME "ledger:example"

/* The content of the file, which the lock protects. */
typedef struct {
    int number;
    char order[TURNS + 1]; /* one letter per turn: the process that had it */
} ledger;

static void die_unless(lk_status status) {
    if (status != LK_OK)
        errx(1, "%s", lk_last_error());
}

static ledger load(int fd) {
    ledger now;
    if (pread(fd, &now, sizeof now, 0) != sizeof now)
        err(1, "reading the ledger");
    return now;
}

static void save(int fd, const ledger *now) {
    if (pwrite(fd, now, sizeof *now, 0) != sizeof *now)
        err(1, "writing the ledger");
}

static int take_turns(int start_fd, int ledger_fd) {
    lk_client *client;
    lk_lock *lock;
    char letter;
    die_unless(lk_open(NULL, NULL, &client));
    die_unless(lk_lock_new(client, NAME, NULL, &lock));
    if (read(start_fd, &letter, 1) != 1)
        errx(1, "the start signal does not come");
    for (int i = 0; i < ROUNDS; i++) {
        die_unless(lk_wrlock(lock));
        ledger now = load(ledger_fd);
        now.order[now.number] = letter;
        usleep(1000); /* without the lock, others would now read the same number */
        now.number++;
        save(ledger_fd, &now);
        die_unless(lk_wrunlock(lock));
    }
    lk_lock_free(lock);
    lk_close(client);
    return 0;
}

/* lk_inspect() shows the queue, so there is no need to guess whether a process waits yet. */
static void wait_for_line_of(lk_client *client, size_t length) {
    for (int tries = 0; tries < 20000; tries++) {
        lk_info *info;
        die_unless(lk_inspect(client, NAME, &info));
        size_t waiting = info->waiter_total;
        lk_info_free(info);
        if (waiting >= length)
            return;
        usleep(1000);
    }
    errx(1, "a process did not join the queue in time");
}

/* The greatest number of turns of others between two turns of one process. */
static int longest_gap(const char *order) {
    int longest = 0, last[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        last[i] = -1;
    for (int turn = 0; order[turn]; turn++) {
        int process = order[turn] - 'A';
        if (last[process] >= 0 && turn - last[process] - 1 > longest)
            longest = turn - last[process] - 1;
        last[process] = turn;
    }
    return longest;
}

int main(void) {
    lk_client *client;
    lk_lock *lock;
    int start[2];
    FILE *file = tmpfile();
    ledger result = {0};
    if (!file || pipe(start) != 0)
        err(1, "making a file and a pipe");
    save(fileno(file), &result);
    /* Before lk_open(): a client does not survive a fork. */
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        if (child < 0)
            err(1, "fork");
        if (child == 0) {
            close(start[1]);
            exit(take_turns(start[0], fileno(file)));
        }
    }

    die_unless(lk_open(NULL, NULL, &client));
    die_unless(lk_lock_new(client, NAME, NULL, &lock));
    die_unless(lk_wrlock(lock));
    for (int i = 0; i < PROCESSES; i++) {
        char letter = (char)('A' + i);
        if (write(start[1], &letter, 1) != 1)
            err(1, "starting a process");
        wait_for_line_of(client, (size_t)i + 1);
    }
    die_unless(lk_wrunlock(lock));

    bool fine = true;
    for (int i = 0, status; i < PROCESSES; i++)
        fine &= wait(&status) > 0 && status == 0;
    lk_lock_free(lock);
    lk_close(client);

    result = load(fileno(file));
    printf("turns: %s\n", result.order);
    fine &= result.number == TURNS && strlen(result.order) == TURNS;
    printf("the number is %d, after %d processes with %d turns each\n", result.number, PROCESSES,
           ROUNDS);
    bool in_order = strncmp(result.order, "ABCD", PROCESSES) == 0;
    printf("the first round was %s\n", in_order ? "in the order of the queue" : "OUT OF ORDER");
    printf("between two turns of one process, others had at most %d turns\n",
           longest_gap(result.order));
    fclose(file);
    return fine && in_order ? 0 : 1;
}
