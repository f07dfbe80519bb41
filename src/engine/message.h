/* Parses the messages that the scripts publish, line by line (SPEC 10.10). Knows no handles. */
#ifndef LKI_MESSAGE_H
#define LKI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { LKI_MESSAGE_GRANTED, LKI_MESSAGE_WATCH, LKI_MESSAGE_LOST } lki_message_kind;

typedef struct {
    lki_message_kind kind;
    const char *handle; /* LKI_HANDLE_LENGTH bytes, inside the text of the message */
    uint64_t number;    /* of the handle, in its client */
    uint64_t request;   /* the request number */
    uint64_t fence;     /* of the hold */
    uint64_t server_us; /* the time of the server */
    int64_t ms;         /* granted: left of the lease; watch: see SPEC 5.5 */
    unsigned flags;     /* as in lki_answer */
} lki_message;

/*
 * Parses the next line at *at, and moves *at past it. False: no more lines. Lines that are not valid
 * are skipped.
 */
bool lki_message_next(const char **at, const char *end, lki_message *out);

#endif
