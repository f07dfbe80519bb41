/* Asks sentinels where a master is. Knows no session. */
#ifndef LKI_SENTINEL_ASK_H
#define LKI_SENTINEL_ASK_H

#include "net/greet.h"
#include "net/seeds.h"
#include "topology/topology.h"

/* The master, as a sentinel sees it. */
typedef struct {
    char *host, *port;                  /* NULL: it is not known */
    char run_id[LKI_RUN_ID_LENGTH + 1]; /* "": the sentinel did not tell */
    uint64_t epoch;                     /* rises with each failover */
} lki_master;

void lki_master_clear(lki_master *);

/*
 * Asks all sentinels at the same time. Of their answers, takes the one with the highest epoch.
 * *all_answered: none was silent. LK_INVALID (they do not know this master), LK_DENIED,
 * LK_UNSUPPORTED (not a sentinel), LK_UNAVAILABLE, LK_CANCELED for stop_fd, LK_NOMEM.
 */
lk_status lki_sentinels_ask(const lki_seeds *, const lki_reach *, lki_master *out,
                            bool *all_answered, lki_error *);

#endif
