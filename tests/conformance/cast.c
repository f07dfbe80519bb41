/* See cast.h. */
#include "cast.h"

#include "test_memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cast_clear(cast *all) {
    for (size_t i = 0; i < all->belief_count; i++)
        free(all->beliefs[i].lock);
    for (size_t i = 0; i < all->variable_count; i++)
        free(all->variables[i].name);
    free(all->beliefs);
    free(all->counters);
    free(all->variables);
    *all = (cast){0};
}

/* Actors. */

bool actor_equal(actor_name a, actor_name b) {
    return a.client == b.client && a.number == b.number;
}

static uint64_t cluster_bit(uint64_t number) {
    return number > ACTOR_LAST_PLAIN ? UINT64_C(1) << 47 : 0;
}

/* The client of A is 41 sixteen times: the letter is readable in every reply and key. */
void actor_handle(actor_name actor, char out[HANDLE_LENGTH + 1]) {
    for (int i = 0; i < CLIENT_LENGTH; i += 2)
        snprintf(out + i, 3, "%02x", (unsigned)(unsigned char)actor.client);
    snprintf(out + CLIENT_LENGTH, HANDLE_LENGTH + 1 - CLIENT_LENGTH, "-%012" PRIx64,
             actor.number | cluster_bit(actor.number));
}

bool actor_of_handle(const char *bytes, size_t length, actor_name *out) {
    char text[HANDLE_LENGTH + 1], made[HANDLE_LENGTH + 1];
    if (length != HANDLE_LENGTH)
        return false;
    memcpy(text, bytes, length);
    text[length] = '\0';
    char digits[3] = {text[0], text[1], '\0'};
    actor_name actor = {
        .client = (char)strtoul(digits, NULL, 16),
        .number = (unsigned)strtoull(text + CLIENT_LENGTH + 1, NULL, 16), /* without the bit */
    };
    actor_handle(actor, made);
    if (strcmp(text, made) != 0)
        return false;
    *out = actor;
    return true;
}

belief *cast_belief(cast *all, actor_name actor, lkc_text lock) {
    for (size_t i = 0; i < all->belief_count; i++) {
        belief *known = &all->beliefs[i];
        if (actor_equal(known->actor, actor) && known->lock_length == lock.length &&
            memcmp(known->lock, lock.bytes, lock.length) == 0)
            return known;
    }
    all->beliefs = test_grow(all->beliefs, all->belief_count, sizeof *all->beliefs);
    belief *made = &all->beliefs[all->belief_count++];
    *made = (belief){
        .actor = actor,
        .lock = test_copy(lock.bytes, lock.length),
        .lock_length = lock.length,
    };
    return made;
}

counter *cast_counter(cast *all, actor_name actor) {
    for (size_t i = 0; i < all->counter_count; i++)
        if (actor_equal(all->counters[i].actor, actor))
            return &all->counters[i];
    all->counters = test_grow(all->counters, all->counter_count, sizeof *all->counters);
    counter *made = &all->counters[all->counter_count++];
    made->actor = actor;
    return made;
}

void cast_used_request(cast *all, actor_name actor, int64_t number) {
    counter *requests = cast_counter(all, actor);
    requests->last = number;
    if (number > requests->greatest)
        requests->greatest = number;
}

int64_t cast_next_request(cast *all, actor_name actor) {
    int64_t number = cast_counter(all, actor)->greatest + 1;
    cast_used_request(all, actor, number);
    return number;
}

/* Values. */

static const variable *find_variable(const cast *all, const char *name, size_t length) {
    for (size_t i = 0; i < all->variable_count; i++)
        if (strlen(all->variables[i].name) == length &&
            memcmp(all->variables[i].name, name, length) == 0)
            return &all->variables[i];
    return NULL;
}

static size_t name_length(const char *at) {
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

static bool read_number(const char **at, int64_t unit_us, int64_t *out) {
    static const struct {
        const char *suffix;
        int64_t us;
    } times[] = {{"us", 1},       {"ms", 1000},      {"s", 1000000},
                 {"m", 60000000}, {"h", 3600000000}, {"d", 86400000000}};
    char *end;
    errno = 0;
    *out = strtoll(*at, &end, 10);
    if (errno || end == *at)
        return false;
    *at = end;
    size_t length = name_length(end);
    if (length == 0)
        return true;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (strlen(times[i].suffix) == length && memcmp(times[i].suffix, end, length) == 0) {
            *at += length;
            *out *= times[i].us;
            if (*out % unit_us != 0)
                return false;
            *out /= unit_us;
            return true;
        }
    }
    return false;
}

static bool read_term(const cast *all, const char **at, int64_t unit_us, int64_t *out) {
    if (isdigit((unsigned char)**at))
        return read_number(at, unit_us, out);
    if (**at != '$')
        return false;
    const char *name = *at + 1;
    size_t length = name_length(name);
    *at = name + length;
    if (length == 3 && memcmp(name, "now", 3) == 0) {
        *out = all->now_us;
        return true;
    }
    const variable *found = find_variable(all, name, length);
    if (found)
        *out = found->value;
    return found != NULL;
}

bool cast_value(const cast *all, const char *text, int64_t unit_us, int64_t *out) {
    int64_t sum = 0, term = 0, sign = 1;
    if (*text == '+' || *text == '-')
        sign = *text++ == '-' ? -1 : 1;
    for (;;) {
        if (!read_term(all, &text, unit_us, &term))
            return false;
        sum += sign * term;
        if (*text == '\0')
            break;
        if (*text != '+' && *text != '-')
            return false;
        sign = *text++ == '-' ? -1 : 1;
    }
    *out = sum;
    return true;
}

bool cast_bind(cast *all, const char *text, int64_t value) {
    if (*text != '$' || strcmp(text, "$now") == 0)
        return false;
    size_t length = name_length(text + 1);
    if (length == 0 || text[1 + length] || find_variable(all, text + 1, length))
        return false;
    all->variables = test_grow(all->variables, all->variable_count, sizeof *all->variables);
    all->variables[all->variable_count++] =
        (variable){.name = test_copy(text + 1, length), .value = value};
    return true;
}

int64_t cast_unit(const char *field) {
    static const char *const in_ms[] = {"ms", "left_ms", "held_ms", "waited_ms", "lease"};
    for (size_t i = 0; i < sizeof in_ms / sizeof *in_ms; i++)
        if (strcmp(field, in_ms[i]) == 0)
            return UNIT_MS;
    return UNIT_US;
}
