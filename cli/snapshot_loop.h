/*
 * Takes a snapshot every interval, on a thread of its own. So keys and signals get a reaction while a
 * request waits for a server that is away. Knows nothing of what is shown.
 */
#ifndef CLI_SNAPSHOT_LOOP_H
#define CLI_SNAPSHOT_LOOP_H

#include "snapshot.h"

typedef struct snapshot_loop snapshot_loop;

typedef struct {
    lk_status status;
    snapshot *snapshot; /* owned by the receiver; NULL unless LK_OK */
    char error[600];    /* the error text unless LK_OK */
} snapshot_result;

/* Client and pattern are not copied; they must last until snapshot_loop_end(). NULL: failure. */
snapshot_loop *snapshot_loop_start(lk_client *, const char *pattern, int64_t interval_ms);

/*
 * Ends the loop and closes the client. Does not wait long for a server that is away: then the thread
 * and the client live on until the process ends, which is harmless since they hold no lock.
 */
void snapshot_loop_end(snapshot_loop *);

int snapshot_loop_fd(const snapshot_loop *); /* readable when there is a new result */

/* False: there is no new result. A newer result replaces one that was not fetched. */
bool snapshot_loop_get(snapshot_loop *, snapshot_result *);

/* Parses the value of --interval. Returns 0, or the exit code after a message. */
int snapshot_loop_read_interval(const char *text, int64_t *interval_ms);

#endif
