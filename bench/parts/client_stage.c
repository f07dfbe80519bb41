/* See client_stage.h. */
#include "client_stage.h"

#include "client_figures.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROLES = 2 };

void *stage_share(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bench_fail("no memory to share");
    return memory;
}

void stage_unshare(void *memory, size_t bytes) {
    munmap(memory, bytes);
}

static pid_t start(int role, stage_fn *play, void *shared, const void *argument) {
    pid_t parent = getpid();
    fflush(stdout); /* or the child would print it once more */
    pid_t child = fork();
    if (child < 0)
        bench_fail("a process cannot be started");
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    play(role, shared, argument);
    _exit(EXIT_SUCCESS);
}

void stage_run(stage_fn *play, void *shared, const void *argument) {
    pid_t children[ROLES];
    for (int role = 0; role < ROLES; role++)
        children[role] = start(role, play, shared, argument);
    bool failed = false;
    for (int left = ROLES; left > 0; left--) {
        int status = 0;
        pid_t ended = waitpid(-1, &status, 0);
        /* The server is a child too. If it ends, both will fail, and be waited for here. */
        if (ended != children[0] && ended != children[1]) {
            left++;
            continue;
        }
        if (status == 0)
            continue;
        failed = true;
        for (int role = 0; role < ROLES; role++)
            if (children[role] != ended)
                kill(children[role], SIGKILL);
    }
    if (failed)
        bench_fail("one of two processes failed");
}
