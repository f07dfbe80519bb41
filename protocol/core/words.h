/*
 * The operations of core.h in the words of SPEC 10: arguments as texts in, replies as integers,
 * texts and arrays out, bad input as the errors of SPEC 10.12. What puts the core behind a protocol
 * (the server module, the tests) stands on this.
 */
#ifndef LKI_WORDS_H
#define LKI_WORDS_H

#include "core.h"
#include "handle.h"

typedef enum {
    LKI_OP_ACQUIRE,
    LKI_OP_RELEASE,
    LKI_OP_RENEW, /* one entry, see below */
    LKI_OP_CONVERT,
    LKI_OP_CANCEL,
    LKI_OP_INSPECT,
    LKI_OP_FORCE
} lki_op;

/* Where a reply goes, in order; an array is followed by its `count` elements. */
typedef struct {
    void (*array)(size_t count, void *context);
    void (*integer)(uint64_t value, void *context);
    void (*text)(lki_text, void *context);
    void (*error)(const char *text, void *context); /* begins with the error's code */
    void *context;
} lki_reply_sink;

/*
 * Runs one operation. Bad input becomes an error reply and changes nothing: the events are still
 * those of the operation before it. Returns false, with nothing sent and nothing changed, when
 * memory runs out.
 *
 * Of renew it runs one entry: four arguments, and the reply is that entry's array, without the
 * time. Bad input is an error reply here as well; whoever puts the entries together makes it the
 * entry `error` text (SPEC 10.5).
 */
bool lki_words_run(lki_lock *, uint64_t now_us, lki_op, const lki_text *arguments, size_t count,
                   const lki_reply_sink *);

/* SPEC 1.1: the length and bytes of a lock's name. */
bool lki_name_valid(lki_text name);

/* One line of a message (SPEC 10.10), without a line feed; returns its length. */
enum { LKI_EVENT_LINE_MOST = 160 };
size_t lki_event_print(const lki_event *, char out[LKI_EVENT_LINE_MOST]);

#endif
