/* The findings of `doctor` about a server. Knows nothing of how they are shown. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "latchkey.h"

typedef enum {
    FINDING_FINE,
    FINDING_NOTE, /* worth knowing: locks are safe, or the server does not tell */
    FINDING_WRONG /* locks do not work, or may be lost while held */
} finding_grade;

typedef struct {
    const char *name;
    finding_grade grade;
    char text[1536];   /* the fact, and what it means for locks */
    char advice[1536]; /* what to do; "" if nothing */
    bool is_command;   /* the advice is a line for redis-cli */
} finding;

enum { FINDINGS_MOST = 20, CHOICE_FINDINGS_MOST = 2 };

/*
 * Which server it is, and where it was chosen (`chosen` is NULL: with -u). Also the prefix, unless
 * --prefix sets it (`prefix` is not NULL), and the folder of local:. Returns the number of findings, at
 * most CHOICE_FINDINGS_MOST.
 */
size_t doctor_judge_choice(const lk_facts *, const lk_defaults *chosen, const char *prefix,
                           finding *findings);

/* One finding for each check that applies to this server. Returns their number. */
size_t doctor_judge(const lk_facts *, finding *findings);

#endif
