/*
 * The guard: a process beside `run` that does nothing until `run` is killed, and then kills the
 * command's process group. What the kernel itself kills along with us (PR_SET_PDEATHSIG) is the
 * command alone; what a shell had started would go on without the lock.
 */
#include "run.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Our own copy of the line's other end would keep the end of `run` from us. */
static void keep_only(const int ends[2]) {
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    if (close_range(STDIN_FILENO + 1, ~0U, 0) == 0)
        return;
    for (int fd = (int)sysconf(_SC_OPEN_MAX); fd > STDIN_FILENO; fd--) /* before Linux 5.9 */
        close(fd);
}

/* Never returns. It shares nothing with us that could be waited for, and no signal is meant for it. */
static void watch(const int ends[2]) {
    sigset_t all;
    pid_t group;
    char word;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "latchkey-guard");
    keep_only(ends);
    if (read(STDIN_FILENO, &group, sizeof group) == (ssize_t)sizeof group &&
        read(STDIN_FILENO, &word, sizeof word) == 0)
        kill(-group, SIGKILL);
    _exit(0);
}

bool run_guard_start(run_guard *guard) {
    int ends[2];
    *guard = (run_guard){.pid = -1, .line = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    guard->pid = fork();
    if (guard->pid == 0)
        watch(ends);
    close(ends[0]);
    guard->line = ends[1];
    return guard->pid > 0;
}

bool run_guard_tell(const run_guard *guard, pid_t group) {
    return write(guard->line, &group, sizeof group) == (ssize_t)sizeof group;
}

void run_guard_end(const run_guard *guard) {
    if (guard->line < 0)
        return;
    if (guard->pid > 0 && write(guard->line, "", 1) == 1)
        waitpid(guard->pid, NULL, 0);
    close(guard->line);
}
