/* The arguments of the operations: texts in, values or the first fault out (SPEC 10.1, 10.12). */
#ifndef LKC_ARGUMENTS_H
#define LKC_ARGUMENTS_H

#include "words.h"

/* The arguments of all operations. Those that an operation does not have stay zero. */
typedef struct {
    lkc_handle handle;
    uint64_t req, fence, target, floor;
    lkc_mode mode;
    bool wait, told;
    uint32_t lease_ms;
    lkc_policy policy;
    lkc_text owner, group, who;
    size_t limit;
} lkc_values;

enum { LKC_FAULT_MOST = 128 };

/* False, with an error text in `fault`, when an argument is bad. */
bool lkc_arguments_parse(lkc_op, const lkc_text *arguments, size_t count, uint64_t now_us,
                         lkc_values *out, char fault[LKC_FAULT_MOST]);

/* SPEC 3.5, 10.1. */
const char *lkc_policy_name(lkc_policy);

#endif
