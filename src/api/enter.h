/* What every public call begins with: is the handle or client there, ours, open? */
#ifndef LKI_ENTER_H
#define LKI_ENTER_H

#include "base/thread.h"
#include "client/client.h"
#include "lock/lock.h"

typedef enum { LKI_MAY_BLOCK, LKI_NEVER_BLOCKS } lki_blocking;

/*
 * LK_OK: the monitor is held, and neither client nor thread can go away before lki_leave().
 * Otherwise the sentence is set: NULL, another process' client (looked at before any mutex), a
 * closed one, or a call that blocks inside a callback. It names the lock, where there is one.
 */
lk_status lki_enter(lk_client *, lki_blocking);
lk_status lki_enter_lock(const lk_lock *, lki_blocking);
LKI_UNLOCKS void lki_leave(lki_session *);

#endif
