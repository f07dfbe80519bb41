/* What INFO replication and the min-replicas settings say of the replicas of a server. */
#ifndef LKI_REPLICATION_H
#define LKI_REPLICATION_H

#include "base/pool.h"
#include "latchkey.h"

#include <hiredis/hiredis.h>

void lki_replication_read(const char *info, lki_pool *, lk_facts *);

/* The reply to CONFIG GET min-replicas-*. */
void lki_replication_read_settings(const redisReply *, lk_facts *);

#endif
