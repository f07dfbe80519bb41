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

/* Never returns. It shares nothing with us that could be waited for, and no signal is meant for it. */
static void watch(pid_t group, int line) {
    sigset_t all;
    char word;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "latchkey-guard");
    dup2(line, STDIN_FILENO);
    close_range(STDIN_FILENO + 1, ~0U, 0);
    if (read(STDIN_FILENO, &word, sizeof word) == 0)
        kill(-group, SIGKILL);
    _exit(0);
}

run_guard run_guard_start(pid_t group) {
    run_guard guard = {.pid = -1, .line = -1};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return guard;
    guard.pid = fork();
    if (guard.pid == 0)
        watch(group, ends[0]);
    close(ends[0]);
    guard.line = ends[1];
    return guard;
}

void run_guard_end(const run_guard *guard) {
    if (guard->line < 0)
        return;
    if (guard->pid > 0 && write(guard->line, "", 1) == 1)
        waitpid(guard->pid, NULL, 0);
    close(guard->line);
}
