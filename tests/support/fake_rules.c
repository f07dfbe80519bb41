/* The rules of the fake server: which one a command meets. See fake_server.h. */
#include "fake_private.h"

#include <stdlib.h>
#include <string.h>

static void free_rule(fake_rule *rule) {
    free(rule->pattern);
    free(rule->reply);
    free(rule);
}

void fake_rules_add(fake_rule **newest, const char *pattern, int times, fake_action action,
                    const char *reply) {
    if (times == 0)
        return;
    fake_rule *rule = test_alloc(1, sizeof *rule);
    *rule = (fake_rule){.pattern = test_copy(pattern, strlen(pattern)),
                        .times = times,
                        .action = action,
                        .reply = reply ? test_copy(reply, strlen(reply)) : NULL,
                        .older = *newest};
    *newest = rule;
}

static void apply(const fake_rule *rule, fake_decision *decision) {
    if (rule->reply) {
        decision->what = FAKE_ANSWER;
        decision->reply = test_copy(rule->reply, strlen(rule->reply));
        return;
    }
    switch (rule->action) {
    case FAKE_PASS:
        decision->what = FAKE_ANSWER;
        break;
    case FAKE_DROP:
        decision->what = FAKE_DROPPED;
        break;
    case FAKE_SILENCE:
        decision->what = FAKE_SILENCED;
        break;
    case FAKE_PIECES:
        decision->in_pieces = true;
        break;
    case FAKE_RUN_AND_DROP:
        decision->then_drop = true;
        break;
    case FAKE_HOLD:
        decision->what = FAKE_HELD;
        break;
    }
}

void fake_rules_decide(fake_rule **link, const resp_command *command, fake_decision *decision) {
    while (*link && decision->what == FAKE_UNDECIDED) {
        fake_rule *rule = *link;
        if (resp_command_matches(command, rule->pattern)) {
            apply(rule, decision);
            if (rule->times > 0 && --rule->times == 0) {
                *link = rule->older;
                free_rule(rule);
                continue;
            }
        }
        link = &rule->older;
    }
    if (decision->what == FAKE_UNDECIDED)
        decision->what = FAKE_ANSWER;
}

void fake_rules_clear(fake_rule **link, bool only_holds) {
    while (*link) {
        fake_rule *rule = *link;
        if (only_holds && (rule->reply || rule->action != FAKE_HOLD)) {
            link = &rule->older;
        } else {
            *link = rule->older;
            free_rule(rule);
        }
    }
}
