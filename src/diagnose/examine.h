/* Examines a server on its own connection: what it is, and what the user may do there. */
#ifndef LKI_EXAMINE_H
#define LKI_EXAMINE_H

#include "client/choice.h"

/* As lk_examine. *out is one block of memory: free it with lki_free. */
lk_status lki_examine(const lki_choice *, lk_facts **out, lki_error *);

#endif
