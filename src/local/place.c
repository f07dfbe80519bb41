/*
 * Where the folder is: lki_local_folder and lki_local_place_read of local.h; see place.h.
 *
 * All programs of a user must find the same folder, at any time and however they were started, or
 * their locks do not exclude each other. So it depends on the user alone:
 *
 *   root        /run/latchkey, which services with a private /tmp see too
 *   others      /tmp/latchkey-<uid>; in a private /tmp there is no place that all see: refused
 *
 * XDG_RUNTIME_DIR is not set for cron, and /run/user/<uid> comes and goes with the user's logins.
 * The home may be on a file system that other machines share. Files in /dev/shm are removed when
 * the user logs out (RemoveIPC of logind.conf).
 */
#include "local/place.h"

#include "base/memory.h"
#include "local/folder.h"
#include "local/local.h"
#include "local/private_tmp.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ROOTS_FOLDER "/run/latchkey"

enum { DEFAULT_MOST = 64, SOCKET_MOST = sizeof((struct sockaddr_un *)0)->sun_path };

char *lki_place_join(const char *folder, const char *name) {
    size_t size = strlen(folder) + 1 + strlen(name) + 1;
    char *path = lki_new(size);
    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static bool socket_fits(size_t folder_length) {
    return folder_length + sizeof "/" LKI_LOCAL_SOCKET <= SOCKET_MOST;
}

/* Empty is unset. A program with more rights than its user asks no user. */
static const char *setting(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* Slashes at its end are cut: with one, open() follows a symbolic link in spite of O_NOFOLLOW. */
static lk_status named_folder(const char *name, char **folder, lki_error *error) {
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        length--;
    if (name[0] != '/')
        return lki_error_set(error, LK_INVALID, "LATCHKEY_LOCAL_DIR is \"%s\": %s", name,
                             "it has to be an absolute path");
    if (!socket_fits(length))
        return lki_error_set(error, LK_INVALID, "LATCHKEY_LOCAL_DIR is \"%s\": %s", name,
                             "it is too long for a socket in it");
    char *copy = lki_copy(name);
    if (!copy)
        return lki_error_no_memory(error);
    copy[length] = '\0';
    *folder = copy;
    return LK_OK;
}

/* In a user namespace, /run may belong to a root that is not this one. */
static bool run_is_roots(void) {
    struct stat run;
    return stat("/run", &run) == 0 && S_ISDIR(run.st_mode) && run.st_uid == 0 &&
           !(run.st_mode & (S_IWGRP | S_IWOTH));
}

static void default_folder(char folder[DEFAULT_MOST]) {
    if (geteuid() == 0 && run_is_roots())
        snprintf(folder, DEFAULT_MOST, ROOTS_FOLDER);
    else
        snprintf(folder, DEFAULT_MOST, "/tmp/latchkey-%ju", (uintmax_t)geteuid());
}

bool lki_place_is_default(const char *folder) {
    char expected[DEFAULT_MOST];
    default_folder(expected);
    return strcmp(folder, expected) == 0;
}

lk_status lki_local_folder(char **folder, lki_error *error) {
    const char *named = setting("LATCHKEY_LOCAL_DIR");
    char found[DEFAULT_MOST];
    bool is_private = false;
    if (named)
        return named_folder(named, folder, error);
    default_folder(found);
    lk_status status = lki_tmp_is_private(found, &is_private, error);
    if (status != LK_OK)
        return status;
    if (is_private)
        return lki_error_set(error, LK_UNAVAILABLE,
                             "/tmp is private to this service (PrivateTmp of systemd, or the "
                             "like): local: would be another server here than for other programs "
                             "of this user; set url in " LKI_SYSTEM_CONFIG " or LATCHKEY_URL, or "
                             "name a folder that all of them see in LATCHKEY_LOCAL_DIR");
    return lki_copy_to(folder, found) ? LK_OK : lki_error_no_memory(error);
}

lk_status lki_local_place_read(lki_local_place *out, lki_error *error) {
    lki_local_place found = {0};
    const char *path = secure_getenv("PATH"); /* an empty one names no folder */
    lk_status status = lki_local_folder(&found.folder, error);
    if (status == LK_OK &&
        !lki_copy_to(&found.search_path, path ? path : "/usr/local/bin:/usr/bin:/bin"))
        status = lki_error_no_memory(error);
    if (status == LK_OK)
        *out = found;
    else
        lki_local_place_clear(&found);
    return status;
}

void lki_local_place_clear(lki_local_place *place) {
    lki_free(place->folder);
    lki_free(place->search_path);
}
