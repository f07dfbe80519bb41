/* `latchkey doctor`: checks whether a server is safe for locks. */
#include "doctor.h"

#include "colour.h"
#include "command.h"
#include "common.h"
#include "exits.h"
#include "say.h"
#include "show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const option options[] = {
    {'j', "json", NULL, "print JSON, one object for each check"},
    COMMON_OPTIONS,
};

static const char *const words_for[] = {[LK_UNKNOWN] = "unknown", [LK_NO] = "no", [LK_YES] = "yes"};

/* With --verbose: the facts behind the findings. */
static void log_server(const lk_facts *facts) {
    say_note("%s: %s %s, mode %s, up for %" PRId64 " s, user %s", facts->server, facts->kind,
             facts->version, facts->mode, facts->uptime_s, facts->user);
    say_note("replica %s, replicas %" PRId64 ", maxmemory %" PRId64 " %s, aof %s, snapshots %s",
             words_for[facts->replica], facts->replicas, facts->maxmemory, facts->eviction,
             words_for[facts->aof], words_for[facts->rdb]);
    say_note("clock %" PRId64 " us ahead of ours, within %" PRId64 " us; round trip %" PRId64 " us",
             facts->clock_offset_us, facts->clock_error_us, facts->round_trip_us);
    say_note("rights missing: %zu, commands missing: %zu", facts->missing_count,
             facts->absent_count);
    for (size_t i = 0; i < facts->replica_list_count; i++) {
        const lk_replica_facts *one = &facts->replica_list[i];
        say_note("replica %s: %s, %" PRId64 " bytes and %" PRId64 " s behind", one->address,
                 one->state, one->lag_bytes, one->lag_s);
    }
}

static void log_seed(const lk_seed_facts *one) {
    if (one->status != LK_OK)
        say_note("%s: %s", one->server, one->error);
    else if (!*one->master)
        say_note("%s answers", one->server);
    else
        say_note("%s names %s, epoch %" PRIu64 ", flags %s; other sentinels %" PRId64
                 ", quorum %" PRId64 ", can fail over: %s",
                 one->server, one->master, one->epoch, one->flags, one->others, one->quorum,
                 words_for[one->can_fail_over]);
}

static void log_facts(const lk_facts *facts) {
    for (size_t i = 0; i < facts->seed_count; i++)
        log_seed(&facts->seeds[i]);
    for (size_t i = 0; i < facts->shard_count; i++) {
        say_note("slots %s: %s, replicas %" PRId64 ", of these down %" PRId64,
                 facts->shards[i].slots, facts->shards[i].master->server, facts->shards[i].replicas,
                 facts->shards[i].replicas_down);
        log_server(facts->shards[i].master);
    }
    if (facts->shard_count == 0)
        log_server(facts);
}

static const struct {
    const char *word; /* also in --json */
    colour_kind colour;
} grades[] = {[FINDING_FINE] = {"fine", COLOUR_GREEN},
              [FINDING_NOTE] = {"note", COLOUR_YELLOW},
              [FINDING_WRONG] = {"wrong", COLOUR_RED}};

static int print_json(const finding *found) {
    json_t *figures = json_object();
    for (size_t i = 0; figures && i < found->figure_count; i++)
        json_object_set_new(figures, found->figures[i].name, json_integer(found->figures[i].value));
    return show_json(json_pack("{s:s,s:b,s:s,s:o,s:o,s:o,s:o}", "name", found->name, "ok",
                               (int)(found->grade != FINDING_WRONG), "grade",
                               grades[found->grade].word, "text", show_text(found->text), "advice",
                               show_text(found->advice), "server", show_text(found->server),
                               "figures", figures));
}

static const char *introduce_advice(const finding *found) {
    if (!found->is_command)
        return *found->advice ? "; do: " : "";
    return strchr(found->advice, '\n')
               ? "; do: run these lines in redis-cli or valkey-cli, as an admin\n"
               : "; do: run this line in redis-cli or valkey-cli, as an admin\n";
}

/* A command gets a line of its own, so that it can be copied. */
static void print_line(const finding *found) {
    printf("%s%-5s%s  %-12s  %s%s%s\n", colour(stdout, grades[found->grade].colour),
           grades[found->grade].word, colour(stdout, COLOUR_NONE), found->name, found->text,
           introduce_advice(found), found->advice);
}

typedef struct {
    bool json;
    size_t count, wrong;
    int code; /* of the first failure to print */
} printer;

static void print(const finding *found, void *arg) {
    printer *self = arg;
    self->count++;
    self->wrong += found->grade == FINDING_WRONG;
    if (!self->json)
        print_line(found);
    else if (self->code == 0)
        self->code = print_json(found);
}

static int print_all(const lk_facts *facts, const lk_defaults *chosen, const common *wanted) {
    printer all = {.json = wanted->json};
    doctor_judge_choice(facts, chosen, wanted->prefix, print, &all);
    doctor_judge(facts, print, &all);
    if (!wanted->json)
        printf("%s%zu of %zu checks found something wrong%s with %s\n", colour(stdout, COLOUR_BOLD),
               all.wrong, all.count, colour(stdout, COLOUR_NONE), facts->server);
    return all.code == 0 && all.wrong ? EXIT_FINDING : all.code;
}

static int run(int count, char **words) {
    common wanted = {0};
    lk_facts *facts;
    lk_defaults *chosen = NULL;
    int rest;
    int code = options_parse(options, false, count, words, common_take_option, &wanted, &rest);
    if (code == 0 && words[rest])
        code = say_usage("unexpected argument %s; name a server with -u", words[rest]);
    if (code == 0)
        code = common_defaults(&wanted, &chosen);
    if (code == 0)
        code = common_examine(&wanted, &facts);
    if (code == 0) {
        log_facts(facts);
        code = print_all(facts, chosen, &wanted);
        lk_facts_free(facts);
    }
    lk_defaults_free(chosen);
    return code;
}

const command doctor_command = {
    .name = "doctor",
    .arguments = "",
    .summary = "check whether this server is safe for locks",
    .text =
        "Shows which server is used and where that is configured. Checks version, role, eviction,\n"
        "persistence, replicas, clock, rights and round trip; also the sentinels of a URL, and "
        "all\n"
        "masters of a cluster. Each check prints what was found, what that means for locks, and\n"
        "what to do. A finding is fine, a note (worth knowing) or wrong. doctor changes nothing "
        "in\n"
        "the server. The exit code is 0 if nothing is wrong, 1 if something is, 69 if the server\n"
        "cannot be reached, 77 if it denies access.",
    .examples = "  latchkey doctor                               # the private server, local:\n"
                "  latchkey doctor -u redis://locks.example.com\n"
                "  latchkey doctor -u redis+sentinel://a.example,b.example,c.example/mymaster\n"
                "  latchkey doctor -u redis+cluster://a.example,b.example\n"
                "  latchkey doctor --json | jq -r 'select(.ok | not).advice'\n",
    .options = options,
    .run = run,
};
