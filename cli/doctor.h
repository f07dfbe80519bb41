/* What `doctor` finds in the facts about a server. Knows nothing of how it is shown. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "latchkey.h"

typedef enum {
    FINDING_OK,
    FINDING_NOTE, /* worth knowing, and not wrong */
    FINDING_WRONG
} finding_level;

typedef struct {
    const char *name;
    finding_level level;
    char text[512];   /* what it is, and what that means for locks */
    char advice[768]; /* what to do; "" where there is nothing to do */
} finding;

enum { FINDINGS_MOST = 16 };

/* Returns how many there are; one for each check that makes sense for this server. */
size_t doctor_judge(const lk_facts *, finding findings[FINDINGS_MOST]);

#endif
