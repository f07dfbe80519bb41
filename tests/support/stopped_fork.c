/*
 * A shared object for LD_PRELOAD: the program stops itself before its first fork(), as if it got no CPU just
 * then. It goes on after SIGCONT.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

__attribute__((visibility("default"))) pid_t fork(void) {
    static bool was_stopped;
    pid_t (*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "fork"); /* ISO C has no cast for this */
    if (!was_stopped) {
        was_stopped = true;
        kill(getpid(), SIGSTOP);
    }
    return real();
}
