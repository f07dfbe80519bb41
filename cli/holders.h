/* `ls -l`: one line for each holder, and the options that select holders. */
#ifndef CLI_HOLDERS_H
#define CLI_HOLDERS_H

#include "options.h"
#include "snapshot.h"

#include <stdint.h>

/* The options that select holders. A holder must match all that are given. */
#define HOLDER_OPTIONS                                                              \
    {0, "host", "PATTERN", "only holders on this host"},                            \
        {0, "pid", "NUMBER", "only holders with this process number"},              \
        {0, "app", "PATTERN", "only holders of this program"},                      \
        {0, "owner", "PATTERN", "only holders of this owner"},                      \
        {0, "mode", "MODE", "only holders in this mode, read or write"}, {          \
        0, "held-for", "TIME", "only holders that have held the lock for this long" \
    }

typedef struct {
    const char *host, *app, *owner; /* shell patterns; NULL: any */
    const char *mode;               /* "read", "write"; NULL: either */
    int64_t pid;                    /* below 0: any */
    int64_t held_ms;                /* the least */
    bool given;                     /* at least one of the options */
} holder_filter;

#define HOLDER_FILTER_NONE ((holder_filter){.pid = -1})

/* Takes an option of HOLDER_OPTIONS; ignores others. Returns 0, or the exit code. */
int holder_filter_take_option(holder_filter *, const option *, const char *value);

/*
 * Prints the holders that match. Without a filter, also prints a line for each lock that nobody holds.
 * *shown becomes the number of lines. Returns 0, or the exit code.
 */
int holders_print(const snapshot *, const holder_filter *, bool json, size_t *shown);

#endif
