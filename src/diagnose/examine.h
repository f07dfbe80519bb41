/* One look at a server, on a connection of its own: what it is, and what it lets us do. */
#ifndef LKI_EXAMINE_H
#define LKI_EXAMINE_H

#include "client/choice.h"

/* See lk_examine. *out is one block, to be freed with lki_free. */
lk_status lki_examine(const lki_choice *, lk_facts **out, lki_error *);

#endif
