/*
 * See arguments.h. One table has the arguments of each operation in their order. Each of them has a
 * function that reads it.
 */
#include "arguments.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MOST (UINT64_C(1) << 53)
#define DAY_US UINT64_C(86400000000)

enum {
    DIGITS_MOST = 16,
    OWNER_MOST = 128,
    GROUP_MOST = 64,
    WHO_MOST = 255,
    NAME_MOST = 512,
    LIMIT_MOST = 100000,
    ARGUMENTS_MOST = 11
};

static const char *const policy_names[] = {
    [LKC_FAIR] = "fair",
    [LKC_PHASE_FAIR] = "phase-fair",
    [LKC_PREFER_WRITER] = "prefer-writer",
    [LKC_PREFER_READER] = "prefer-reader",
};

const char *lkc_policy_name(lkc_policy policy) {
    return policy_names[policy];
}

/* One argument that is being read: the values so far, the time, and room for a fault. */
typedef struct {
    const char *name;
    lkc_text text;
    uint64_t now_us;
    lkc_values *values;
    char *fault;
} reading;

static bool refuse(reading *read, const char *why) {
    snprintf(read->fault, LKC_FAULT_MOST, "LKARG %s: %s", read->name, why);
    return false;
}

static bool is(lkc_text text, const char *word) {
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

static bool has_nul(lkc_text text) {
    return text.length > 0 && memchr(text.bytes, '\0', text.length);
}

static bool read_number(reading *read, uint64_t *out) {
    uint64_t value = 0;
    bool good = read->text.length >= 1 && read->text.length <= DIGITS_MOST;
    for (size_t i = 0; good && i < read->text.length; i++) {
        char c = read->text.bytes[i];
        good = c >= '0' && c <= '9';
        value = value * 10 + (good ? (unsigned)(c - '0') : 0);
    }
    if (!good || value > NUMBER_MOST)
        return refuse(read, "must be a number of at most 16 digits, up to 2^53");
    *out = value;
    return true;
}

static bool read_positive(reading *read, uint64_t *out) {
    if (!read_number(read, out))
        return false;
    return *out >= 1 || refuse(read, "must be at least 1");
}

static bool read_bool(reading *read, bool *out) {
    uint64_t value;
    if (!read_number(read, &value))
        return false;
    *out = value == 1;
    return value <= 1 || refuse(read, "must be 0 or 1");
}

static bool read_text(reading *read, size_t most, lkc_text *out) {
    if (read->text.length > most || has_nul(read->text)) {
        snprintf(read->fault, LKC_FAULT_MOST, "LKARG %s: must be at most %zu bytes without NUL",
                 read->name, most);
        return false;
    }
    *out = read->text;
    return true;
}

/* One function for each argument. */

static bool read_handle(reading *read) {
    return lkc_handle_parse(read->text, &read->values->handle) ||
           refuse(read, "must be 32 hex digits, a dash and 12 hex digits");
}

static bool read_req(reading *read) {
    return read_positive(read, &read->values->req);
}

/* In an entry of renew: only a waiter is named by its number. */
static bool read_entry_req(reading *read) {
    return read->values->fence == 0 ? read_positive(read, &read->values->req)
                                    : read_number(read, &read->values->req);
}

static bool read_target(reading *read) {
    return read_positive(read, &read->values->target);
}

static bool read_fence(reading *read) {
    return read_number(read, &read->values->fence);
}

static bool read_mode(reading *read) {
    if (!is(read->text, "read") && !is(read->text, "write"))
        return refuse(read, "must be read or write");
    read->values->mode = is(read->text, "read") ? LKC_READ : LKC_WRITE;
    return true;
}

static bool read_wait(reading *read) {
    return read_bool(read, &read->values->wait);
}

static bool read_told(reading *read) {
    return read_bool(read, &read->values->told);
}

static bool read_lease(reading *read) {
    uint64_t lease;
    if (!read_number(read, &lease))
        return false;
    if (lease < LKC_LEASE_LEAST_MS || lease > LKC_LEASE_MOST_MS)
        return refuse(read, "must be 100 to 86400000");
    read->values->lease_ms = (uint32_t)lease;
    return true;
}

static bool read_policy(reading *read) {
    for (size_t i = 0; i < sizeof policy_names / sizeof *policy_names; i++) {
        if (is(read->text, policy_names[i])) {
            read->values->policy = (lkc_policy)i;
            return true;
        }
    }
    return refuse(read, "must be fair, phase-fair, prefer-writer or prefer-reader");
}

static bool read_floor(reading *read) {
    if (!read_number(read, &read->values->floor))
        return false;
    return read->values->floor <= read->now_us + DAY_US ||
           refuse(read, "is more than a day ahead of the server's clock");
}

static bool read_owner(reading *read) {
    return read_text(read, OWNER_MOST, &read->values->owner);
}

static bool read_group(reading *read) {
    return read_text(read, GROUP_MOST, &read->values->group);
}

static bool read_who(reading *read) {
    return read_text(read, WHO_MOST, &read->values->who);
}

static bool read_limit(reading *read) {
    uint64_t limit;
    if (!read_number(read, &limit))
        return false;
    read->values->limit = (size_t)limit;
    return limit <= LIMIT_MOST || refuse(read, "must be at most 100000");
}

typedef struct {
    const char *name;
    bool (*read)(reading *);
} argument;

/* SPEC 10: the arguments in their order. */
static const argument arguments_of[][ARGUMENTS_MOST + 1] = {
    [LKC_OP_ACQUIRE] = {{"handle", read_handle},
                        {"req", read_req},
                        {"fence", read_fence},
                        {"mode", read_mode},
                        {"wait", read_wait},
                        {"lease_ms", read_lease},
                        {"policy", read_policy},
                        {"floor", read_floor},
                        {"owner", read_owner},
                        {"group", read_group},
                        {"who", read_who}},
    [LKC_OP_RELEASE] = {{"handle", read_handle},
                        {"req", read_req},
                        {"fence", read_fence},
                        {"mode", read_mode},
                        {"told", read_told}},
    [LKC_OP_RENEW] = {{"handle", read_handle},
                      {"fence", read_fence},
                      {"req", read_entry_req},
                      {"lease_ms", read_lease}},
    [LKC_OP_CONVERT] = {{"handle", read_handle}, {"req", read_req}, {"fence", read_fence}},
    [LKC_OP_CANCEL] = {{"handle", read_handle}, {"req", read_req}, {"target", read_target}},
    [LKC_OP_INSPECT] = {{"limit", read_limit}},
    [LKC_OP_FORCE] = {{"owner", read_owner}},
};

bool lkc_arguments_parse(lkc_op op, const lkc_text *arguments, size_t count, uint64_t now_us,
                         lkc_values *out, char fault[LKC_FAULT_MOST]) {
    const argument *known = arguments_of[op];
    size_t expected = 0;
    while (known[expected].read)
        expected++;
    if (count != expected) {
        snprintf(fault, LKC_FAULT_MOST, "LKARG arguments: expected %zu, got %zu", expected, count);
        return false;
    }
    *out = (lkc_values){.req = 0};
    for (size_t i = 0; i < count; i++) {
        reading read = {known[i].name, arguments[i], now_us, out, fault};
        if (!known[i].read(&read))
            return false;
    }
    return true;
}

bool lkc_name_valid(lkc_text name) {
    return name.length >= 1 && name.length <= NAME_MOST && !has_nul(name);
}
