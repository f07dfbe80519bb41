/* Error replies of a server: the status of each, and advice for the user. */
#ifndef LKI_FAULT_H
#define LKI_FAULT_H

#include "base/error.h"

typedef struct {
    bool is_passing; /* a retry may succeed soon; false: it will fail again */
    lk_status status;
    const char *advice; /* the cause, or what to do: a clause that can follow a semicolon */
} lki_fault;

/* Whether a replica has refused to write. */
bool lki_fault_is_replica(const char *error_reply);

/* Whether a cluster moves the slot, and not all keys of the command are in one place. */
bool lki_fault_is_split(const char *error_reply);

lki_fault lki_fault_read(const char *error_reply); /* LK_INTERNAL: an error not known here */

#endif
