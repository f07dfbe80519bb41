/* See secret.h. */
#include "secret.h"

#include <string.h>

/* Whatever stands there before the last @: what is no URL may have been meant as one. */
void secret_cover(char *text, const char *ends) {
    for (char *at = strstr(text, "://"); at; at = strstr(at + 3, "://")) {
        size_t length = strcspn(at + 3, ends);
        char *host = memrchr(at + 3, '@', length);
        char *colon = host ? memchr(at + 3, ':', (size_t)(host - at - 3)) : NULL;
        if (colon)
            memset(colon + 1, 'x', (size_t)(host - colon - 1));
    }
}
