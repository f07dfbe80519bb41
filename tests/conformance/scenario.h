/* A scenario as it was read from its file, checked for form but not yet played. */
#ifndef CONFORMANCE_SCENARIO_H
#define CONFORMANCE_SCENARIO_H

#include "lex.h"
#include "shape.h"

/* Which forms play a step. */
enum { FORM_CORE = 1, FORM_PACKED = 2, FORM_INDEXED = 4, FORM_SCRIPTS = 6, FORM_ALL = 7 };

/*
 * `A`, `A2`: the client is the letter, the handle's number what follows (1 where nothing does).
 * `A*`: A1, A2, … in the turns of `times`. Above 100000, it is a handle in a cluster (SPEC 11.8).
 */
enum { ACTOR_OF_TURN = 0, ACTOR_LAST_PLAIN = 100000 };
typedef struct {
    char client; /* 0: nobody */
    unsigned number;
} actor_name;

typedef enum {
    STEP_ACQUIRE,
    STEP_RELEASE,
    STEP_RENEW,
    STEP_CONVERT,
    STEP_CANCEL,
    STEP_INSPECT,
    STEP_FORCE,
    STEP_CALL,     /* an operation in raw words */
    STEP_FORGET,   /* the actor takes itself for one that holds nothing */
    STEP_TIME,     /* words: by how much */
    STEP_CHECK,    /* words: left, comparison, right */
    STEP_NAME,     /* words: the lock that the next steps mean */
    STEP_KEYS,     /* words: none, some or one */
    STEP_CONFIG,   /* words: option, value */
    STEP_PLANT,    /* words: type, suffix */
    STEP_ARRIVALS, /* words: policy, held mode, modes; answers: the phases */
} step_kind;

/* Who asks, and what it says otherwise than by default. */
typedef struct {
    actor_name actor;
    bool waiter; /* renew: its waiter, not its hold */
    token_list attributes;
} party;

/* `word key=value…`, with an actor before it in messages and rows. */
typedef struct {
    const shape *shape;
    bool whole; /* renew: the error is the reply, not an entry's */
    actor_name actor;
    token text; /* of an error */
    token_list attributes;
} expected;

typedef struct {
    step_kind kind;
    int line;
    char *source; /* the step as written */
    unsigned forms, times;
    const char *op; /* as in SPEC 10; NULL for what is no operation */
    bool write, wait;
    party *parties; /* one; several for renew; one without an actor for inspect and force */
    size_t party_count;
    bool has_keys; /* call: with keys of its own */
    token_list keys, words;
    expected *answers; /* several for renew; none: any answer */
    size_t answer_count;
    expected *lines; /* messages, or the rows of inspect */
    size_t line_count;
} step;

typedef struct {
    char *id, *file;
    int line;
    unsigned forms;
    step *steps;
    size_t step_count;
} scenario;

typedef struct {
    scenario *items;
    size_t count;
} scenario_list;

/* Appends what is in the file. False, after saying why on stderr, when it cannot be read. */
bool scenario_read(const char *path, scenario_list *);
const scenario *scenario_find(const scenario_list *, const char *id, size_t length);
void scenario_list_clear(scenario_list *);

/* parse_step.c: reads one step; returns NULL, or what is wrong with it. */
const char *step_parse(const token_list *, step *);
/* parse_expect.c: the tokens from `at` on, behind `->` and behind `=>`. */
const char *expect_parse_answers(const token_list *, size_t at, step *);
const char *expect_parse_line(const token_list *, size_t at, step *);

bool actor_parse(const char *text, actor_name *);
/* `[core]`, `[scripts]`, `[packed]` or `[indexed]`; 0: it is none of these. */
unsigned forms_parse(const token *);
token token_copy(const token *);
void token_list_add(token_list *, const token *); /* copies it */

#endif
