/* See doctor.h: which server it is, who chose it, and for local: who sees it. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>

static const char alone[] = "private to this user on this machine";

static void judge_server(const lk_facts *facts, const lk_defaults *chosen, const char *prefix,
                         finding *out) {
    bool local = facts->local == LK_YES;
    const char *scope = local ? alone : "";
    if (chosen && !*chosen->url_from) {
        out->grade = FINDING_NOTE;
        snprintf(out->text, sizeof out->text,
                 "%s, which nobody chose: %s, and no lock for other machines", facts->server,
                 alone);
        snprintf(out->advice, sizeof out->advice,
                 "set url in " LATCHKEY_CONFIGURATION " or LATCHKEY_URL; url = local: says that "
                 "this is meant");
        return;
    }
    snprintf(out->text, sizeof out->text, "%s, chosen by %s%s%s", facts->server,
             chosen ? chosen->url_from : "-u", local ? ": " : "", scope);
    if (chosen && !prefix && *chosen->prefix_from) {
        size_t length = strlen(out->text);
        snprintf(out->text + length, sizeof out->text - length, "; prefix %s, chosen by %s",
                 chosen->prefix, chosen->prefix_from);
    }
}

static void judge_place(const lk_local_info *place, finding *out) {
    if (!place->unshared) {
        snprintf(out->text, sizeof out->text,
                 "%s; programs that see another file system there (a container, a private /tmp) "
                 "have another server, or are refused",
                 place->folder);
        return;
    }
    out->grade = FINDING_NOTE;
    snprintf(out->text, sizeof out->text,
             "%s is in a /tmp that is private to this service: other programs of this user have "
             "another server",
             place->folder);
    snprintf(out->advice, sizeof out->advice,
             "let LATCHKEY_LOCAL_DIR name a folder that all of them see, or set url "
             "in " LATCHKEY_CONFIGURATION);
}

size_t doctor_judge_choice(const lk_facts *facts, const lk_defaults *chosen, const char *prefix,
                           finding *findings) {
    lk_local_info *place;
    size_t count = 0;
    findings[count] = (finding){.name = "server"};
    judge_server(facts, chosen, prefix, &findings[count++]);
    if (facts->local == LK_YES && lk_local_status(&place) == LK_OK) {
        findings[count] = (finding){.name = "place"};
        judge_place(place, &findings[count++]);
        lk_local_info_free(place);
    }
    return count;
}
