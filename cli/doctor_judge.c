/* See doctor.h: one function for each check, in the order in which they are shown. */
#include "doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Clocks may differ by this, plus the error of the measurement. */
static const int64_t clock_tolerance_us = 100 * 1000;
/* Such a clock is not synchronized at all, and will confuse other programs too. */
static const int64_t clock_wrong_us = 10 * 1000 * 1000;
/* A longer round trip limits the throughput of a busy lock. */
static const int64_t slow_us = 20 * 1000;

static void put(char *out, size_t size, const char *format, va_list arguments) {
    int length = vsnprintf(out, size, format, arguments);
    if (length >= (int)size)
        memcpy(out + size - sizeof "...", "...", sizeof "...");
}

static void set(finding *out, finding_grade grade, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void set(finding *out, finding_grade grade, const char *format, ...) {
    va_list arguments;
    out->grade = grade;
    va_start(arguments, format);
    put(out->text, sizeof out->text, format, arguments);
    va_end(arguments);
}

static void advise(finding *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void advise(finding *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put(out->advice, sizeof out->advice, format, arguments);
    va_end(arguments);
}

/* Each of these returns false if the check does not apply. */

static bool judge_version(const lk_facts *facts, finding *out) {
    if (facts->supported == LK_UNKNOWN) {
        set(out, FINDING_NOTE, "the server does not report its version");
        advise(out, "make sure that it is Redis 6.2 or newer, or Valkey");
        return true;
    }
    set(out, facts->supported == LK_YES ? FINDING_FINE : FINDING_WRONG, "%s %s%s", facts->kind,
        facts->version, facts->supported == LK_YES ? "" : ": too old for locks");
    if (facts->supported == LK_NO)
        advise(out, "install Redis 6.2 or newer, or Valkey");
    return true;
}

static bool judge_mode(const lk_facts *facts, finding *out) {
    if (!*facts->mode || strcmp(facts->mode, "standalone") == 0)
        return false;
    if (strcmp(facts->mode, "cluster") == 0)
        set(out, FINDING_WRONG,
            "it is a node of a cluster: this version of latchkey does not support clusters");
    else
        set(out, FINDING_WRONG, "it is a %s, which cannot keep locks", facts->mode);
    advise(out, "use the address of a standalone server or of a master");
    return true;
}

static bool judge_role(const lk_facts *facts, finding *out) {
    if (facts->replica == LK_YES) {
        set(out, FINDING_WRONG, "it is a replica: it refuses writes, so no lock can be acquired");
        advise(out, "use the address of its master (INFO replication: master_host, master_port)");
    } else {
        set(out, facts->replica == LK_NO ? FINDING_FINE : FINDING_NOTE, "%s",
            facts->replica == LK_NO ? "it is a master"
                                    : "the server does not report whether it is a master");
    }
    return true;
}

static bool judge_eviction(const lk_facts *facts, finding *out) {
    if (!*facts->eviction) {
        set(out, FINDING_NOTE, "the server does not report its maxmemory-policy");
        advise(out, "make sure that it is noeviction");
    } else if (strcmp(facts->eviction, "noeviction") == 0) {
        set(out, FINDING_FINE, "maxmemory-policy is noeviction: a full server does not drop locks");
    } else {
        bool is_bounded = facts->maxmemory != 0;
        set(out, is_bounded ? FINDING_WRONG : FINDING_NOTE,
            "maxmemory-policy is %s: a full server drops locks while they are held, and "
            "others can acquire them%s",
            facts->eviction,
            is_bounded ? "" : "; with maxmemory 0, as now, the server is never full");
        advise(out, "CONFIG SET maxmemory-policy noeviction, and the same in the server's "
                    "configuration; or use a separate server for locks");
    }
    return true;
}

static bool judge_persistence(const lk_facts *facts, finding *out) {
    static const char switch_on[] =
        "CONFIG SET appendonly yes, and the same in the server's configuration";
    if (facts->aof == LK_YES) {
        set(out, FINDING_FINE, "the append-only file is on: locks survive a restart");
    } else if (facts->rdb == LK_YES) {
        set(out, FINDING_NOTE,
            "snapshots only: locks survive a clean restart, but a crash loses those "
            "acquired since the last snapshot, and others can acquire them");
        advise(out, "%s", switch_on);
    } else if (facts->aof == LK_UNKNOWN) {
        set(out, FINDING_NOTE, "the server does not report whether it keeps its data on disk");
        advise(out, "make sure that appendonly is yes");
    } else if (facts->rdb == LK_UNKNOWN) {
        set(out, FINDING_NOTE,
            "the append-only file is off, and the server does not report whether it "
            "takes snapshots: a restart may lose all locks");
        advise(out, "%s; or grant the user CONFIG GET (+config|get), so that doctor can tell",
               switch_on);
    } else {
        set(out, FINDING_WRONG,
            "nothing is kept on disk: a restart loses all locks, and others can acquire "
            "those that are still held");
        advise(out, "%s", switch_on);
    }
    return true;
}

static bool judge_replicas(const lk_facts *facts, finding *out) {
    if (facts->replica == LK_YES)
        return false;
    if (facts->local == LK_YES) {
        set(out, FINDING_FINE, "none, and none needed: local: is for this machine only");
    } else if (facts->replicas < 0) {
        set(out, FINDING_NOTE, "the server does not report its number of replicas");
    } else if (facts->replicas == 0) {
        set(out, FINDING_NOTE,
            "no replica is connected: nobody can acquire a lock while this server is away");
        advise(out, "if you cannot accept that, set up a replica (REPLICAOF there); when it "
                    "becomes the master, give programs its address");
    } else {
        set(out, FINDING_FINE, "%" PRId64 " connected", facts->replicas);
    }
    return true;
}

static bool judge_clock(const lk_facts *facts, finding *out) {
    if (facts->clock_known != LK_YES) {
        set(out, FINDING_NOTE, "the server does not report its clock (TIME)");
        return true;
    }
    int64_t offset_us = facts->clock_offset_us;
    int64_t away_us = offset_us < 0 ? -offset_us : offset_us;
    double away_ms = (double)away_us / 1e3, error_ms = (double)facts->clock_error_us / 1e3;
    if (away_us <= facts->clock_error_us + clock_tolerance_us) {
        set(out, FINDING_FINE, "%.2f ms from the clock of this machine (measured within %.2f ms)",
            away_ms, error_ms);
        return true;
    }
    set(out, away_us > facts->clock_error_us + clock_wrong_us ? FINDING_WRONG : FINDING_NOTE,
        "%.1f ms %s the clock of this machine (measured within %.2f ms): one of the two clocks is "
        "wrong; leases do not depend on the difference, but fencing tokens start from the server's "
        "clock after the server has lost its data",
        away_ms, offset_us < 0 ? "behind" : "ahead of", error_ms);
    advise(out, "synchronize both clocks with NTP (chrony, systemd-timesyncd)");
    return true;
}

static void join(const char *const *words, size_t count, char *out, size_t size) {
    size_t length = 0;
    *out = 0;
    for (size_t i = 0; i < count && length < size; i++) {
        int more = snprintf(out + length, size - length, "%s%s", i ? " " : "", words[i]);
        length += more > 0 ? (size_t)more : 0;
    }
}

/* Quotes a word for redis-cli if it is empty or contains a space or a quote. */
static size_t quote(const char *word, char *out, size_t size) {
    bool is_plain = *word && !strpbrk(word, " \"'");
    size_t length = 0;
    if (!is_plain)
        out[length++] = '"';
    for (; *word && length + 3 < size; word++) {
        if (!is_plain && strchr("\"\\", *word))
            out[length++] = '\\';
        out[length++] = *word;
    }
    if (!is_plain)
        out[length++] = '"';
    out[length] = '\0';
    return length;
}

/* ACL SETUSER with all missing rights. */
static void advise_grant(const char *user, const lk_facts *facts, finding *out) {
    size_t size = sizeof out->advice;
    size_t length = (size_t)snprintf(out->advice, size, "ACL SETUSER ");
    length += quote(user, out->advice + length, size - length);
    for (size_t i = 0; i < facts->missing_count && length + 4 < size; i++) {
        out->advice[length++] = ' ';
        length += quote(facts->missing[i], out->advice + length, size - length);
    }
    out->is_command = true;
}

static bool lacks(const lk_facts *facts, const char *right) {
    for (size_t i = 0; i < facts->missing_count; i++)
        if (strncmp(facts->missing[i], right, strlen(right)) == 0)
            return true;
    return false;
}

static bool judge_rights(const lk_facts *facts, finding *out) {
    char rights[1200];
    const char *user = *facts->user ? facts->user : "default";
    if (facts->missing_count == 0) {
        set(out, FINDING_FINE, "user %s has all rights that locks need", user);
        return true;
    }
    join(facts->missing, facts->missing_count, rights, sizeof rights);
    /* Without a command that takes keys, doctor could not try whether the user has these keys. */
    set(out, FINDING_WRONG, "user %s lacks %s: the server denies requests that need these rights%s",
        user, rights,
        lacks(facts, "+get") && lacks(facts, "~") ? "; if the user already has ~*, remove the word "
                                                    "with ~ from the line"
                                                  : "");
    advise_grant(user, facts, out);
    return true;
}

static bool judge_commands(const lk_facts *facts, finding *out) {
    char commands[400];
    if (facts->absent_count == 0)
        return false;
    join(facts->absent, facts->absent_count, commands, sizeof commands);
    set(out, FINDING_WRONG, "the server does not know %s, which locks need", commands);
    advise(out, "remove rename-command for these from its configuration, or use another server");
    return true;
}

static bool judge_module(const lk_facts *facts, finding *out) {
    set(out, FINDING_FINE, "%s",
        facts->module == LK_YES ? "latchkey's module is loaded"
                                : "not loaded, and not needed: locks run as scripts");
    return true;
}

static bool judge_round_trip(const lk_facts *facts, finding *out) {
    bool slow = facts->round_trip_us > slow_us;
    set(out, slow ? FINDING_NOTE : FINDING_FINE, "%.3f ms%s", (double)facts->round_trip_us / 1e3,
        slow ? ": every acquire and release takes at least this long" : "");
    if (slow)
        advise(out, "use a server that is closer");
    return true;
}

static const struct {
    const char *name;
    bool (*judge)(const lk_facts *, finding *);
} checks[] = {
    {"version", judge_version},
    {"mode", judge_mode},
    {"role", judge_role},
    {"eviction", judge_eviction},
    {"persistence", judge_persistence},
    {"replicas", judge_replicas},
    {"clock", judge_clock},
    {"rights", judge_rights},
    {"commands", judge_commands},
    {"module", judge_module},
    {"round-trip", judge_round_trip},
};
_Static_assert(sizeof checks / sizeof *checks + CHOICE_FINDINGS_MOST <= FINDINGS_MOST,
               "room for each");

size_t doctor_judge(const lk_facts *facts, finding *findings) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        findings[count] = (finding){.name = checks[i].name};
        if (checks[i].judge(facts, &findings[count]))
            count++;
    }
    return count;
}
