/* Examines the sentinels of a URL, and finds the master that they name. */
#ifndef LKI_DIAGNOSE_SENTINELS_H
#define LKI_DIAGNOSE_SENTINELS_H

#include "base/pool.h"
#include "net/seeds.h"
#include "session/settings.h"

/*
 * Fills in the facts about the sentinels, and then those about the master. If no sentinel knows the
 * master, the status says why.
 */
lk_status lki_examine_sentinels(const lki_seeds *, const lki_settings *, lki_pool *, lk_facts *,
                                lki_error *);

#endif
