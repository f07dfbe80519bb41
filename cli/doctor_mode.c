/* See doctor.h: a server that is of another kind than the URL says. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>

/*
 * Writes the URL that should have been used: `kind` follows the scheme, and the login is left out. A
 * Unix socket has no such URL, so words stand in for the address.
 */
static void print_right_url(const char *url, const char *kind, char *out, size_t size) {
    const char *after = strstr(url, "://");
    if (!after || strncmp(url, "unix", strlen("unix")) == 0) {
        snprintf(out, size, "redis+%s://HOST:PORT", kind);
        return;
    }
    const char *at = strrchr(after, '@'), *host = at ? at + 1 : after + strlen("://");
    snprintf(out, size, "%.*s+%s://%.*s", (int)(after - url), url, kind, (int)strcspn(host, "/?"),
             host);
}

bool doctor_judge_mode(const lk_facts *facts, doctor_way way, finding *out) {
    char url[FINDING_TEXT_SIZE / 2];
    bool is_cluster = strcmp(facts->mode, "cluster") == 0;
    if (!*facts->mode || strcmp(facts->mode, "standalone") == 0 ||
        (is_cluster && way == FOUND_IN_CLUSTER))
        return false;
    print_right_url(facts->server, facts->mode, url, sizeof url);
    if (is_cluster) {
        finding_set(out, FINDING_WRONG,
                    "it is a node of a cluster, which has only some of the locks: clients refuse "
                    "it with this URL");
        finding_advise(out, "use %s", url);
    } else if (strcmp(facts->mode, "sentinel") == 0) {
        finding_set(out, FINDING_WRONG,
                    "it is a sentinel, which knows where the master is, but keeps no locks");
        finding_advise(out, "use %s/MASTER; SENTINEL MASTERS lists the names of masters", url);
    } else {
        finding_set(out, FINDING_WRONG, "it is a %s, which cannot keep locks", facts->mode);
        finding_advise(out, "use the address of a standalone server or of a master");
    }
    return true;
}
