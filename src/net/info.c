/* See info.h. */
#include "net/info.h"

#include <stdlib.h>
#include <string.h>

enum { OLDEST_MAJOR = 6, OLDEST_MINOR = 2 };

const char *lki_info_field(const char *info, const char *field) {
    size_t length = strlen(field);
    for (const char *line = info; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, field, length) == 0)
            return line + length;
    }
    return NULL;
}

/* Valkey may call it server_mode. */
const char *lki_info_mode(const char *info) {
    const char *mode = lki_info_field(info, "redis_mode:");
    return mode ? mode : lki_info_field(info, "server_mode:");
}

bool lki_info_is_supported(const char *version) {
    char *end;
    unsigned long major = strtoul(version, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > OLDEST_MAJOR || (major == OLDEST_MAJOR && minor >= OLDEST_MINOR);
}
