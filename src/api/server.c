/* lk_examine; lk_local_status and lk_local_stop for the private server. */
#include "diagnose/examine.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "local/folder.h"
#include "local/local.h"
#include "local/private_tmp.h"

lk_status lk_examine(const char *url, const lk_client_options *options, lk_facts **out) {
    lki_error error;
    lki_choice choice = {0};
    if (!out)
        return lki_fail(LK_INVALID, "out is NULL");
    lki_cancellation_off();
    lk_status status = lki_choice_read(url, options, &choice, &error);
    if (status == LK_OK)
        status = lki_examine(&choice, out, &error);
    if (status != LK_OK)
        lki_choice_name_source(&choice, &error);
    lki_choice_clear(&choice);
    lki_cancellation_on();
    return status == LK_OK ? LK_OK : lki_fail_with(&error);
}

void lk_facts_free(lk_facts *facts) {
    lki_facts_free(facts);
}

/* ------------------------------------------------------------------------------ private server */

enum { STOP_MS = 10000 };

/* The public part is the first member: lk_local_info_free() casts it back. */
typedef struct {
    lk_local_info info;
    char *folder, *socket;
} local_block;

static lk_status read_status(lk_local_info **out, lki_error *error) {
    pid_t pid = 0;
    local_block *self = lki_new(sizeof *self);
    lk_status status = self ? lki_local_folder(&self->folder, error) : lki_error_no_memory(error);
    if (status == LK_OK && !(self->socket = lki_folder_join(self->folder, LKI_LOCAL_SOCKET)))
        status = lki_error_no_memory(error);
    if (status == LK_OK)
        status = lki_local_look(self->folder, &self->info.running, &pid, error);
    if (status == LK_OK)
        status = lki_tmp_is_private(self->folder, &self->info.unshared, error);
    if (status != LK_OK) {
        lk_local_info_free(self ? &self->info : NULL);
        return status;
    }
    self->info.folder = self->folder;
    self->info.socket = self->socket;
    self->info.pid = pid;
    *out = &self->info;
    return LK_OK;
}

lk_status lk_local_status(lk_local_info **out) {
    lki_error error;
    if (!out)
        return lki_fail(LK_INVALID, "out is NULL");
    lki_cancellation_off();
    lk_status status = read_status(out, &error);
    lki_cancellation_on();
    return status == LK_OK ? LK_OK : lki_fail_with(&error);
}

void lk_local_info_free(lk_local_info *info) {
    local_block *self = (local_block *)info;
    if (!self)
        return;
    lki_free(self->folder);
    lki_free(self->socket);
    lki_free(self);
}

lk_status lk_local_stop(bool *ran) {
    lki_error error;
    char *folder = NULL;
    bool found = false;
    lki_cancellation_off();
    lk_status status = lki_local_folder(&folder, &error);
    if (status == LK_OK)
        status = lki_local_stop(folder, lki_after_ms(lki_now_us(), STOP_MS), &found, &error);
    lki_free(folder);
    lki_cancellation_on();
    if (status != LK_OK)
        return lki_fail_with(&error);
    if (ran)
        *ran = found;
    return LK_OK;
}
