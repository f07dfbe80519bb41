/*
 * What the demo claims, worked out from the recorded turns after all processes have ended, and from
 * a last look at the server. Knows nothing of how the turns came about.
 */
#ifndef DEMO_CHECKS_H
#define DEMO_CHECKS_H

#include "record.h"

typedef struct {
    bool fine;
    char text[200];
} finding;

enum { CHECKS = 9 };

/* Makes one finding of each claim. */
void checks_make(const record *, lk_client *, finding out[CHECKS]);

#endif
