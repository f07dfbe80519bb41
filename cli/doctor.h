/* What `doctor` finds in the facts about a server. Knows nothing of how it is shown. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "latchkey.h"

typedef enum {
    FINDING_FINE,
    FINDING_NOTE, /* worth knowing; locks are safe, or nobody can tell */
    FINDING_WRONG /* locks do not work, or may be lost while they are held */
} finding_grade;

typedef struct {
    const char *name;
    finding_grade grade;
    char text[1536];   /* what it is, and what that means for locks */
    char advice[1536]; /* what to do; "" where there is nothing to do */
    bool is_command;   /* the advice is a line to be copied into redis-cli */
} finding;

enum { FINDINGS_MOST = 16 };

/* Returns how many there are; one for each check that makes sense for this server. */
size_t doctor_judge(const lk_facts *, finding findings[FINDINGS_MOST]);

#endif
