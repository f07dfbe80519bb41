/* See session.h. */
#include "session/session.h"

#include "base/memory.h"
#include "base/thread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------ opening */

static void init_ended(pthread_cond_t *ended) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(ended, &attributes);
    pthread_condattr_destroy(&attributes);
}

void lki_session_init(lki_session *session, const lki_session_events *events, void *context) {
    session->forks = lki_fork_count();
    session->events = events;
    session->context = context;
    session->references = 1;
    session->stop_fd = -1;
    pthread_mutex_init(&session->monitor, NULL);
    init_ended(&session->ended);
    lki_keeper_init(&session->keeper);
    lki_callbacks_init(&session->callbacks, &session->monitor, &session->ended);
}

static lk_status draw_id(char id[LKI_CLIENT_ID_LENGTH + 1], lki_error *error) {
    unsigned char bytes[LKI_CLIENT_ID_LENGTH / 2];
    ssize_t length;
    do {
        length = getrandom(bytes, sizeof bytes, 0);
    } while (length < 0 && errno == EINTR);
    if (length != sizeof bytes)
        return lki_error_set(error, LK_INTERNAL, "cannot read random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return LK_OK;
}

static lk_status make_channel(lki_session *session, lki_error *error) {
    size_t size = strlen(session->settings.prefix) + 1 + LKI_CLIENT_ID_LENGTH + 1;
    session->channel = lki_new(size);
    if (!session->channel)
        return lki_error_no_memory(error);
    snprintf(session->channel, size, "%s:%s", session->settings.prefix, session->id);
    return LK_OK;
}

static lk_status make_servers(lki_session *session, lki_error *error) {
    size_t count = session->topology->methods->server_count(session->topology);
    session->servers = lki_new(count * sizeof *session->servers);
    if (!session->servers)
        return lki_error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        session->server_count++;
        lk_status status = lki_server_init(&session->servers[i], session, i, error);
        if (status != LK_OK)
            return status;
    }
    return LK_OK;
}

static lk_status connect_all(lki_session *session, lki_error *error) {
    for (size_t i = 0; i < session->server_count; i++) {
        lk_status status = lki_server_open(&session->servers[i], error);
        if (status != LK_OK)
            return status;
    }
    return LK_OK;
}

static lk_status prepare_callbacks(lki_session *session, lki_error *error) {
    lk_status status = LK_OK;
    if (session->settings.dispatch)
        status = lki_callbacks_dispatched(&session->callbacks, error);
    if (status == LK_OK && session->settings.log)
        status = lki_callbacks_start(&session->callbacks, error);
    return status;
}

static void moved(void *context, size_t server, const char *run_id) {
    lki_session *session = context;
    pthread_mutex_lock(&session->monitor);
    lki_server_moved(&session->servers[server], run_id);
    lki_session_settle(session);
    pthread_mutex_unlock(&session->monitor);
}

static lk_status watch_servers(lki_session *session, lki_error *error) {
    lki_topology *topology = session->topology;
    lki_watcher watcher = {.tls = lki_settings_tls(&session->settings),
                           .stop_fd = session->stop_fd,
                           .moved = moved,
                           .context = session};
    return topology->methods->watch ? topology->methods->watch(topology, &watcher, error) : LK_OK;
}

lk_status lki_session_open(lki_session *session, lki_error *error) {
    lk_status status;
    session->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (session->stop_fd < 0)
        return lki_error_set(error, LK_NOMEM, "no file descriptor is left: %s", strerror(errno));
    if ((status = draw_id(session->id, error)) || (status = make_channel(session, error)) ||
        (status = make_servers(session, error)) || (status = prepare_callbacks(session, error)) ||
        (status = connect_all(session, error)) || (status = lki_keeper_start(session, error)))
        return status;
    return watch_servers(session, error);
}

/* ------------------------------------------------------------------------------ closing */

static void make_readable(int stop_fd) {
    static const uint64_t one = 1;
    if (stop_fd >= 0 && write(stop_fd, &one, sizeof one) < 0)
        return; /* EAGAIN: it is already readable */
}

void lki_session_stop(lki_session *session) {
    make_readable(session->stop_fd);
    if (session->topology && session->topology->methods->unwatch)
        session->topology->methods->unwatch(session->topology);
    lki_keeper_stop(session);
    for (size_t i = 0; i < session->server_count; i++)
        lki_server_join_dialers(&session->servers[i]);
}

void lki_session_break(lki_session *session) {
    lki_error error;
    lki_error_set(&error, LK_CANCELED, "the client was closed");
    for (size_t i = 0; i < session->server_count; i++) {
        lki_link_break(&session->servers[i].commands.link, &error);
        lki_link_break(&session->servers[i].messages.link, &error);
    }
}

void lki_session_free(lki_session *session) {
    for (size_t i = 0; i < session->server_count; i++)
        lki_server_free(&session->servers[i]);
    lki_keeper_free(&session->keeper);
    if (session->stop_fd >= 0)
        close(session->stop_fd);
    lki_free(session->channel);
    lki_free(session->servers);
    pthread_cond_destroy(&session->ended);
    pthread_mutex_destroy(&session->monitor);
}

void lki_session_close_after_fork(lki_session *session) {
    for (size_t i = 0; i < session->server_count; i++)
        lki_server_close_after_fork(&session->servers[i]);
    if (session->topology->methods->close_after_fork)
        session->topology->methods->close_after_fork(session->topology);
    close(session->keeper.kick);
    close(session->keeper.timer);
    close(session->stop_fd);
    if (session->callbacks.dispatched)
        close(session->callbacks.ready);
}

/* ------------------------------------------------------------------------------ references */

void lki_session_retain(lki_session *session) {
    session->references++;
}

void lki_session_release(lki_session *session) {
    bool last = --session->references == 0;
    pthread_mutex_unlock(&session->monitor);
    if (last)
        session->destroy(session);
}

/* ------------------------------------------------------------------------------ servers */

void lki_session_settle(lki_session *session) {
    if (!session->events->drain(session->context))
        return;
    for (size_t i = 0; i < session->server_count; i++)
        if (lki_link_has_output(&session->servers[i].commands.link))
            lki_server_push(&session->servers[i]);
}

lki_server *lki_session_server(lki_session *session, const char *name) {
    return &session->servers[session->topology->methods->server_of(session->topology, name)];
}

lki_tls_files lki_settings_tls(const lki_settings *settings) {
    return (lki_tls_files){settings->tls_ca, settings->tls_cert, settings->tls_key,
                           settings->tls_server_name};
}

/* ------------------------------------------------------------------------------ the log */

/* lk_log_fn is user code, so a log line is queued as a callback. */
typedef struct {
    lki_callback callback;
    lk_log_fn *log;
    void *arg;
    lk_log_level level;
    char text[LKI_ERROR_MOST];
} log_entry;

static void write_entry(lki_callback *callback) {
    log_entry *entry = (log_entry *)(void *)callback;
    entry->log(entry->level, entry->text, entry->arg);
    lki_free(entry);
}

void lki_log(lki_session *session, lk_log_level level, const char *format, ...) {
    if (!session->settings.log)
        return;
    log_entry *entry = lki_new(sizeof *entry);
    if (!entry)
        return; /* out of memory: the line is lost, the operation goes on */
    entry->callback.run = write_entry;
    entry->log = session->settings.log;
    entry->arg = session->settings.log_arg;
    entry->level = level;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(entry->text, sizeof entry->text, format, arguments);
    va_end(arguments);
    lki_text_tame(entry->text);
    lki_callbacks_add(&session->callbacks, &entry->callback);
}
