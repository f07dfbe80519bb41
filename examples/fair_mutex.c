/*
 * A fair mutex around a critical section: the write side of a lock alone.
 *
 * Several processes add to a number in a file, each as often as it can. They are let in line one
 * after the other while this process holds the lock; the first round then has to go in that order.
 * After that each joins the end of the line as soon as it is out, and nobody has to wait for more
 * than the others' turns.
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

/* What the lock protects, as it is in the file. */
typedef struct {
    int number;
    char order[TURNS + 1]; /* whose turns they were, a letter each */
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
        errx(1, "nobody says when to start");
    for (int i = 0; i < ROUNDS; i++) {
        die_unless(lk_wrlock(lock));
        ledger now = load(ledger_fd);
        now.order[now.number] = letter;
        usleep(1000); /* without the lock, others would add to the same number now */
        now.number++;
        save(ledger_fd, &now);
        die_unless(lk_wrunlock(lock));
    }
    lk_lock_free(lock);
    lk_close(client);
    return 0;
}

/* Who waits is seen by everybody: no guessing whether a process is in line yet. */
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
    errx(1, "a process does not come");
}

/* The most turns of others between two of the same process. */
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
    for (int i = 0; i < PROCESSES;
         i++) { /* before lk_open(): a client does not go through a fork */
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
    printf("the first round went %s\n", in_order ? "as they had come" : "OUT OF ORDER");
    printf("between two turns of a process, others had %d at most\n", longest_gap(result.order));
    fclose(file);
    return fine && in_order ? 0 : 1;
}
