/*
 * The fault harness: plans the rounds, runs them, and prints the table. README.md explains it.
 *
 *     faults [--topology single|sentinel|cluster|all] [--nemesis NAME,NAME...|all] [--seconds N]
 *            [--seed N] [--min-replicas N] [--limit SECONDS] [--stop-at-first]
 *
 * --limit: how long a thing may take that must happen. --stop-at-first: the first round with a
 * violation is the last.
 *
 * It ends with 0 if no guarantee was violated, 1 if one was, 2 if the harness itself did not work
 * or what was asked for by name is not in this build, and 64 if an option is wrong.
 */
#include "latchkey.h"
#include "report.h"
#include "test_memory.h"
#include "worker.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_VIOLATED = 1, EXIT_BROKEN = 2, EXIT_USAGE = 64, TRIES = 3 };

static const site_kind kinds[] = {SITE_SINGLE, SITE_SENTINEL, SITE_CLUSTER};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct {
    unsigned sites;      /* bits of site_kind */
    const char *nemeses; /* names with commas between them; NULL: all */
    int64_t seconds, limit_s;
    unsigned seed;
    int min_replicas;
    bool all_sites; /* none was asked for by name */
    bool stops_at_first;
} options;

typedef struct {
    site_kind kind;
    const nemesis *cause;
    int min_replicas;
} plan;

/* ------------------------------------------------------------------------------ options */

static _Noreturn void refuse(const char *what, const char *word) {
    fprintf(stderr, "faults: %s: %s\n", what, word);
    exit(EXIT_USAGE);
}

static int64_t read_number(const char *what, const char *word) {
    char *end;
    long long number = strtoll(word, &end, 10);
    if (!*word || *end || number < 0)
        refuse(what, word);
    return number;
}

static unsigned read_sites(const char *word) {
    if (strcmp(word, "all") == 0)
        return SITE_ANY;
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(word, site_kind_name(kinds[i])) == 0)
            return kinds[i];
    refuse("no such topology", word);
}

/* Whether the name is one of those in the list. */
static bool is_listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
        if (strncmp(list, name, length) == 0 && (list[length] == ',' || !list[length]))
            return true;
    return false;
}

/* NULL: all. */
static const char *read_nemeses(const char *list) {
    if (strcmp(list, "all") == 0)
        return NULL;
    for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        bool known = false;
        for (size_t i = 0; i < nemesis_count; i++)
            known = known || (strncmp(word, nemeses[i].name, strcspn(word, ",")) == 0 &&
                              strlen(nemeses[i].name) == strcspn(word, ","));
        if (!known)
            refuse("no such nemesis", word);
    }
    return list;
}

static options read_options(int count, char **words) {
    static const struct option known[] = {
        {"topology", required_argument, NULL, 't'},     {"nemesis", required_argument, NULL, 'n'},
        {"seconds", required_argument, NULL, 's'},      {"seed", required_argument, NULL, 'r'},
        {"min-replicas", required_argument, NULL, 'm'}, {"limit", required_argument, NULL, 'l'},
        {"stop-at-first", no_argument, NULL, 'f'},      {NULL, 0, NULL, 0}};
    options chosen = {
        .sites = SITE_ANY, .seconds = 60, .limit_s = 60, .seed = (unsigned)time(NULL)};
    for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;)
        switch (option) {
        case 't':
            chosen.sites = read_sites(optarg);
            break;
        case 'n':
            chosen.nemeses = read_nemeses(optarg);
            break;
        case 's':
            chosen.seconds = read_number("--seconds", optarg);
            break;
        case 'r':
            chosen.seed = (unsigned)read_number("--seed", optarg);
            break;
        case 'm':
            chosen.min_replicas = (int)read_number("--min-replicas", optarg);
            break;
        case 'l':
            chosen.limit_s = read_number("--limit", optarg);
            break;
        case 'f':
            chosen.stops_at_first = true;
            break;
        default:
            exit(EXIT_USAGE);
        }
    if (optind < count)
        refuse("not an option", words[optind]);
    chosen.all_sites = chosen.sites == SITE_ANY;
    return chosen;
}

/* ------------------------------------------------------------------------------ this build */

/* Nobody listens there: a build that knows the topology cannot connect, others refuse the URL. */
static bool is_in_build(site_kind kind, int min_replicas) {
    const char *url = kind == SITE_CLUSTER    ? "redis+cluster://127.0.0.1:1"
                      : kind == SITE_SENTINEL ? "redis+sentinel://127.0.0.1:1/latchkey"
                                              : "redis://127.0.0.1:1";
    lk_client_options asked = {.min_replicas = min_replicas, .connect_timeout_ms = 1000};
    lk_client *client = NULL;
    lk_status status = lk_open(url, &asked, &client);
    if (status == LK_OK)
        lk_close(client);
    if (status == LK_UNSUPPORTED)
        printf("%s, min_replicas %d: not in this build: %s\n", site_kind_name(kind), min_replicas,
               lk_last_error());
    return status != LK_UNSUPPORTED;
}

