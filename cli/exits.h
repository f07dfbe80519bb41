/* The exit codes of the command. `run` also passes on the status of its child. */
#ifndef CLI_EXITS_H
#define CLI_EXITS_H

enum {
    EXIT_CONFLICT = 1,       /* others held the lock; run -E sets another code */
    EXIT_FINDING = 1,        /* doctor: something is wrong; other commands: nothing was found */
    EXIT_USAGE = 64,         /* the command line is not valid */
    EXIT_UNREACHABLE = 69,   /* the server cannot be reached */
    EXIT_BROKEN = 70,        /* out of memory, or a reply that makes no sense */
    EXIT_DENIED = 77,        /* password, ACL or certificate */
    EXIT_CONFIGURATION = 78, /* not valid, or it requires a server and names none */
    EXIT_LOST = 79,          /* the lock was lost while the command ran */
    EXIT_ABANDONED = 80,     /* run --on-abandoned fail: the last writer did not release the lock */
    EXIT_NOT_RUNNABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_BY_SIGNAL = 128 /* plus the number of the signal */
};

#endif
