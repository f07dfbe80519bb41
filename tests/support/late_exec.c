/*
 * A shared object for LD_PRELOAD: execvp() makes the file `forked` and never comes to the exec. So a
 * test can reach the moment between the fork of a command and its exec.
 */
#include <fcntl.h>
#include <unistd.h>

__attribute__((visibility("default"))) int execvp(const char *file, char *const arguments[]) {
    (void)file;
    (void)arguments;
    close(open("forked", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    for (;;)
        pause();
}
