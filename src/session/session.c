/* See session.h. */
#include "session/session.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
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

/* Asks the topology for its servers, if it has to find them. */
static lk_status discover(lki_session *session, lki_error *error) {
    lki_topology *topology = session->topology;
    lki_reach reach = {lki_settings_tls(&session->settings),
                       lki_after_ms(lki_now_us(), session->settings.connect_timeout_ms),
                       session->stop_fd};
    return topology->methods->discover ? topology->methods->discover(topology, &reach, error)
                                       : LK_OK;
}

/* A cluster has answered already; its nodes are connected when a lock needs them. */
static lk_status connect_only_server(lki_session *session, lki_error *error) {
    if (lki_topology_is_sharded(session->topology))
        return LK_OK;
    lki_server *server = lki_session_server_at(session, 0, error);
    return server ? lki_server_open(server, error) : error->status;
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
    lki_server_moved(session->servers[server], run_id);
    lki_session_settle(session);
    pthread_mutex_unlock(&session->monitor);
}

/* Nodes that lost their slots have failed, or left the cluster. Nothing they say counts any more. */
static void remapped(void *context) {
    lki_session *session = context;
    lki_topology *topology = session->topology;
    pthread_mutex_lock(&session->monitor);
    lki_session_pass_floors(session);
    for (size_t i = 0; i < session->server_count; i++)
        if (session->servers[i] && !topology->methods->has_slots(topology, i))
            lki_server_retire(session->servers[i]);
    session->events->remapped(session->context);
    lki_session_settle(session);
    lki_keeper_kick(session);
    pthread_mutex_unlock(&session->monitor);
}

static lk_status watch_servers(lki_session *session, lki_error *error) {
    lki_topology *topology = session->topology;
    lki_watcher watcher = {.tls = lki_settings_tls(&session->settings),
                           .stop_fd = session->stop_fd,
                           .moved = moved,
                           .remapped = remapped,
                           .context = session};
    return topology->methods->watch ? topology->methods->watch(topology, &watcher, error) : LK_OK;
}

lk_status lki_session_open(lki_session *session, lki_error *error) {
    lk_status status;
    session->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (session->stop_fd < 0)
        return lki_error_set(error, LK_NOMEM, "no file descriptor is left: %s", strerror(errno));
    if ((status = prepare_callbacks(session, error)) || (status = discover(session, error)) ||
        (status = connect_only_server(session, error)) ||
        (status = lki_keeper_start(session, error)))
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
        if (session->servers[i])
            lki_server_join_dialers(session->servers[i]);
}

void lki_session_break(lki_session *session) {
    lki_error error;
    lki_error_set(&error, LK_CANCELED, "the client was closed");
    for (size_t i = 0; i < session->server_count; i++)
        if (session->servers[i])
            lki_server_break(session->servers[i], &error);
}

void lki_session_free(lki_session *session) {
    for (size_t i = 0; i < session->server_count; i++)
        lki_server_free(session->servers[i]);
    lki_keeper_free(&session->keeper);
    if (session->stop_fd >= 0)
        close(session->stop_fd);
    lki_free(session->servers);
    pthread_cond_destroy(&session->ended);
    pthread_mutex_destroy(&session->monitor);
}

void lki_session_close_after_fork(lki_session *session) {
    for (size_t i = 0; i < session->server_count; i++)
        if (session->servers[i])
            lki_server_close_after_fork(session->servers[i]);
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
        if (session->servers[i] && lki_link_has_output(&session->servers[i]->commands.link))
            lki_server_push(session->servers[i]);
}

static bool make_room(lki_session *session, size_t count) {
    if (count <= session->server_count)
        return true;
    lki_server **servers = lki_resize(session->servers, count * sizeof *servers);
    if (!servers)
        return false;
    for (size_t i = session->server_count; i < count; i++)
        servers[i] = NULL;
    session->servers = servers;
    session->server_count = count;
    return true;
}

/* The server with this index, whether it is connected or not. NULL: see the error. */
static lki_server *server_at(lki_session *session, size_t index, lki_error *error) {
    if (!make_room(session, index + 1)) {
        lki_error_no_memory(error);
        return NULL;
    }
    if (!session->servers[index])
        session->servers[index] = lki_server_new(session, index, error);
    return session->servers[index];
}

lki_server *lki_session_server_at(lki_session *session, size_t index, lki_error *error) {
    lki_server *server = server_at(session, index, error);
    if (server)
        lki_server_want(server);
    return server;
}

lki_server *lki_session_server(lki_session *session, unsigned slot, lki_error *error) {
    lki_topology *topology = session->topology;
    size_t index = topology->methods->server_of ? topology->methods->server_of(topology, slot) : 0;
    return lki_session_server_at(session, index, error);
}

/*
 * SPEC 8.1: a lock that moves while it is free may leave its last fence behind. So the server that
 * has it now starts from what the former one has told this client, even if no handle goes along.
 */
void lki_session_pass_floors(lki_session *session) {
    lki_topology *topology = session->topology;
    size_t from, to;
    while (topology->methods->take_move && topology->methods->take_move(topology, &from, &to)) {
        lki_error error;
        const lki_server *former = from < session->server_count ? session->servers[from] : NULL;
        lki_server *owner = former && former->floor ? server_at(session, to, &error) : NULL;
        if (owner)
            lki_server_raise_floor(owner, former->floor);
    }
}

void lki_session_add_slots(lki_session *session, const lki_server *server, lki_slots *slots) {
    lki_topology *topology = session->topology;
    if (topology->methods->add_slots)
        topology->methods->add_slots(topology, server->index, slots);
    else
        lki_slots_add_all(slots);
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
