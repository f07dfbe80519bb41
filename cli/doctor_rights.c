/* See doctor.h: the rights and commands that locks need. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>

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

/* kind: '+' for commands, '~' for keys, '&' for channels. */
static bool lacks(const lk_facts *facts, char kind) {
    for (size_t i = 0; i < facts->missing_count; i++)
        if (*facts->missing[i] == kind)
            return true;
    return false;
}

/* Adds a line with all missing rights of one kind. */
static void advise_kind(const char *user, const lk_facts *facts, char kind, finding *out) {
    size_t size = sizeof out->advice, length = strlen(out->advice);
    if (!lacks(facts, kind) || length + sizeof "\nACL SETUSER " + 3 >= size)
        return;
    length += (size_t)snprintf(out->advice + length, size - length, "%sACL SETUSER ",
                               length ? "\n" : "");
    length += quote(user, out->advice + length, size - length);
    for (size_t i = 0; i < facts->missing_count && length + 4 < size; i++) {
        if (*facts->missing[i] != kind)
            continue;
        out->advice[length++] = ' ';
        length += quote(facts->missing[i], out->advice + length, size - length);
    }
}

/*
 * A user who may run no command with a key may have all keys already, and then the server refuses a
 * line that has a pattern for keys. So patterns must not be in the line of the commands. It is the
 * same with channels.
 */
static void advise_grant(const char *user, const lk_facts *facts, finding *out) {
    advise_kind(user, facts, '+', out);
    advise_kind(user, facts, '~', out);
    advise_kind(user, facts, '&', out);
    out->is_command = true;
}

bool doctor_judge_rights(const lk_facts *facts, doctor_way way, finding *out) {
    char rights[1200];
    (void)way;
    const char *user = *facts->user ? facts->user : "default";
    if (facts->missing_count == 0) {
        finding_set(out, FINDING_FINE, "user %s has all rights that locks need", user);
        return true;
    }
    join(facts->missing, facts->missing_count, rights, sizeof rights);
    bool may_have_all = lacks(facts, '+') && (lacks(facts, '~') || lacks(facts, '&'));
    finding_set(out, FINDING_WRONG,
                "user %s lacks %s: the server denies requests that need these rights%s", user,
                rights,
                may_have_all ? "; if the user already has ~* or &*, the server refuses to add a "
                               "pattern to it, which does no harm"
                             : "");
    advise_grant(user, facts, out);
    return true;
}

bool doctor_judge_commands(const lk_facts *facts, doctor_way way, finding *out) {
    char commands[400];
    (void)way;
    if (facts->absent_count == 0)
        return false;
    join(facts->absent, facts->absent_count, commands, sizeof commands);
    finding_set(out, FINDING_WRONG, "the server does not know %s, which locks need", commands);
    finding_advise(out,
                   "remove rename-command for these from its configuration, or use another server");
    return true;
}
