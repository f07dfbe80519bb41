/*
 * Finds the private server without starting one, and ends it. See local.h.
 *
 * lki_local_stop holds start.lock until the server has ended. Otherwise an open client would
 * immediately start the next server, and the end of this one could not be seen.
 */
#include "local/local.h"

#include "base/clock.h"
#include "base/memory.h"
#include "local/folder.h"
#include "local/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* *folder_fd -1: there is no folder, and so no server. */
static lk_status open_if_there(const char *folder, int *folder_fd, lki_error *error) {
    *folder_fd = -1;
    if (faccessat(AT_FDCWD, folder, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return LK_OK;
    return lki_folder_open(folder, folder_fd, error);
}

lk_status lki_local_look(const char *folder, bool *running, pid_t *pid, lki_error *error) {
    int folder_fd;
    lk_status status = open_if_there(folder, &folder_fd, error);
    if (status != LK_OK)
        return status;
    *running = folder_fd >= 0 && lki_folder_has_server(folder_fd);
    *pid = *running ? lki_folder_pid(folder_fd) : 0;
    if (folder_fd >= 0)
        close(folder_fd);
    return LK_OK;
}

static lk_status fail_to_end(const char *folder, int folder_fd, const char *why, lki_error *error) {
    long pid = lki_folder_pid(folder_fd);
    if (!pid)
        return lki_error_set(error, LK_UNAVAILABLE, "the private server in %s %s", folder, why);
    return lki_error_set(error, LK_UNAVAILABLE,
                         "the private server (pid %ld) in %s %s; to end it, use kill %ld or kill "
                         "-KILL %ld",
                         pid, folder, why, pid, pid);
}

/* Call it with start.lock held. */
static lk_status end_server(const char *folder, int folder_fd, const char *socket,
                            const lki_patience *patience, lki_error *error) {
    lki_error refused;
    lk_status status = lki_probe_end(socket, patience, &refused);
    if (status == LK_UNAVAILABLE)
        return fail_to_end(folder, folder_fd, refused.text, error);
    if (status != LK_OK)
        *error = refused;
    while (status == LK_OK && lki_folder_has_server(folder_fd)) {
        if (lki_now_us() >= patience->deadline_us)
            return fail_to_end(folder, folder_fd, "has not ended in time", error);
        status = lki_pause(patience, error);
    }
    return status;
}

static lk_status lock_and_end(const char *folder, int folder_fd, const char *socket,
                              const lki_patience *patience, bool *ran, lki_error *error) {
    int lock_fd;
    lk_status status;
    while ((status = lki_folder_lock(folder_fd, &lock_fd, error)) == LK_BUSY) {
        if (!lki_folder_is_at(folder_fd, folder))
            return LK_OK; /* the folder was removed: there is no server to end at this path */
        if (lki_now_us() >= patience->deadline_us)
            return lki_error_set(error, LK_UNAVAILABLE,
                                 "another process is starting the private server in %s; try again",
                                 folder);
        if ((status = lki_pause(patience, error)) != LK_OK)
            return status;
    }
    if (status != LK_OK)
        return status;
    *ran = lki_folder_has_server(folder_fd);
    if (*ran)
        status = end_server(folder, folder_fd, socket, patience, error);
    lki_folder_unlock(lock_fd);
    return status;
}

lk_status lki_local_stop(const char *folder, int64_t deadline_us, bool *ran, lki_error *error) {
    lki_patience patience = {.deadline_us = deadline_us, .stop_fd = -1};
    int folder_fd;
    bool found = false;
    lk_status status = open_if_there(folder, &folder_fd, error);
    if (status == LK_OK && folder_fd >= 0) {
        char *socket = lki_folder_join(folder, LKI_LOCAL_SOCKET);
        status = socket ? lock_and_end(folder, folder_fd, socket, &patience, &found, error)
                        : lki_error_no_memory(error);
        lki_free(socket);
        close(folder_fd);
    }
    if (status == LK_OK)
        *ran = found;
    return status;
}
