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

static const option options[] = {
    {'j', "json", NULL, "print JSON, one object for each check"},
    COMMON_OPTIONS,
};

/* With --verbose: the facts behind the findings. */
static void log_facts(const lk_facts *facts) {
    static const char *const words[] = {[LK_UNKNOWN] = "unknown", [LK_NO] = "no", [LK_YES] = "yes"};
    say_note("%s: %s %s, mode %s, up for %" PRId64 " s, user %s", facts->server, facts->kind,
             facts->version, facts->mode, facts->uptime_s, facts->user);
    say_note("replica %s, replicas %" PRId64 ", maxmemory %" PRId64 " %s, aof %s, snapshots %s",
             words[facts->replica], facts->replicas, facts->maxmemory, facts->eviction,
             words[facts->aof], words[facts->rdb]);
    say_note("clock %" PRId64 " us ahead of ours, within %" PRId64 " us; round trip %" PRId64 " us",
             facts->clock_offset_us, facts->clock_error_us, facts->round_trip_us);
    say_note("rights missing: %zu, commands missing: %zu", facts->missing_count,
             facts->absent_count);
}

static const struct {
    const char *word; /* also in --json */
    colour_kind colour;
} grades[] = {[FINDING_FINE] = {"fine", COLOUR_GREEN},
              [FINDING_NOTE] = {"note", COLOUR_YELLOW},
              [FINDING_WRONG] = {"wrong", COLOUR_RED}};

static int print_json(const finding *found) {
    return show_json(json_pack("{s:s,s:b,s:s,s:o,s:o}", "name", found->name, "ok",
                               (int)(found->grade != FINDING_WRONG), "grade",
                               grades[found->grade].word, "text", show_text(found->text), "advice",
                               show_text(found->advice)));
}

/* A command gets a line of its own, so that it can be copied. */
static void print_line(const finding *found) {
    const char *before = found->is_command
                             ? "; do: run this line in redis-cli or valkey-cli, as an admin\n"
                         : *found->advice ? "; do: "
                                          : "";
    printf("%s%-5s%s  %-11s  %s%s%s\n", colour(stdout, grades[found->grade].colour),
           grades[found->grade].word, colour(stdout, COLOUR_NONE), found->name, found->text, before,
           found->advice);
}

static int print_all(const lk_facts *facts, const lk_defaults *chosen, const common *wanted) {
    finding findings[FINDINGS_MOST];
    size_t count = doctor_judge_choice(facts, chosen, wanted->prefix, findings), wrong = 0;
    count += doctor_judge(facts, findings + count);
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        wrong += findings[i].grade == FINDING_WRONG;
        if (wanted->json)
            code = print_json(&findings[i]);
        else
            print_line(&findings[i]);
    }
    if (code == 0 && !wanted->json)
        printf("%s%zu of %zu checks found something wrong%s with %s\n", colour(stdout, COLOUR_BOLD),
               wrong, count, colour(stdout, COLOUR_NONE), facts->server);
    return code == 0 && wrong ? EXIT_FINDING : code;
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
        "persistence, replicas, clock, rights and round trip. Each check prints what was found,\n"
        "what that means for locks, and what to do. A finding is fine, a note (worth knowing) or\n"
        "wrong. doctor changes nothing in the server. The exit code is 0 if nothing is wrong, 1\n"
        "if something is, 69 if the server cannot be reached, 77 if it denies access.",
    .examples = "  latchkey doctor                               # the private server, local:\n"
                "  latchkey doctor -u redis://locks.example.com\n"
                "  latchkey doctor --json | jq -r 'select(.ok | not).advice'\n",
    .options = options,
    .run = run,
};
