/*
 * The operations of core.h in the words of SPEC 10. Arguments come as texts. Replies are integers,
 * texts and arrays. Bad input is answered with the errors of SPEC 10.12. This is the interface for
 * a program that speaks the protocol, such as a server module or the tests.
 */
#ifndef LKC_WORDS_H
#define LKC_WORDS_H

#include "core.h"

typedef enum {
    LKC_OP_ACQUIRE,
    LKC_OP_RELEASE,
    LKC_OP_RENEW, /* one entry, see below */
    LKC_OP_CONVERT,
    LKC_OP_CANCEL,
    LKC_OP_INSPECT,
    LKC_OP_FORCE
} lkc_op;

/* Receives a reply, in order. An array is followed by its `count` elements. */
typedef struct {
    void (*array)(size_t count, void *context);
    void (*integer)(uint64_t value, void *context);
    void (*text)(lkc_text, void *context);
    void (*error)(const char *text, void *context); /* begins with the error's code */
    void *context;
} lkc_reply_sink;

/*
 * Runs one operation. Bad input becomes an error reply and changes nothing: the events are still
 * those of the operation before it. Returns false, with nothing sent and nothing changed, when
 * memory runs out.
 *
 * For renew, a call runs one entry: it has four arguments, and the reply is the array of that entry,
 * without the time. Bad input is an error reply here too. The caller, who puts the entries together,
 * makes it the entry `error` text (SPEC 10.5).
 */
bool lkc_words_run(lkc_lock *, uint64_t now_us, lkc_op, const lkc_text *arguments, size_t count,
                   const lkc_reply_sink *);

/* SPEC 1.1: whether this may be the name of a lock. */
bool lkc_name_valid(lkc_text name);

/* One line of a message (SPEC 10.10), without a line feed; returns its length. */
enum { LKC_EVENT_LINE_MOST = 160 };
size_t lkc_event_print(const lkc_event *, char out[LKC_EVENT_LINE_MOST]);

#endif
