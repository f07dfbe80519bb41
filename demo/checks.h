/*
 * Checks the claims of the demo. Uses the recorded turns after all processes have ended, and a last
 * look at the server. Knows nothing about how the turns came about.
 */
#ifndef DEMO_CHECKS_H
#define DEMO_CHECKS_H

#include "record.h"

typedef struct {
    bool fine;
    char text[200];
} finding;

enum { CHECKS = 9 };

/* Makes one finding for each claim. */
void checks_make(const record *, lk_client *, finding out[CHECKS]);

#endif
