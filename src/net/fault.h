/* Error replies of a server: what each means for a request, and for the people who read about it. */
#ifndef LKI_FAULT_H
#define LKI_FAULT_H

#include "base/error.h"

typedef struct {
    bool is_passing; /* the server cannot do it now: try again soon; otherwise it will not */
    lk_status status;
    const char *advice; /* what it means and what to do: a clause, to stand behind a semicolon */
} lki_fault;

lki_fault lki_fault_read(const char *error_reply);

#endif
