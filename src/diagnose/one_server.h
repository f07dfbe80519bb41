/*
 * Examines one server on its own connection: what it is, its replicas, its clock, and what the user
 * may do there. Does not know how the server was found.
 */
#ifndef LKI_ONE_SERVER_H
#define LKI_ONE_SERVER_H

#include "base/pool.h"
#include "net/transport.h"
#include "session/settings.h"

/* Fills in the facts. Their texts and lists are in the pool; pool->failed counts as LK_NOMEM. */
lk_status lki_examine_server(const lki_endpoint *, const lki_settings *, lki_pool *, lk_facts *,
                             lki_error *);

/*
 * The same for a server that others have named: if it does not answer, that is a fact, too, and the
 * status is LK_OK. LK_NOMEM.
 */
lk_status lki_examine_named_server(const lki_endpoint *, const lki_settings *, lki_pool *,
                                   lk_facts *, lki_error *);

#endif
