/* The begin and the end of a public call: checks the client or handle, takes the monitor. */
#ifndef LKI_ENTER_H
#define LKI_ENTER_H

#include "base/thread.h"
#include "client/client.h"
#include "lock/lock.h"

typedef enum { LKI_MAY_BLOCK, LKI_NEVER_BLOCKS } lki_blocking;

/*
 * LK_OK: the monitor is held; until lki_leave(), the client is not freed and the thread cannot be
 * cancelled. LK_INVALID, with lk_last_error() set: NULL, a client from before a fork (checked
 * before any mutex is taken), a closed client, or a blocking call inside a callback. The error of
 * lki_enter_lock() names the lock.
 */
lk_status lki_enter(lk_client *, lki_blocking);
lk_status lki_enter_lock(const lk_lock *, lki_blocking);
LKI_UNLOCKS void lki_leave(lki_session *);

#endif
