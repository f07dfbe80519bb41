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
bool lki_master_copy(lki_master *to, const lki_master *from); /* `to` is empty; false: no memory */

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
 * A question to all sentinels, at the same time: a thread for each, which waits for up to a second.
 * One thread uses the question.
 */
typedef struct lki_question lki_question;

/*
 * `seeds` and the files of the reach must outlive the question. Its stop_fd is for
 * lki_question_await. LK_NOMEM.
 */
lk_status lki_question_begin(const lki_seeds *, const lki_reach *, lki_question **out, lki_error *);
void lki_question_end(lki_question *); /* does not wait for further answers; NULL is fine */

int64_t lki_question_asked_us(const lki_question *); /* when it began */
int lki_question_fd(const lki_question *); /* readable: there is news for lki_question_count */

typedef struct {
    size_t asked, ended; /* ended: has answered, or never will */
    size_t knowing;      /* of these, how many know the master */
} lki_question_counts;

lki_question_counts lki_question_count(lki_question *);

/* Waits for the next sentinel. False: until_us has come, or stop_fd of the reach is readable. */
bool lki_question_await(const lki_question *, int64_t until_us);

/*
 * What the sentinel answered; NULL: nothing yet. The status is LK_INVALID (the sentinel does not
 * know this master), LK_DENIED, LK_UNSUPPORTED (not a sentinel), LK_UNAVAILABLE, LK_CANCELED for
 * stop_fd, or LK_NOMEM. Valid until the question ends.
 */
const lki_sentinel_answer *lki_question_answer(const lki_question *, size_t sentinel);

/*
 * Of the answers so far, the one that counts: the highest epoch. If no sentinel knows the master:
 * the failure that a user can do most about. NULL: there is none yet.
 */
const lki_sentinel_answer *lki_question_best(const lki_question *);

#endif
