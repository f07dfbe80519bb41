/* See dial.h. */
#include "session/dial.h"

#include "base/clock.h"

#include <stdatomic.h>

lk_status lki_dial(lki_session *session, size_t server, const char *channel,
                   const lki_identity *earlier, _Atomic int *fd, lki_dialed *out,
                   lki_error *error) {
    lki_endpoint endpoint = {0};
    lki_dialed dialed = {0};
    lki_tls_files tls = lki_settings_tls(&session->settings);
    int64_t deadline_us = lki_after_ms(lki_now_us(), session->settings.connect_timeout_ms);
    lki_greeting greeting = {.endpoint = &endpoint,
                             .name = session->settings.connection_name,
                             .channel = channel,
                             .earlier = earlier,
                             .deadline_us = deadline_us,
                             .stop_fd = session->stop_fd};
    lk_status status = session->topology->methods->locate(session->topology, server, deadline_us,
                                                          session->stop_fd, &endpoint, error);
    if (status != LK_OK)
        return status;
    status = lki_transport_open(&endpoint, &tls, deadline_us, session->stop_fd, fd,
                                &dialed.transport, error);
    if (status == LK_OK)
        status = lki_greet(dialed.transport, &greeting, &dialed.identity, error);
    atomic_store(fd, -1);
    lki_endpoint_clear(&endpoint);
    if (status == LK_OK)
        *out = dialed;
    else
        lki_transport_close(dialed.transport);
    return status;
}
