/*
 * A form of the lock, behind one interface: the C core in this process (form_core.c), or the Lua
 * scripts in a server (form_scripts.c). The time is the caller's in both. What holds for one form
 * must hold for the other to the last byte: same replies, same messages, same expiry.
 */
#ifndef TEST_FORM_H
#define TEST_FORM_H

#include "core.h"
#include "reply.h"
#include "server.h"

/* Far ahead, so that the server's own clock expires nothing. 2049-03-22. */
#define FORM_CLOCK_START_US UINT64_C(2500000000000000)

/* An operation: `op` as in SPEC 10, one lock name (renew: one for each entry), its arguments. */
typedef struct {
    const char *op;
    const lkc_text *names;
    size_t name_count;
    const lkc_text *arguments;
    size_t argument_count;
    const lkc_text *keys; /* instead of those made of the names; scripts only; NULL: made */
    size_t key_count;
} form_call;

/* A message to a client, as it was sent (SPEC 10.10). */
typedef struct {
    char *client; /* what stands behind `<prefix>:` */
    char *text;
    size_t length;
} form_message;

/* A lock of which something is left. */
typedef struct {
    char *name;
    size_t length;
    uint64_t expires_ms; /* SPEC 7.3 */
    size_t key_count;    /* of the core: 1 */
} form_rest;

/* What an operation did. The messages are in the order of their clients, then of sending. */
typedef struct {
    reply answer;
    form_message *messages;
    size_t message_count;
    form_rest *rests; /* all locks, by name; those that the clock is past are not there */
    size_t rest_count;
    char *fault; /* NULL, or what is broken: an invariant, a key that stays too long, the server */
} form_result;

void form_result_clear(form_result *);

typedef struct lock_form lock_form;

lock_form *form_core_new(void);

/*
 * indexed: its locks are indexed as soon as they have two holds or waiters, otherwise when they
 * have many. NULL, after saying why, when it cannot connect.
 */
lock_form *form_scripts_new(const test_server *, bool indexed);

void form_free(lock_form *);
const char *form_name(const lock_form *);
bool form_has_server(const lock_form *);
bool form_is_indexed(const lock_form *);

/* Runs one operation at the instant `now_us`. Clear the result even after a fault. */
void form_run(lock_form *, uint64_t now_us, const form_call *, form_result *);

/* Fills `rests` and `fault` alone. */
void form_look(lock_form *, uint64_t now_us, form_result *);

/* Forgets all locks: the next operation finds an empty form. Takes back form_configure. */
void form_reset(lock_form *);

/*
 * For forms with a server only. Both return NULL, or what went wrong, to be freed.
 * form_configure: CONFIG SET, until form_reset.
 * form_plant: puts a value of `type` (string, hash, set, zset, list; none: nothing; earlier-string,
 * earlier-hash, other-version: a lock of another version) into the key that the lock has with
 * `suffix` ("" or "i"). Planted keys are in no `rests`.
 */
char *form_configure(lock_form *, const char *option, const char *value);
char *form_plant(lock_form *, lkc_text name, const char *suffix, const char *type);

#endif
