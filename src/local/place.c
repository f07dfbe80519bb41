/*
 * Where the folder is: lki_local_folder and lki_local_place_read of local.h; see place.h.
 *
 * Always in /tmp, and not under XDG_RUNTIME_DIR: a job of cron has no such folder, and would get
 * another server than its user's shell, and a lock that does not exclude it.
 */
#include "local/place.h"

#include "base/memory.h"
#include "local/folder.h"
#include "local/local.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { FALLBACK_MOST = 64, SOCKET_MOST = sizeof((struct sockaddr_un *)0)->sun_path };

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

lk_status lki_local_folder(char **folder, lki_error *error) {
    const char *named = setting("LATCHKEY_LOCAL_DIR");
    if (named)
        return named_folder(named, folder, error);
    char fallback[FALLBACK_MOST];
    snprintf(fallback, sizeof fallback, "latchkey-%ju", (uintmax_t)geteuid());
    char *path = lki_place_join("/tmp", fallback);
    if (!path)
        return lki_error_no_memory(error);
    *folder = path;
    return LK_OK;
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
