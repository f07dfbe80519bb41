/* latchkey's own driver. One client, whatever the number of threads, as a program would have. */
#include "driver.h"

#include <latchkey.h>
#include <stdio.h>

static drive_setting setting;
static lk_client *client;

struct drive_handle {
    int nothing; /* a lk_lock */
};

static lk_lock *lock_of(drive_handle *handle) {
    return (lk_lock *)handle;
}

static void must(lk_status status, const char *what) {
    if (status != LK_OK)
        drive_fail("%s: %s", what, lk_last_error());
}

static void open_client(const drive_setting *given, size_t handles) {
    char url[256];
    (void)handles;
    setting = *given;
    snprintf(url, sizeof url, "unix://%s", setting.socket);
    must(lk_open(url, NULL, &client), "lk_open");
}

static drive_handle *new_handle(size_t number) {
    char name[128];
    lk_lock_options options = {.lease_ms = setting.lease_ms};
    lk_lock *lock;
    snprintf(name, sizeof name, "%s:%zu", setting.lock, number);
    must(lk_lock_new(client, name, &options, &lock), "lk_lock_new");
    return (drive_handle *)lock;
}

static bool take(drive_handle *handle, bool write, int64_t until_us) {
    int64_t wait_ms = (until_us - drive_now_us()) / 1000;
    lk_lock *lock = lock_of(handle);
    lk_status status = write ? lk_timedwrlock(lock, wait_ms > 0 ? wait_ms : 0)
                             : lk_timedrdlock(lock, wait_ms > 0 ? wait_ms : 0);
    if (status != LK_TIMEOUT && status != LK_BUSY)
        must(status, "lock");
    return status == LK_OK;
}

static void give_back(drive_handle *handle, bool write) {
    must(write ? lk_wrunlock(lock_of(handle)) : lk_rdunlock(lock_of(handle)), "unlock");
}

static bool is_held(drive_handle *handle) {
    return lk_valid(lock_of(handle));
}

static void about(void) {
    printf("{\"name\": \"latchkey\", \"version\": \"%s\", \"url\": \"\", \"reads\": true, "
           "\"setting\": \"policy fair; woken by hand-over\"}\n",
           lk_version());
}

int main(int count, char **words) {
    static const drive_lock lock = {
        .about = about,
        .reads = true,
        .open = open_client,
        .handle = new_handle,
        .lock = take,
        .unlock = give_back,
        .is_held = is_held,
    };
    return drive(&lock, count, words);
}
