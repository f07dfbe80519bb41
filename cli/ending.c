/* See ending.h. */
#include "ending.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int fd = -1;

static void on_signal(int number) {
    static const uint64_t one = 1;
    int before = errno;
    (void)number;
    if (write(fd, &one, sizeof one) < 0)
        errno = 0; /* the counter is full, so the descriptor is readable already */
    errno = before;
}

int ending_fd(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; fd >= 0 && i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    return fd;
}
