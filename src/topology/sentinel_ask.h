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

/* What one sentinel answered. A number is -1 if the sentinel did not tell. */
typedef struct {
    lk_status status; /* LK_OK: it knows the master */
    lki_error error;  /* if it does not */
    lki_master master;
    char flags[64];                   /* "master", "master,s_down,o_down" */
    int64_t others, quorum, replicas; /* others: the sentinels that it knows */
    int64_t down_after_ms, failover_timeout_ms;
} lki_sentinel_answer;

/*
 * Asks all sentinels at the same time. `answers` has one element for each seed, zeroed; the caller
 * clears their masters. The status of an answer is LK_INVALID (the sentinel does not know this
 * master), LK_DENIED, LK_UNSUPPORTED (not a sentinel), LK_UNAVAILABLE, LK_CANCELED for stop_fd, or
 * LK_NOMEM.
 */
lk_status lki_sentinels_ask_each(const lki_seeds *, const lki_reach *, lki_sentinel_answer *answers,
                                 lki_error *);

/*
 * The answer that counts: the highest epoch. If no sentinel knows the master: the failure that a
 * user can do most about.
 */
lki_sentinel_answer *lki_sentinels_choose(lki_sentinel_answer *answers, size_t count);

/*
 * Asks all sentinels, and takes the master of the answer that counts. *all_answered: none was
 * silent. The statuses are those of an answer.
 */
lk_status lki_sentinels_ask(const lki_seeds *, const lki_reach *, lki_master *out,
                            bool *all_answered, lki_error *);

#endif
