/* Error replies: what each means for a request, and for the people who read about it. */
#ifndef LKI_FAULT_H
#define LKI_FAULT_H

#include "base/error.h"

typedef enum {
    LKI_FAULT_NO_SCRIPT, /* send it again with its text */
    LKI_FAULT_LATER,     /* the server cannot now; nothing was done; ask again soon */
    LKI_FAULT_TOO_DEEP,  /* a handle holds so much already; nothing was done */
    LKI_FAULT_FINAL      /* it will not; nothing was done */
} lki_fault_kind;

typedef struct {
    lki_fault_kind kind;
    lk_status status;
    const char *advice; /* what it means and what to do: a clause, to stand behind a semicolon */
} lki_fault;

lki_fault lki_fault_read(const char *error_reply);

#endif
