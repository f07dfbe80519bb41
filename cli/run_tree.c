/* See run_tree.h. */
#include "run_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROWS_FIRST = 4096,
    STAT_MOST = 512,
    EMPTY_SCANS = 2, /* one scan can miss a process that forks and ends during the scan */
    PAUSE_LEAST_MS = 1,
    PAUSE_MOST_MS = 16
};

typedef struct {
    pid_t pid, parent, session;
    long long started; /* pid and start time identify a process for good */
    char state;
    bool is_guard;
} process;

/* All processes of the machine, sorted by pid, as of the last read_processes(). */
static struct {
    process *rows;
    size_t count, room;
} table;

/* ------------------------------------------------------------------------------ reading /proc */

static bool make_room(void) {
    if (table.count < table.room)
        return true;
    size_t room = table.room ? 2 * table.room : ROWS_FIRST;
    size_t before = table.room * sizeof *table.rows, size = room * sizeof *table.rows;
    void *rows = table.rows
                     ? mremap(table.rows, before, size, MREMAP_MAYMOVE)
                     : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (rows == MAP_FAILED)
        return false;
    table.rows = rows;
    table.room = room;
    return true;
}

/* proc(5): "pid (name) state parent group session …". The name may contain any character. */
static bool parse_stat(const char *text, process *out) {
    enum { PARENT = 4, SESSION = 6, STARTED = 22 };
    const char *name = strchr(text, '('), *rest = strrchr(text, ')');
    if (!name || !rest || rest[1] != ' ' || !rest[2])
        return false;
    size_t length = (size_t)(rest - name - 1);
    out->is_guard =
        length == strlen(RUN_GUARD_NAME) && memcmp(name + 1, RUN_GUARD_NAME, length) == 0;
    out->state = rest[2];
    rest += 3;
    for (int field = PARENT; field <= STARTED; field++) {
        char *end;
        long long value = strtoll(rest, &end, 10);
        if (end == rest)
            return false;
        rest = end;
        if (field == PARENT)
            out->parent = (pid_t)value;
        else if (field == SESSION)
            out->session = (pid_t)value;
        else if (field == STARTED)
            out->started = value;
    }
    return true;
}

static bool read_stat(pid_t pid, process *out) {
    char path[32], text[STAT_MOST];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    out->pid = pid;
    return parse_stat(text, out);
}

static void add_entries(const char *at, const char *end) {
    while (at < end) {
        const struct dirent64 *entry = (const void *)at;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && make_room() && read_stat(pid, &table.rows[table.count]))
            table.count++;
        at += entry->d_reclen;
    }
}

/* The kernel lists processes in the order of their pids. */
static void read_processes(void) {
    static char entries[32768] __attribute__((aligned(16)));
    ssize_t length;
    table.count = 0;
    int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    while ((length = getdents64(fd, entries, sizeof entries)) > 0)
        add_entries(entries, entries + length);
    close(fd);
}

static const process *find(pid_t pid) {
    size_t low = 0, high = table.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table.rows[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table.count && table.rows[low].pid == pid ? &table.rows[low] : NULL;
}

static bool is_daemon(const run_tree *tree, pid_t pid) {
    for (size_t i = 0; i < tree->daemon_count; i++)
        if (tree->daemons[i] == pid)
            return true;
    return false;
}

typedef enum { ELSEWHERE, BELOW, BELOW_ANOTHER_GUARD, BELOW_A_DAEMON } position;

static position position_of(const run_tree *tree, const process *one) {
    position found = BELOW;
    if (one->state == 'Z' || one->state == 'X')
        return ELSEWHERE; /* it has ended already */
    for (size_t steps = 0; one && steps <= table.count; steps++) {
        if (is_daemon(tree, one->pid))
            found = BELOW_A_DAEMON;
        else if (one->is_guard && one->pid != tree->command)
            found = BELOW_ANOTHER_GUARD;
        if (one->parent == tree->root)
            return found;
        one = find(one->parent);
    }
    return ELSEWHERE;
}

/* ------------------------------------------------------------------------------ signals */

int run_tree_open_process(pid_t pid) {
#if defined SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

/*
 * If the process has ended since it was read, another process may have its pid now. A pidfd (Linux 5.3)
 * makes sure that the signal goes to the right one.
 */
static void send(const process *one, int number) {
#if defined SYS_pidfd_open && defined SYS_pidfd_send_signal
    int fd = run_tree_open_process(one->pid);
    if (fd >= 0) {
        process now;
        if (read_stat(one->pid, &now) && now.started == one->started)
            syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
        close(fd);
        return;
    }
    if (errno == ESRCH)
        return;
#endif
    kill(one->pid, number);
}

void run_tree_note_daemons(run_tree *tree) {
    if (tree->knows_daemons)
        return;
    tree->knows_daemons = true;
    read_processes();
    for (size_t i = 0; i < table.count && tree->daemon_count < RUN_DAEMONS_MOST; i++) {
        const process *one = &table.rows[i];
        bool is_adopted =
            one->parent == tree->root || (tree->guard > 0 && one->parent == tree->guard);
        if (is_adopted && one->session != tree->session && !one->is_guard)
            tree->daemons[tree->daemon_count++] = one->pid;
    }
}

void run_tree_signal(const run_tree *tree, int number) {
    read_processes();
    for (size_t i = 0; i < table.count; i++)
        if (position_of(tree, &table.rows[i]) == BELOW)
            send(&table.rows[i], number);
}

/*
 * A killed process runs no instruction of its program any more, but it ends only when it gets CPU. On a
 * busy machine that can take longer than the rest of the lease. Without the right to do so, this has no
 * effect.
 */
static void hasten_end(pid_t pid) {
    struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    sched_setscheduler(pid, SCHED_RR, &least);
}

/* Returns the number of processes found. */
static size_t kill_all(const run_tree *tree) {
    size_t count = 0;
    read_processes();
    for (size_t i = 0; i < table.count; i++) {
        position found = position_of(tree, &table.rows[i]);
        if (found != BELOW && found != BELOW_ANOTHER_GUARD)
            continue;
        count++;
        send(&table.rows[i], SIGKILL);
        hasten_end(table.rows[i].pid);
    }
    return count;
}

void run_tree_end(run_tree *tree) {
    int pause_ms = PAUSE_LEAST_MS;
    run_tree_note_daemons(tree);
    for (int empty = 0; empty < EMPTY_SCANS;) {
        if (kill_all(tree) == 0) {
            empty++;
            continue;
        }
        empty = 0;
        poll(NULL, 0, pause_ms);
        pause_ms = pause_ms < PAUSE_MOST_MS ? 2 * pause_ms : PAUSE_MOST_MS;
    }
}

bool run_tree_is_stopped(pid_t pid) {
    process one;
    return read_stat(pid, &one) && (one.state == 'T' || one.state == 't');
}