/* ------------------------------------------------------------------------------ the plan */

static void add_plans(plan **plans, size_t *count, const options *chosen, site_kind kind,
                      int min_replicas, bool only_failovers) {
    for (size_t i = 0; i < nemesis_count; i++) {
        const nemesis *cause = &nemeses[i];
        if (!(cause->sites & kind) ||
            (chosen->nemeses && !is_listed(chosen->nemeses, cause->name)) ||
            (only_failovers && !cause->fails_over))
            continue;
        *plans = test_grow(*plans, *count, sizeof **plans);
        (*plans)[(*count)++] = (plan){kind, cause, min_replicas};
    }
}

/*
 * All that was chosen. Without --min-replicas, failovers also strike clients that ask for one
 * replica and for two: two are all that a sentinel of the harness can promote.
 */
static plan *make_plans(const options *chosen, size_t *count, bool *missing) {
    plan *plans = NULL;
    *count = 0;
    for (size_t i = 0; i < KINDS; i++) {
        if (!(chosen->sites & kinds[i]))
            continue;
        if (!is_in_build(kinds[i], chosen->min_replicas)) {
            *missing = *missing || !chosen->all_sites || chosen->min_replicas;
            continue;
        }
        add_plans(&plans, count, chosen, kinds[i], chosen->min_replicas, false);
        if (chosen->min_replicas || kinds[i] == SITE_SINGLE || !is_in_build(kinds[i], 1))
            continue;
        for (int n = 1; n <= (kinds[i] == SITE_SENTINEL ? 2 : 1); n++)
            add_plans(&plans, count, chosen, kinds[i], n, true);
    }
    return plans;
}

/* ------------------------------------------------------------------------------ running */

/* A site that is as the next round needs it is used again. */
static site *site_for(site *present, const plan *next) {
    if (present && next->kind != SITE_SINGLE && site_has(present, next->kind, next->cause->needs))
        return present;
    site_stop(present);
    return site_start(next->kind, next->cause->needs);
}

static round_result try_plan(site **servers, const plan *next, const round_settings *settings) {
    *servers = site_for(*servers, next);
    if (!*servers)
        return (round_result){
            .site = site_kind_name(next->kind), .nemesis = next->cause->name, .failed = true};
    round_result result = round_run(*servers, next->cause, settings);
    if (result.failed || round_violations(&result)) { /* what is left must not harm the next */
        site_stop(*servers);
        *servers = NULL;
    }
    return result;
}

/* On a busy machine, servers may not find each other in time. Then the round begins again. */
static round_result run_plan(site **servers, const plan *next, const round_settings *settings) {
    round_result result = try_plan(servers, next, settings);
    for (int i = 1; i < TRIES && result.failed && !round_violations(&result); i++) {
        printf("%s, %s: the servers are not as they must be; once more\n", result.site,
               result.nemesis);
        result = try_plan(servers, next, settings);
    }
    return result;
}

static int run_plans(const options *chosen, const plan *plans, size_t count) {
    round_result *results = test_alloc(count + 1, sizeof *results);
    site *servers = NULL;
    int outcome = 0;
    size_t done = 0;
    while (done < count && !(outcome && chosen->stops_at_first)) {
        size_t i = done++;
        round_settings settings = {.ms = chosen->seconds * 1000 / (int64_t)count,
                                   .limit_ms = chosen->limit_s * 1000,
                                   .seed = chosen->seed + (unsigned)i,
                                   .min_replicas = plans[i].min_replicas};
        results[i] = run_plan(&servers, &plans[i], &settings);
        report_round(stdout, &results[i]);
        if (round_violations(&results[i]))
            outcome = EXIT_VIOLATED;
        else if (results[i].failed && !outcome)
            outcome = EXIT_BROKEN;
    }
    site_stop(servers);
    report_sums(stdout, results, done);
    free(results);
    return outcome;
}

int main(int count, char **words) {
    if (worker_is_asked_for(count, words))
        return worker_main(words);
    signal(SIGPIPE, SIG_IGN);
    options chosen = read_options(count, words);
    size_t plan_count;
    bool missing = false;
    plan *plans = make_plans(&chosen, &plan_count, &missing);
    printf("the seed is %u\n", chosen.seed);
    report_head(stdout);
    int outcome = run_plans(&chosen, plans, plan_count);
    free(plans);
    return outcome || !missing ? outcome : EXIT_BROKEN;
}
