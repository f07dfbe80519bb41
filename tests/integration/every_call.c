/* The table of calls that wait for the server; see every_call.h. */
#include "every_call.h"

#include <assert.h>

enum { WAIT_MS = 60000 };

static lk_status call_timedrdlock(lk_lock *lock) {
    return lk_timedrdlock(lock, WAIT_MS);
}

static lk_status call_timedwrlock(lk_lock *lock) {
    return lk_timedwrlock(lock, WAIT_MS);
}

static lk_status call_renew(lk_lock *lock) {
    return lk_renew(lock, 0);
}

static lk_status call_inspect(lk_client *client, const char *name) {
    lk_info *info = NULL;
    lk_status status = lk_inspect(client, name, &info);
    lk_info_free(info);
    return status;
}

static bool hear_nothing(const char *name, void *arg) {
    (void)name, (void)arg;
    return true;
}

static lk_status call_list(lk_client *client, const char *name) {
    (void)name;
    return lk_list(client, NULL, hear_nothing, NULL);
}

static lk_status call_force_release(lk_client *client, const char *name) {
    return lk_force_release(client, name, NULL);
}

const call_kind every_call[] = {
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
const char *const every_request[] = {"EVALSHA", "EVAL", "SCAN"};

static_assert(sizeof every_call / sizeof *every_call == EVERY_CALL, "each call has its row");

lk_lock *lock_for(lk_client *client, const call_kind *kind) {
    lk_lock *lock = new_lock_with(client, kind->name, &(lk_lock_options){.manual_renew = true});
    if (kind->needs != HOLDS_NOTHING)
        assert_ok(kind->needs == HOLDS_READ ? lk_rdlock(lock) : lk_wrlock(lock));
    return lock;
}

lk_status make_call(const call_kind *kind, lk_client *client, lk_lock *lock) {
    return kind->of_handle ? kind->of_handle(lock) : kind->of_client(client, kind->name);
}

bool is_forced_release(const call_kind *kind) {
    return kind->of_client == call_force_release;
}

size_t requests_received(fake_server *fake, const call_kind *kind) {
    if (kind->of_client == call_list)
        return fake_server_count(fake, "SCAN");
    return fake_server_count(fake, world_print("EVALSHA * * lk:{%s}", kind->name)) +
           fake_server_count(fake, world_print("EVAL * * lk:{%s}", kind->name));
}

lk_client *open_fake(fake_server *fake, int64_t command_timeout_ms) {
    return open_client_url(world_print("unix://%s", fake_server_socket(fake)),
                           &(lk_client_options){.command_timeout_ms = command_timeout_ms});
}
