/* lk_open, lk_close, lk_fd, lk_dispatch. */
#include "api/enter.h"
#include "base/thread.h"

lk_status lk_open(const char *url, const lk_client_options *options, lk_client **out) {
    lki_error error;
    lki_choice choice = {0};
    lk_client *client;
    if (!out)
        return lki_fail(LK_INVALID, "out is NULL");
    lki_cancellation_off();
    lk_status status = lki_choice_read(url, options, &choice, &error);
    if (status == LK_OK)
        status = lki_client_open(&choice, &client, &error);
    if (status != LK_OK)
        lki_choice_name_source(&choice, &error);
    lki_choice_clear(&choice);
    lki_cancellation_on();
    if (status != LK_OK)
        return lki_fail_with(&error);
    *out = client;
    return LK_OK;
}

void lk_close(lk_client *client) {
    if (!client)
        return;
    if (client->session.forks != lki_fork_count()) {
        lki_session_close_after_fork(&client->session);
    } else if (lki_callbacks_inside(&client->session.callbacks)) {
        lki_fail(LK_INVALID, "lk_close is not allowed inside a callback");
        pthread_mutex_lock(&client->session.monitor);
        lki_log(&client->session, LK_LOG_ERROR, "lk_close is not allowed inside a callback");
        pthread_mutex_unlock(&client->session.monitor);
    } else {
        lki_cancellation_off();
        lki_client_close(client);
        lki_cancellation_on();
    }
}

/* ------------------------------------------------------------------------------ event loops */

int lk_fd(lk_client *client) {
    if (!client || client->session.forks != lki_fork_count())
        return -1;
    pthread_mutex_lock(&client->session.monitor);
    int fd = client->session.callbacks.ready;
    pthread_mutex_unlock(&client->session.monitor);
    return fd;
}

lk_status lk_dispatch(lk_client *client) {
    if (client && lki_callbacks_inside(&client->session.callbacks))
        return lki_fail(LK_INVALID, "lk_dispatch is not allowed inside a callback");
    lk_status status = lki_enter(client, LKI_NEVER_BLOCKS);
    if (status != LK_OK)
        return status;
    if (client->session.callbacks.dispatched)
        lki_callbacks_dispatch(&client->session.callbacks);
    else
        status = lki_fail(LK_INVALID, "lk_dispatch: the client was opened without `dispatch`; its "
                                      "callbacks run on a thread of the library");
    lki_leave(&client->session);
    return status;
}
