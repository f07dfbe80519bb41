/*
 * Who plays in a scenario: its variables, its clock, and what each actor believes of each lock.
 * All forms of the lock share one cast, since all must answer alike.
 */
#ifndef CONFORMANCE_CAST_H
#define CONFORMANCE_CAST_H

#include "core.h"
#include "scenario.h"

#include <stdint.h>

enum { HANDLE_LENGTH = 45, CLIENT_LENGTH = 32 };

/* What one handle believes of one lock. */
typedef struct {
    actor_name actor;
    char *lock;
    size_t lock_length;
    int64_t fence;   /* of its hold; 0: none */
    int64_t waiting; /* number of the last request that was queued; 0: none */
} belief;

typedef struct {
    actor_name actor;
    int64_t greatest, last; /* of its request numbers */
} counter;

typedef struct {
    char *name;
    int64_t value;
} variable;

typedef struct {
    int64_t now_us;
    belief *beliefs;
    counter *counters;
    variable *variables;
    size_t belief_count, counter_count, variable_count;
} cast;

void cast_clear(cast *);

/* Made when first asked for. Good until the next is. */
belief *cast_belief(cast *, actor_name, lkc_text lock);
counter *cast_counter(cast *, actor_name);

/* The number of the actor's next request, which it uses up. */
int64_t cast_next_request(cast *, actor_name);
void cast_used_request(cast *, actor_name, int64_t number);

void actor_handle(actor_name, char out[HANDLE_LENGTH + 1]);
bool actor_of_handle(const char *bytes, size_t length, actor_name *out);
bool actor_equal(actor_name, actor_name);

/*
 * The value of `$a+1`, `3600000`, `$now-5s`: numbers and variables with + and - between them. A
 * number with us, ms, s, m, h or d behind it is a time, counted in `unit_us`. False: it has none.
 */
enum { UNIT_US = 1, UNIT_MS = 1000 };
bool cast_value(const cast *, const char *text, int64_t unit_us, int64_t *out);

/* `text` is a variable that has no value yet: it gets this one. False: it is something else. */
bool cast_bind(cast *, const char *text, int64_t value);

/* The unit that a field of this name is counted in. */
int64_t cast_unit(const char *field);

#endif
