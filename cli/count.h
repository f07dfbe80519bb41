/* "1 lock", "2 locks": the word that goes with a number. */
#ifndef CLI_COUNT_H
#define CLI_COUNT_H

#include <stddef.h>

static inline const char *of_count(size_t count, const char *one, const char *many) {
    return count == 1 ? one : many;
}

#endif
