/* Messages from the scripts, line by line (SPEC 10.10). Knows no handle's state. */
#ifndef LKI_MESSAGE_H
#define LKI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { LKI_MESSAGE_GRANTED, LKI_MESSAGE_WATCH, LKI_MESSAGE_LOST } lki_message_kind;

typedef struct {
    lki_message_kind kind;
    uint64_t number; /* of the handle */
    uint64_t request, fence, server_us;
    int64_t ms;
    unsigned flags;
} lki_message;

/*
 * Reads the next line of a message, from *at on, and moves *at behind it. False at the end. A line
 * of another client, or one that cannot be read, is passed over.
 */
bool lki_message_next(const char **at, const char *end, const char *client, lki_message *out);

#endif
