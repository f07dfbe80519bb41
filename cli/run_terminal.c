/* The terminal of `run`: the command has it while it runs, if it was ours to give. See run.h. */
#include "run.h"

#include <fcntl.h>
#include <unistd.h>

run_terminal run_terminal_open(void) {
    run_terminal opened = {.fd = open("/dev/tty", O_RDWR | O_CLOEXEC)};
    opened.in_front = opened.fd >= 0 && tcgetpgrp(opened.fd) == getpgrp();
    return opened;
}

void run_terminal_give(const run_terminal *self, pid_t group) {
    if (self->in_front)
        tcsetpgrp(self->fd, group);
}

void run_terminal_follow(run_terminal *self, pid_t group) {
    if (self->fd < 0)
        return;
    pid_t front = tcgetpgrp(self->fd);
    self->in_front = front == getpgrp() || front == group;
    run_terminal_give(self, group);
}

void run_terminal_close(run_terminal *self) {
    if (self->fd < 0)
        return;
    run_terminal_give(self, getpgrp());
    close(self->fd);
    self->fd = -1;
}
