/*
 * `latchkey top` in the command: runs another program, latchkey-top. Loading curses takes longer than
 * everything else that the command loads, and would slow down every `latchkey run`.
 */
#include "exits.h"
#include "say.h"
#include "top.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool find_program(char path[PATH_MAX]) {
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0)
        return false;
    own[length] = '\0';
    *(strrchr(own, '/') + 1) = '\0';
    return snprintf(path, PATH_MAX, "%s%s", own, TOP_PROGRAM) < PATH_MAX;
}

int top_run(int count, char **words) {
    char path[PATH_MAX];
    (void)count;
    if (!find_program(path))
        return say_failure(EXIT_BROKEN, "cannot find latchkey-top: %s", strerror(errno));
    words[0] = "latchkey-top";
    execv(path, words);
    return say_failure(EXIT_BROKEN, "cannot run %s: %s; install all of latchkey", path,
                       strerror(errno));
}
