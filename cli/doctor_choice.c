/* See doctor.h: which server is used, where it was chosen, and which programs share local:. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>

static const char private_scope[] = "private to this user on this machine";

static void judge_server(const lk_facts *facts, const lk_defaults *chosen, const char *prefix,
                         finding *out) {
    bool local = facts->local == LK_YES;
    const char *scope = local ? private_scope : "";
    if (chosen && !*chosen->url_from) {
        out->grade = FINDING_NOTE;
        snprintf(out->text, sizeof out->text,
                 "%s, because no server is configured: %s, so other machines do not see its locks",
                 facts->server, private_scope);
        snprintf(out->advice, sizeof out->advice,
                 "set url in " LATCHKEY_CONFIGURATION " or LATCHKEY_URL; if local: is what you "
                 "want, set url = local:");
        return;
    }
    bool is_named = facts->seed_count > 0 && facts->shard_count == 0;
    snprintf(out->text, sizeof out->text, "%s, %schosen by %s%s%s", facts->server,
             is_named ? "the master of the sentinels, " : "", chosen ? chosen->url_from : "-u",
             local ? ": " : "", scope);
    if (chosen && !prefix && *chosen->prefix_from) {
        size_t length = strlen(out->text);
        snprintf(out->text + length, sizeof out->text - length, "; prefix %s, chosen by %s",
                 chosen->prefix, chosen->prefix_from);
    }
}

static void judge_place(const lk_local_info *place, finding *out) {
    if (!place->unshared) {
        snprintf(
            out->text, sizeof out->text,
            "%s; programs that see a different file system there (a container, a private /tmp) "
            "use a different server, or are refused",
            place->folder);
        return;
    }
    out->grade = FINDING_NOTE;
    snprintf(out->text, sizeof out->text,
             "%s is in a /tmp that is private to this service: other programs of this user use "
             "a different server",
             place->folder);
    snprintf(out->advice, sizeof out->advice,
             "set LATCHKEY_LOCAL_DIR to a folder that all of them see, or set url "
             "in " LATCHKEY_CONFIGURATION);
}

void doctor_judge_choice(const lk_facts *facts, const lk_defaults *chosen, const char *prefix,
                         finding_sink *sink, void *arg) {
    lk_local_info *place;
    finding found = {.name = "server", .server = facts->server};
    judge_server(facts, chosen, prefix, &found);
    sink(&found, arg);
    if (facts->local == LK_YES && lk_local_status(&place) == LK_OK) {
        found = (finding){.name = "place", .server = facts->server};
        judge_place(place, &found);
        sink(&found, arg);
        lk_local_info_free(place);
    }
}
