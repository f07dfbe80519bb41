/* `ls -l`: who holds the locks, a line for each holder, and which of them are asked for. */
#ifndef CLI_HOLDERS_H
#define CLI_HOLDERS_H

#include "options.h"
#include "snapshot.h"

#include <stdint.h>

/* The options that choose holders; they go together, and each that is given must fit. */
#define HOLDER_OPTIONS                                                           \
    {0, "host", "PATTERN", "only holders on this host"},                         \
        {0, "pid", "NUMBER", "only holders with this process number"},           \
        {0, "app", "PATTERN", "only holders of this program"},                   \
        {0, "owner", "PATTERN", "only holders of this owner"},                   \
        {0, "mode", "MODE", "only holders that read or that write"}, {           \
        0, "held-for", "TIME", "only holders that have had the lock for so long" \
    }

typedef struct {
    const char *host, *app, *owner; /* patterns as of names; NULL: any */
    const char *mode;               /* "read", "write"; NULL: either */
    int64_t pid;                    /* below 0: any */
    int64_t held_ms;                /* at least */
    bool given;                     /* one of them */
} holder_filter;

#define HOLDER_FILTER_NONE ((holder_filter){.pid = -1})

/* An option_taken; one that is not of the table above changes nothing. */
int holder_filter_taken(holder_filter *, const option *, const char *value);

/*
 * Prints the holders that fit; without a filter, also a line for each lock that nobody holds. *shown
 * becomes how many lines there are. Returns 0, or the code to end with.
 */
int holders_print(const snapshot *, const holder_filter *, bool json, size_t *shown);

#endif
