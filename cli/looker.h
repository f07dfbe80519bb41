/*
 * Takes snapshots on a thread of its own, one every interval, so that keys and signals are answered
 * while a server that is away is waited for. Hands each over once; knows nothing of what is shown.
 */
#ifndef CLI_LOOKER_H
#define CLI_LOOKER_H

#include "snapshot.h"

typedef struct looker looker;

typedef struct {
    lk_status status;
    snapshot *seen;  /* the receiver's; NULL unless LK_OK */
    char error[600]; /* the library's sentence otherwise */
} look;

/* Nothing is copied: client and pattern last until looker_end(). NULL: no memory or no thread. */
looker *looker_start(lk_client *, const char *pattern, int64_t interval_ms);

/*
 * Ends the client too. A look that waits for a server that is away is not waited for: it goes on
 * with what it uses, until the process ends, which holds nothing.
 */
void looker_end(looker *);

int looker_fd(const looker *); /* readable when there is a look to get */

/* False: there is none. One that was not fetched in time gives way to the next. */
bool looker_get(looker *, look *);

/* Reads an --interval. Returns 0, or the code to end with, after saying why. */
int looker_interval(const char *text, int64_t *interval_ms);

#endif
