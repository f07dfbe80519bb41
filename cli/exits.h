/* What the command ends with, beyond the status of the child that `run` passes through. */
#ifndef CLI_EXITS_H
#define CLI_EXITS_H

enum {
    EXIT_CONFLICT = 1,       /* others had the lock; run -E has another */
    EXIT_FINDING = 1,        /* doctor: something is wrong; others: nothing was found */
    EXIT_USAGE = 64,         /* the command line cannot be understood */
    EXIT_UNREACHABLE = 69,   /* the server */
    EXIT_BROKEN = 70,        /* out of memory, or an answer that makes no sense */
    EXIT_DENIED = 77,        /* password, ACL, certificate */
    EXIT_CONFIGURATION = 78, /* a configuration file, or no server where one is required */
    EXIT_LOST = 79,          /* the lock, while the command ran */
    EXIT_ABANDONED = 80,     /* run --on-abandoned fail: the last writer did not release the lock */
    EXIT_NOT_RUNNABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_BY_SIGNAL = 128 /* and the signal's number on top */
};

#endif
