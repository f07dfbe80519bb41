/* See run.h: signals are blocked, and read from a descriptor. */
#include "exits.h"
#include "run.h"
#include "say.h"

#include <sys/signalfd.h>
#include <unistd.h>

/* A signal that was ignored at the start stays ignored, also in the child, as under nohup(1). */
static bool is_ignored(int number) {
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* SIGPIPE and SIGXFSZ are blocked but never read: a failed write must not kill us. */
int run_block_signals(run *self) {
    static const int read_here[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                    SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    sigset_t set;
    self->on_child =
        signal(SIGCHLD, SIG_DFL); /* if it were ignored, waitpid() would get no status */
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof read_here / sizeof *read_here; i++)
        if (!is_ignored(read_here[i]))
            sigaddset(&set, read_here[i]);
    self->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->signal_fd < 0)
        return say_failure(EXIT_BROKEN, "no file descriptors left");
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &set, &self->mask);
    return 0;
}

run_signal run_read_signal(const run *self) {
    struct signalfd_siginfo info;
    if (read(self->signal_fd, &info, sizeof info) != sizeof info)
        return (run_signal){0};
    return (run_signal){(int)info.ssi_signo, info.ssi_code == SI_KERNEL};
}

int run_next_signal(const run *self) {
    return run_read_signal(self).number;
}

void run_stop(bool job) {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, &before);
    kill(job ? 0 : getpid(), SIGTSTP);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int run_die_by_signal(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return EXIT_BY_SIGNAL + number;
}
