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

enum { FINDINGS_MOST = 20, CHOICE_FINDINGS_MOST = 2 };

/*
 * Which server it is, and who chose it (NULL: -u did), and the prefix if --prefix (NULL: none) does
 * not; for local: where it is. Returns how many there are, CHOICE_FINDINGS_MOST at most.
 */
size_t doctor_judge_choice(const lk_facts *, const lk_defaults *chosen, const char *prefix,
                           finding *findings);

/* Returns how many there are; one for each check that makes sense for this server. */
size_t doctor_judge(const lk_facts *, finding *findings);

#endif
