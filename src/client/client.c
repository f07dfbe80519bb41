/* A client's beginning and end. See client.h. */
#include "client/client.h"

#include "base/clock.h"
#include "base/forked.h"
#include "base/memory.h"
#include "lock/lock.h"
#include "lock/operation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------ opening */

static lk_status draw_id(char id[LKI_CLIENT_ID_LENGTH + 1], lki_error *error) {
    unsigned char bytes[LKI_CLIENT_ID_LENGTH / 2];
    ssize_t length;
    do {
        length = getrandom(bytes, sizeof bytes, 0);
    } while (length < 0 && errno == EINTR);
    if (length != sizeof bytes)
        return lki_error_set(error, LK_INTERNAL, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return LK_OK;
}

static lk_status make_channel(lk_client *client, lki_error *error) {
    size_t size = strlen(client->settings.prefix) + 1 + LKI_CLIENT_ID_LENGTH + 1;
    client->channel = lki_new(size);
    if (!client->channel)
        return lki_error_no_memory(error);
    snprintf(client->channel, size, "%s:%s", client->settings.prefix, client->id);
    return LK_OK;
}

static lk_status make_servers(lk_client *client, lki_error *error) {
    size_t count = client->topology->methods->server_count(client->topology);
    client->servers = lki_new(count * sizeof *client->servers);
    if (!client->servers)
        return lki_error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        client->server_count++;
        lk_status status = lki_server_init(&client->servers[i], client, i, error);
        if (status != LK_OK)
            return status;
    }
    return LK_OK;
}

static lk_status connect_all(lk_client *client, lki_error *error) {
    for (size_t i = 0; i < client->server_count; i++) {
        lk_status status = lki_server_open(&client->servers[i], error);
        if (status != LK_OK)
            return status;
    }
    return LK_OK;
}

static lk_status open_parts(lk_client *client, const lki_choice *choice, lki_error *error) {
    lk_status status;
    client->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (client->stop_fd < 0)
        return lki_error_set(error, LK_NOMEM, "no descriptor left: %s", strerror(errno));
    if ((status = lki_settings_read(&choice->options, &client->settings, error)) ||
        (status = lki_topology_open(choice->url, choice->password, &client->topology, error)) ||
        (status = lki_settings_suit(&client->settings, choice->url, error)) ||
        (status = draw_id(client->id, error)) || (status = make_channel(client, error)) ||
        (status = make_servers(client, error)))
        return status;
    if (client->settings.dispatch && (status = lki_callbacks_dispatched(&client->callbacks, error)))
        return status;
    if (client->settings.log && (status = lki_callbacks_start(&client->callbacks, error)))
        return status;
    if ((status = connect_all(client, error)))
        return status;
    return lki_keeper_start(client, error);
}

static void free_client(lk_client *client) {
    for (size_t i = 0; i < client->server_count; i++)
        lki_server_free(&client->servers[i]);
    lki_keeper_free(&client->keeper);
    if (client->stop_fd >= 0)
        close(client->stop_fd);
    if (client->topology)
        client->topology->methods->close(client->topology);
    lki_settings_clear(&client->settings);
    lki_table_free(&client->locks);
    lki_timers_free(&client->timers);
    lki_free(client->channel);
    lki_free(client->servers);
    pthread_cond_destroy(&client->ended);
    pthread_mutex_destroy(&client->monitor);
    lki_free(client);
}

static void init_ended(pthread_cond_t *ended) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(ended, &attributes);
    pthread_condattr_destroy(&attributes);
}

lk_status lki_client_open(const lki_choice *choice, lk_client **out, lki_error *error) {
    lk_client *client = lki_new(sizeof *client);
    if (!client)
        return lki_error_no_memory(error);
    client->forks = lki_fork_count();
    client->references = 1;
    client->stop_fd = -1;
    pthread_mutex_init(&client->monitor, NULL);
    init_ended(&client->ended);
    lki_keeper_init(&client->keeper);
    lki_callbacks_init(&client->callbacks, &client->monitor, &client->ended);
    lk_status status = open_parts(client, choice, error);
    if (status == LK_OK)
        *out = client;
    else
        lki_client_close(client);
    return status;
}

