/* Examines what a URL names: a server, sentinels with their master, or a cluster. */
#ifndef LKI_EXAMINE_H
#define LKI_EXAMINE_H

#include "client/choice.h"

/* As lk_examine. */
lk_status lki_examine(const lki_choice *, lk_facts **out, lki_error *);

void lki_facts_free(lk_facts *); /* NULL is fine */

#endif
