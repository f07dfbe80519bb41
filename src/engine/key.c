/* See key.h. */
#include "engine/key.h"

#include <string.h>

static bool is_escaped(const char *name) {
    return *name == '}' || *name == '%';
}

static size_t copy_to(char *out, const char *text) {
    size_t length = strlen(text);
    memcpy(out, text, length);
    return length;
}

size_t lki_key_print(lki_key key, char out[LKI_KEY_MOST]) {
    size_t length = copy_to(out, key.prefix);
    length += copy_to(out + length, is_escaped(key.name) ? ":{%" : ":{");
    length += copy_to(out + length, key.name);
    out[length++] = '}';
    return length;
}

size_t lki_key_print_index(lki_key key, char out[LKI_KEY_MOST]) {
    size_t length = lki_key_print(key, out);
    return length + copy_to(out + length, ":i");
}

/* Escapes the special characters of a SCAN pattern. */
static size_t copy_escaped(char *out, const char *text, size_t length) {
    size_t made = 0;
    for (size_t i = 0; i < length; i++) {
        if (strchr("*?[]\\", text[i]))
            out[made++] = '\\';
        out[made++] = text[i];
    }
    return made;
}

size_t lki_key_pattern(const char *prefix, const char *start, size_t start_length,
                       char out[LKI_KEY_PATTERN_MOST]) {
    size_t length = copy_escaped(out, prefix, strlen(prefix));
    length += copy_to(out + length, ":{");
    /* In the key, such a name follows a percent sign: then the pattern matches all names. */
    if (start_length && !is_escaped(start))
        length += copy_escaped(out + length, start, start_length);
    return length + copy_to(out + length, "*}");
}

const char *lki_key_name(const char *prefix, const char *key, size_t key_length, size_t *length) {
    size_t head = strlen(prefix);
    if (key_length < head + 4 || memcmp(key, prefix, head) != 0 ||
        memcmp(key + head, ":{", 2) != 0 || key[key_length - 1] != '}')
        return NULL;
    const char *name = key + head + 2;
    size_t name_length = key_length - head - 3;
    if (*name == '%') {
        name++;
        name_length--;
        if (!name_length || !is_escaped(name))
            return NULL;
    } else if (is_escaped(name)) {
        return NULL;
    }
    if (name_length > LKI_NAME_MOST || memchr(name, 0, name_length))
        return NULL;
    *length = name_length;
    return name;
}
