/* See enter.h. */
#include "api/enter.h"

#include "base/thread.h"

/* lock NULL: the call is about a client. */
static lk_status refuse(const lk_lock *lock, const char *why) {
    if (!lock)
        return lki_fail(LK_INVALID, "%s", why);
    return lki_fail(LK_INVALID, "lock \"%s\": %s", lock->name, why);
}

static lk_status enter(lki_session *session, const lk_lock *lock, lki_blocking blocking) {
    if (session->forks != lki_fork_count())
        return refuse(lock, "this client was opened before fork(); a child must open its own");
    if (blocking == LKI_MAY_BLOCK && lki_callbacks_inside(&session->callbacks))
        return refuse(lock, "a blocking call is not allowed inside a callback; use "
                            "lk_acquire_async or lk_release_async");
    lki_cancellation_off();
    pthread_mutex_lock(&session->monitor);
    if (session->closing) {
        pthread_mutex_unlock(&session->monitor);
        lki_cancellation_on();
        return refuse(lock, "the client was closed");
    }
    lki_session_retain(session);
    return LK_OK;
}

lk_status lki_enter(lk_client *client, lki_blocking blocking) {
    return client ? enter(&client->session, NULL, blocking)
                  : lki_fail(LK_INVALID, "the client is NULL");
}

lk_status lki_enter_lock(const lk_lock *lock, lki_blocking blocking) {
    return lock ? enter(lock->session, lock, blocking) : lki_fail(LK_INVALID, "the handle is NULL");
}

void lki_leave(lki_session *session) {
    lki_session_settle(session);
    lki_session_release(session);
    lki_cancellation_on();
}
