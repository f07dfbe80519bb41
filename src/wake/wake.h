/* Grants, watches and losses that are heard on the subscription connection. */
#ifndef LKI_WAKE_H
#define LKI_WAKE_H

#include "client/server.h"

/* A message came; with the monitor held. */
void lki_wake(lki_server *, const redisReply *);

#endif
