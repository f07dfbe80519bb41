/* The arguments of the operations: texts in, values or the first fault out (SPEC 10.1, 10.12). */
#ifndef LKI_ARGUMENTS_H
#define LKI_ARGUMENTS_H

#include "words.h"

/* Of all operations; those that an operation does not have stay zero. */
typedef struct {
    lki_handle handle;
    uint64_t req, fence, target, floor;
    lki_mode mode;
    bool wait;
    uint32_t lease_ms;
    lki_policy policy;
    lki_text owner, group, who;
    size_t limit;
} lki_values;

enum { LKI_FAULT_MOST = 128 };

/* False, with an error text in `fault`, when something is wrong. */
bool lki_arguments_parse(lki_op, const lki_text *arguments, size_t count, uint64_t now_us,
                         lki_values *out, char fault[LKI_FAULT_MOST]);

/* SPEC 3.5, 10.1. */
const char *lki_policy_name(lki_policy);

#endif
