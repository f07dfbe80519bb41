/* The library, for callers to whom every failure is the end. See client_parts.h. */
#include "client_figures.h"
#include "client_parts.h"
#include "test_memory.h"

#include <stdlib.h>

void library_must(lk_status status, const char *what) {
    if (status != LK_OK)
        bench_fail("%s: %s: %s", what, lk_status_name(status), lk_last_error());
}

lk_client *library_open(const bench_plan *plan) {
    lk_client *client;
    bool on_socket = *plan->address == '/';
    char *url = test_print("%s://%s", on_socket ? "unix" : "redis", plan->address);
    library_must(lk_open(url, NULL, &client), "lk_open");
    free(url);
    return client;
}

lk_lock *library_lock(lk_client *client, const char *name) {
    lk_lock *lock;
    library_must(lk_lock_new(client, name, NULL, &lock), "lk_lock_new");
    return lock;
}
