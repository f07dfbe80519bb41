/* Opening and closing a client. See client.h. */
#include "client/client.h"

#include "base/memory.h"
#include "client/settings.h"

#include <time.h>

/* ------------------------------------------------------------------------------ opening */

static void destroy(lki_session *session) {
    lk_client *client = (lk_client *)(void *)session;
    lki_locks_free(&client->locks);
    lki_session_free(session);
    if (session->topology)
        session->topology->methods->close(session->topology);
    lki_settings_clear(&session->settings);
    lki_free(client);
}

static lk_status open_parts(lk_client *client, const lki_choice *choice, lki_error *error) {
    lki_session *session = &client->session;
    lk_status status;
    if ((status = lki_settings_read(&choice->options, &session->settings, error)) ||
        (status = lki_topology_open(choice->url, choice->password, choice->sentinel_password,
                                    &session->topology, error)) ||
        (status = lki_settings_suit(&session->settings, choice->url, error)))
        return status;
    return lki_session_open(session, error);
}

lk_status lki_client_open(const lki_choice *choice, lk_client **out, lki_error *error) {
    lk_client *client = lki_new(sizeof *client);
    if (!client)
        return lki_error_no_memory(error);
    lki_session_init(&client->session, &lki_locks_events, &client->locks);
    client->session.destroy = destroy;
    lki_locks_init(&client->locks, &client->session);
    lk_status status = open_parts(client, choice, error);
    if (status == LK_OK)
        *out = client;
    else
        lki_client_close(client);
    return status;
}

/* ------------------------------------------------------------------------------ closing */

static struct timespec monotonic_after_ms(int64_t ms) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(ms / 1000);
    end.tv_nsec += (long)(ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    return end;
}

/* Waits until everything is released, or no operation has ended for command_timeout_ms. */
static void release_all(lk_client *client) {
    lki_session *session = &client->session;
    lki_locks_shut(&client->locks);
    for (size_t i = 0; i < session->server_count; i++) {
        if (!session->servers[i])
            continue;
        lki_server_dial_now(session->servers[i]);
        lki_server_push(session->servers[i]);
    }
    struct timespec end = monotonic_after_ms(session->settings.command_timeout_ms);
    size_t settled = client->locks.settled;
    while (!lki_locks_are_idle(&client->locks)) {
        if (client->locks.settled != settled) /* the server answers: wait longer */
            end = monotonic_after_ms(session->settings.command_timeout_ms);
        settled = client->locks.settled;
        if (pthread_cond_timedwait(&session->ended, &session->monitor, &end) != 0)
            break;
    }
}

void lki_client_close(lk_client *client) {
    lki_session *session = &client->session;
    pthread_mutex_lock(&session->monitor);
    session->closing = true;
    if (session->keeper.running)
        release_all(client);
    pthread_mutex_unlock(&session->monitor);

    lki_session_stop(session);

    pthread_mutex_lock(&session->monitor);
    session->closed = true;
    lki_session_break(session);
    lki_locks_end(&client->locks);
    lki_locks_drain(&client->locks);
    while (session->calls)
        pthread_cond_wait(&session->ended, &session->monitor);
    pthread_mutex_unlock(&session->monitor);
    lki_callbacks_stop(&session->callbacks);

    pthread_mutex_lock(&session->monitor);
    lki_session_release(session);
}
