/* See sentence.h. */
#include "sentence.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *field, *option;
    bool is_word; /* also an English word: only "owner must …" is about the field */
} names[] = {
    {"tls_ca", "--tls-ca", false},   {"tls_cert", "--tls-cert", false},
    {"tls_key", "--tls-key", false}, {"tls_server_name", "--tls-server-name", false},
    {"lease_ms", "--lease", false},  {"wait_ms", "--wait", false},
    {"prefix", "--prefix", true},    {"owner", "--owner", true},
    {"group", "--group", true},      {"app", "--app", true},
};

/* "FILE:LINE: …". A URL or an address with a port looks similar; only a path may contain blanks. */
static bool is_about_a_file(const char *sentence) {
    const char *end = strstr(sentence, ": ");
    size_t length = end ? (size_t)(end - sentence) : 0, digits = 0;
    if (memmem(sentence, length, "://", 3) || (*sentence != '/' && memchr(sentence, ' ', length)))
        return false;
    while (digits < length && isdigit((unsigned char)sentence[length - 1 - digits]))
        digits++;
    return digits > 0 && digits + 1 < length && sentence[length - 1 - digits] == ':';
}

static bool is_about_a_variable(const char *sentence) {
    return strncmp(sentence, "LATCHKEY_", strlen("LATCHKEY_")) == 0;
}

/* LATCHKEY_URL stands for -u, and LATCHKEY_LOCAL_DIR is for no key of a configuration. */
bool sentence_is_about_configuration(const char *sentence) {
    static const char *const others[] = {"LATCHKEY_URL", "LATCHKEY_LOCAL_DIR"};
    size_t length = strcspn(sentence, ": ");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == length && memcmp(sentence, others[i], length) == 0)
            return false;
    return is_about_a_file(sentence) || is_about_a_variable(sentence);
}

/* At the start of the sentence, or directly after: lock "x": */
static bool begins_clause(const char *sentence, const char *at) {
    return at == sentence || (at - sentence >= 3 && memcmp(at - 3, "\": ", 3) == 0);
}

/* The option for this field name, or NULL. */
static const char *option_of(const char *sentence, const char *word, size_t length) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].field) != length || memcmp(names[i].field, word, length) != 0)
            continue;
        bool is_field = !names[i].is_word ||
                        (begins_clause(sentence, word) && strncmp(word + length, " must ", 6) == 0);
        return is_field ? names[i].option : NULL;
    }
    return NULL;
}

void sentence_translate(const char *sentence, char *out, size_t size) {
    const char *quoted = strchr(sentence, '"'), *quoted_end = strrchr(sentence, '"');
    const char *at = sentence;
    size_t length = 0;
    if (is_about_a_file(sentence) || is_about_a_variable(sentence)) {
        snprintf(out, size, "%s", sentence);
        return;
    }
    while (*at && length + 1 < size) {
        bool is_quoted = quoted && at >= quoted && at <= quoted_end;
        bool begins = at == sentence || at[-1] == ' ' || at[-1] == '(';
        size_t word = strcspn(at, " ,;:.()\"");
        const char *option = begins && !is_quoted ? option_of(sentence, at, word) : NULL;
        if (option) {
            int more = snprintf(out + length, size - length, "%s", option);
            length = (size_t)more < size - length ? length + (size_t)more : size - 1;
            at += word;
        } else {
            out[length++] = *at++;
        }
    }
    out[length] = '\0';
}