/* ------------------------------------------------------------------------------ closing */

static void for_all_locks(lk_client *client, void (*each)(lk_lock *)) {
    for (lk_lock *lock = lki_table_next(&client->locks, NULL), *next; lock; lock = next) {
        lki_lock_retain(lock);
        each(lock);
        next = lki_table_next(&client->locks, lock);
        lki_lock_release(lock);
    }
}

static bool is_anything_held(const lk_client *client) {
    for (const lk_lock *lock = lki_table_next(&client->locks, NULL); lock;
         lock = lki_table_next(&client->locks, lock))
        if (lki_lock_holds(lock))
            return true;
    return false;
}

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

/* Until everything is given back, or the server has been silent or away for too long. */
static void give_everything_back(lk_client *client) {
    for_all_locks(client, lki_lock_shut);
    for (size_t i = 0; i < client->server_count; i++) {
        lki_server_dial_now(&client->servers[i]);
        lki_server_push(&client->servers[i]);
    }
    struct timespec end = monotonic_after_ms(client->settings.command_timeout_ms);
    size_t settled = client->settled;
    while (client->operations || is_anything_held(client)) {
        if (client->settled != settled) /* it goes on */
            end = monotonic_after_ms(client->settings.command_timeout_ms);
        settled = client->settled;
        if (pthread_cond_timedwait(&client->ended, &client->monitor, &end) != 0)
            break;
    }
}

static void end_operations(lk_lock *lock) {
    lock->advancing = true; /* nothing begins any more */
    while (lock->asked || lock->waiting || lock->pending) {
        lki_operation *op = lock->asked     ? lock->asked
                            : lock->waiting ? lock->waiting
                                            : lock->pending;
        lki_operation_report(op, LK_CANCELED, NULL);
        lki_operation_over(op);
    }
    if (lock->lingers) {
        lock->lingers = false;
        lki_lock_release(lock);
    }
}

static void break_lines(lk_client *client) {
    lki_error error;
    lki_error_set(&error, LK_CANCELED, "the client was closed");
    for (size_t i = 0; i < client->server_count; i++) {
        lki_link_break(&client->servers[i].commands.link, &error);
        lki_link_break(&client->servers[i].messages.link, &error);
    }
}

static void stop(int stop_fd) {
    static const uint64_t one = 1;
    if (stop_fd >= 0 && write(stop_fd, &one, sizeof one) < 0)
        return; /* EAGAIN: it is readable already */
}

void lki_client_close(lk_client *client) {
    pthread_mutex_lock(&client->monitor);
    client->closing = true;
    if (client->keeper.running)
        give_everything_back(client);
    pthread_mutex_unlock(&client->monitor);

    stop(client->stop_fd);
    lki_keeper_stop(client);
    for (size_t i = 0; i < client->server_count; i++)
        lki_server_join_dialers(&client->servers[i]);

    pthread_mutex_lock(&client->monitor);
    client->closed = true;
    break_lines(client);
    for_all_locks(client, end_operations);
    while (client->calls)
        pthread_cond_wait(&client->ended, &client->monitor);
    pthread_mutex_unlock(&client->monitor);
    lki_callbacks_stop(&client->callbacks);

    pthread_mutex_lock(&client->monitor);
    lki_client_release(client);
}

void lki_client_drop(lk_client *client) {
    for (size_t i = 0; i < client->server_count; i++)
        lki_server_drop(&client->servers[i]);
    close(client->keeper.kick);
    close(client->keeper.timer);
    close(client->stop_fd);
    if (client->callbacks.dispatched)
        close(client->callbacks.ready);
}

/* ------------------------------------------------------------------------------ while it lives */

void lki_client_retain(lk_client *client) {
    client->references++;
}

void lki_client_release(lk_client *client) {
    bool last = --client->references == 0;
    pthread_mutex_unlock(&client->monitor);
    if (last)
        free_client(client);
}

lki_server *lki_client_server(lk_client *client, const char *name) {
    return &client->servers[client->topology->methods->server_of(client->topology, name)];
}

void lki_client_saw(lk_client *client, uint64_t fence_or_time) {
    if (fence_or_time > client->floor)
        client->floor = fence_or_time;
}
