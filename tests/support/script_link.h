/*
 * Two connections to a server: one for commands, pipelined, and one that hears every message and
 * every change of a key. It knows nothing of locks. A lost connection ends the program: a test has
 * nothing to say then.
 */
#ifndef TEST_SCRIPT_LINK_H
#define TEST_SCRIPT_LINK_H

#include "form.h"

typedef struct script_link script_link;

script_link *script_link_open(const char *socket); /* NULL, after saying why, when that fails */
void script_link_close(script_link *);

/* Puts a command behind those not yet sent; hiredis' format (%s, %b and %lu-like numbers). */
void script_link_append(script_link *, const char *format, ...);
void script_link_append_words(script_link *, const lkc_text *words, size_t count);

/* The reply to the oldest command that has none yet; sends what is not yet sent, in one write. */
void script_link_read(script_link *, reply *out);

/* The same of an operation's answer, whose lines are taken apart (SPEC 11.4). */
void script_link_read_answer(script_link *, reply *out);

/*
 * A mark behind the commands so far. Reading up to it, once the replies before it have been read,
 * gathers every message that these commands sent. The prefix is cut off a channel's name.
 */
void script_link_append_sync(script_link *);
void script_link_read_sync(script_link *, form_result *);

/* A key was written, or is gone: deleted, emptied or expired. */
typedef struct {
    char *key;
    size_t length;
    bool gone;
} script_change;

/* The changes between the last two marks that were read, in their order; valid until the next. */
const script_change *script_link_changes(const script_link *, size_t *count);

#endif
