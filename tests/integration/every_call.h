/*
 * Every public call that asks the server something and waits for the answer, in a table: for tests
 * of what they have in common. Include after world.h.
 */
#ifndef INTEGRATION_EVERY_CALL_H
#define INTEGRATION_EVERY_CALL_H

#include "fake_server.h"
#include "old_world.h"

enum { EVERY_CALL_WAIT_MS = 60000 };

/* What a handle must hold before the call. */
typedef enum { HOLDS_NOTHING, HOLDS_READ, HOLDS_WRITE } holding;

typedef struct {
    const char *name;                  /* the lock's too */
    lk_status (*of_handle)(lk_lock *); /* or the other one */
    lk_status (*of_client)(lk_client *, const char *name);
    holding needs;
} call_kind;

static inline lk_status call_timedrdlock(lk_lock *lock) {
    return lk_timedrdlock(lock, EVERY_CALL_WAIT_MS);
}

static inline lk_status call_timedwrlock(lk_lock *lock) {
    return lk_timedwrlock(lock, EVERY_CALL_WAIT_MS);
}

static inline lk_status call_renew(lk_lock *lock) {
    return lk_renew(lock, 0);
}

static inline lk_status call_inspect(lk_client *client, const char *name) {
    lk_info *info = NULL;
    lk_status status = lk_inspect(client, name, &info);
    lk_info_free(info);
    return status;
}

static inline bool hear_nothing(const char *name, void *arg) {
    (void)name;
    (void)arg;
    return true;
}

static inline lk_status call_list(lk_client *client, const char *name) {
    (void)name;
    return lk_list(client, NULL, hear_nothing, NULL);
}

static inline lk_status call_force_release(lk_client *client, const char *name) {
    return lk_force_release(client, name, NULL);
}

static const call_kind every_call[] = {
    {"rdlock", lk_rdlock, NULL, HOLDS_NOTHING},
    {"tryrdlock", lk_tryrdlock, NULL, HOLDS_NOTHING},
    {"timedrdlock", call_timedrdlock, NULL, HOLDS_NOTHING},
    {"wrlock", lk_wrlock, NULL, HOLDS_NOTHING},
    {"trywrlock", lk_trywrlock, NULL, HOLDS_NOTHING},
    {"timedwrlock", call_timedwrlock, NULL, HOLDS_NOTHING},
    {"upgrade", lk_wrlock, NULL, HOLDS_READ},
    {"rdunlock", lk_rdunlock, NULL, HOLDS_READ},
    {"wrunlock", lk_wrunlock, NULL, HOLDS_WRITE},
    {"unlock", lk_unlock, NULL, HOLDS_READ},
    {"downgrade", lk_downgrade, NULL, HOLDS_WRITE},
    {"renew", call_renew, NULL, HOLDS_WRITE},
    {"inspect", NULL, call_inspect, HOLDS_NOTHING},
    {"list", NULL, call_list, HOLDS_NOTHING},
    {"force_release", NULL, call_force_release, HOLDS_WRITE},
};
enum { EVERY_CALL = sizeof every_call / sizeof *every_call };

/* The commands that these calls send. */
static const char *const every_request[] = {"EVALSHA", "EVAL", "SCAN"};
enum { EVERY_REQUEST = sizeof every_request / sizeof *every_request };

/* The handle of one call, ready for it. Nothing is renewed but by hand. */
static inline lk_lock *handle_for(lk_client *client, const call_kind *kind) {
    lk_lock *lock = handle_with(client, kind->name, &(lk_lock_options){.manual_renew = true});
    if (kind->needs != HOLDS_NOTHING)
        assert_ok(kind->needs == HOLDS_READ ? lk_rdlock(lock) : lk_wrlock(lock));
    return lock;
}

static inline lk_status make_call(const call_kind *kind, lk_client *client, lk_lock *lock) {
    return kind->of_handle ? kind->of_handle(lock) : kind->of_client(client, kind->name);
}

/* How often the fake server has received a request of that call. */
static inline size_t requests_received(fake_server *fake, const call_kind *kind) {
    if (kind->of_client == call_list)
        return fake_server_count(fake, "SCAN");
    char *by_hash = test_print("EVALSHA * * lk:{%s}", kind->name);
    char *by_text = test_print("EVAL * * lk:{%s}", kind->name);
    size_t count = fake_server_count(fake, by_hash) + fake_server_count(fake, by_text);
    free(by_hash);
    free(by_text);
    return count;
}

static inline lk_client *open_fake(fake_server *fake, int64_t command_timeout_ms) {
    lk_client *client = NULL;
    char *url = test_print("unix://%s", fake_server_socket(fake));
    assert_ok(
        lk_open(url, &(lk_client_options){.command_timeout_ms = command_timeout_ms}, &client));
    free(url);
    return client;
}

#endif
