/* The checks of `doctor`. Each file of them judges one part of the facts. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "finding.h"
#include "latchkey.h"

/* How a server was found, which says what its faults mean. */
typedef enum { FOUND_BY_URL, FOUND_BY_SENTINELS, FOUND_IN_CLUSTER } doctor_way;

/* A check of one server. `judge` returns false if the check does not apply. */
typedef struct {
    const char *name;
    bool (*judge)(const lk_facts *, doctor_way, finding *out);
} doctor_check;

/*
 * Which server it is, and where it was chosen (`chosen` is NULL: with -u). Also the prefix, unless
 * --prefix sets it (`prefix` is not NULL), and the folder of local:.
 */
void doctor_judge_choice(const lk_facts *, const lk_defaults *chosen, const char *prefix,
                         finding_sink *, void *arg);

/* All other checks that apply. */
void doctor_judge(const lk_facts *, finding_sink *, void *arg);

/* ------------------------------------------------------------------------------ parts of it */

/* Checks of one server; the list ends with a name that is NULL. */
extern const doctor_check doctor_checks[];

void doctor_judge_sentinels(const lk_facts *, finding_sink *, void *arg);
void doctor_judge_cluster(const lk_facts *, finding_sink *, void *arg);

bool doctor_judge_reach(const lk_facts *, finding *);
bool doctor_judge_mode(const lk_facts *, doctor_way, finding *);
bool doctor_judge_replicas(const lk_facts *, doctor_way, finding *);
bool doctor_judge_lag(const lk_facts *, doctor_way, finding *);
bool doctor_judge_min_replicas(const lk_facts *, doctor_way, finding *);
bool doctor_judge_rights(const lk_facts *, doctor_way, finding *);
bool doctor_judge_commands(const lk_facts *, doctor_way, finding *);

#endif
