/* See config_files.h. */
#include "client/config_files.h"

#include "base/memory.h"
#include "net/seeds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PASSWORD_MOST = 4096 };

static const char *system_path = LKI_SYSTEM_CONFIG;

void lki_config_system_at(const char *path) {
    system_path = path;
}

/* The bytes of a file. `drop` wipes and frees them. */
typedef struct {
    char *bytes;
    size_t length;
    struct stat status;
} contents;

static void drop(contents *found) {
    if (found->bytes)
        explicit_bzero(found->bytes, found->length);
    lki_free(found->bytes);
    found->bytes = NULL;
}

/* ------------------------------------------------------------------------------ bytes */

static bool is_readable_kind(mode_t mode) {
    return S_ISREG(mode) || S_ISCHR(mode); /* /dev/null counts as an empty file */
}

/* Reads at most one byte more than `most`. Returns an errno, or 0. */
static int read_all(int fd, size_t most, contents *out) {
    contents found = {0};
    if (fstat(fd, &found.status) != 0)
        return errno;
    if (!is_readable_kind(found.status.st_mode))
        return S_ISDIR(found.status.st_mode) ? EISDIR : EINVAL;
    found.bytes = lki_new(most + 1);
    if (!found.bytes)
        return ENOMEM;
    while (found.length <= most) {
        ssize_t got = read(fd, found.bytes + found.length, most + 1 - found.length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int failed = errno;
            drop(&found);
            return failed;
        }
        if (got == 0)
            break;
        found.length += (size_t)got;
    }
    *out = found;
    return 0;
}

/* O_NONBLOCK: a FIFO must not make it wait. */
static int read_file(const char *path, size_t most, contents *out) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno;
    int failed = read_all(fd, most, out);
    close(fd);
    return failed;
}

static lk_status cannot_read(const char *where, int failed, lki_error *error) {
    if (failed == ENOMEM)
        return lki_error_no_memory(error);
    return lki_error_set(error, LK_INVALID, "%s: it cannot be read: %s", where,
                         failed == EINVAL ? "it is not a file" : strerror(failed));
}

/*
 * Why a file with a password is not safe; NULL: it is. A group may read a file of root, such as the
 * group of a service. Any other file must belong to this user, and be readable by no one else.
 */
static const char *fault_of_secret(const struct stat *found) {
    if (S_ISCHR(found->st_mode))
        return NULL;
    if (found->st_uid != geteuid() && found->st_uid != 0)
        return "belongs to another user";
    mode_t others = found->st_uid == 0 ? S_IRWXO | S_IWGRP : S_IRWXO | S_IRWXG;
    return found->st_mode & others ? "is open to others: chmod 600" : NULL;
}

/* ------------------------------------------------------------------------------ configurations */

/* An empty variable counts as unset. A setuid program ignores the environment. */
static const char *setting(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* *path stays NULL if the user has no configuration folder. XDG ignores relative paths. */
static lk_status find_user_file(char **path, lki_error *error) {
    const char *folder = setting("XDG_CONFIG_HOME"), *below = "";
    if (!folder || folder[0] != '/') {
        folder = setting("HOME");
        below = "/.config";
    }
    if (!folder || folder[0] != '/')
        return LK_OK;
    size_t size = strlen(folder) + strlen(below) + sizeof "/latchkey.conf";
    *path = lki_new(size);
    if (!*path)
        return lki_error_no_memory(error);
    snprintf(*path, size, "%s%s/latchkey.conf", folder, below);
    return LK_OK;
}

/* HOME may be that of another user, as after su(1). Then a file that we cannot stat is absent. */
static bool is_absent(const char *path, int failed) {
    struct stat found;
    return failed == ENOENT || failed == ENOTDIR ||
           (failed == EACCES && stat(path, &found) != 0 && errno == EACCES);
}

static lk_status check_secret(const lki_config *config, const contents *found, lki_error *error) {
    const lki_config_entry *url = &config->entries[LKI_CONFIG_URL];
    bool of_servers = url->value && lki_url_has_password(url->value);
    bool of_sentinels = url->value && lki_url_has_sentinel_password(url->value);
    const char *fault = of_servers || of_sentinels ? fault_of_secret(&found->status) : NULL;
    if (!fault)
        return LK_OK;
    return lki_error_set(
        error, LK_INVALID,
        "%s:%u: url: it contains a password, but the file %s; a %s can hold the password instead",
        config->path, url->line, fault,
        lki_config_name(of_servers ? LKI_CONFIG_PASSWORD_FILE : LKI_CONFIG_SENTINEL_PASSWORD_FILE));
}

static lk_status read_config(const char *path, bool must_exist, lki_config *out, lki_error *error) {
    contents found = {0};
    lki_config config = {0};
    int failed = read_file(path, LKI_CONFIG_MOST, &found);
    if (failed)
        return !must_exist && is_absent(path, failed) ? LK_OK : cannot_read(path, failed, error);
    lk_status status;
    if (found.length > LKI_CONFIG_MOST)
        status = lki_error_set(error, LK_INVALID, "%s: it is too long: the limit is %d bytes", path,
                               LKI_CONFIG_MOST);
    else
        status = lki_config_parse(path, found.bytes, found.length, &config, error);
    if (status == LK_OK)
        status = check_secret(&config, &found, error);
    if (status == LK_OK)
        *out = config;
    else
        lki_config_clear(&config);
    drop(&found);
    return status;
}

lk_status lki_config_files_read(lki_config out[LKI_CONFIG_FILES], lki_error *error) {
    const char *named = setting("LATCHKEY_CONFIG");
    lki_config found[LKI_CONFIG_FILES] = {0};
    char *user_file = NULL;
    lk_status status;
    if (named) {
        status = read_config(named, true, &found[0], error);
    } else {
        status = find_user_file(&user_file, error);
        if (status == LK_OK && user_file)
            status = read_config(user_file, false, &found[0], error);
        if (status == LK_OK)
            status = read_config(system_path, false, &found[1], error);
    }
    lki_free(user_file);
    for (size_t i = 0; i < LKI_CONFIG_FILES; i++)
        if (status == LK_OK)
            out[i] = found[i];
        else
            lki_config_clear(&found[i]);
    return status;
}

/* ------------------------------------------------------------------------------ passwords */

/* Why the bytes are not a password; NULL: they are. Removes a line end, and adds a NUL. */
static const char *fault_of_password(contents *found) {
    size_t length = found->length;
    if (length > PASSWORD_MOST)
        return "it is too long: the limit is 4096 bytes";
    if (length > 0 && found->bytes[length - 1] == '\n')
        length--;
    if (length > 0 && length < found->length && found->bytes[length - 1] == '\r')
        length--;
    if (length == 0)
        return "it is empty";
    if (memchr(found->bytes, '\n', length))
        return "it has more than one line";
    if (memchr(found->bytes, '\0', length))
        return "it contains a NUL byte";
    found->bytes[length] = '\0';
    return NULL;
}

lk_status lki_password_file_read(const char *path, const char *where, char **password,
                                 lki_error *error) {
    contents found = {0};
    lk_status status = LK_OK;
    char place[LKI_ERROR_MOST / 2];
    snprintf(place, sizeof place, "%s: %s", where, path);
    int failed = read_file(path, PASSWORD_MOST, &found);
    if (failed)
        return cannot_read(place, failed, error);
    const char *unsafe = fault_of_secret(&found.status);
    const char *fault = unsafe ? NULL : fault_of_password(&found);
    if (unsafe)
        status = lki_error_set(error, LK_INVALID, "%s %s", place, unsafe);
    else if (fault)
        status = lki_error_set(error, LK_INVALID, "%s: %s", place, fault);
    else if (!lki_copy_to(password, found.bytes))
        status = lki_error_no_memory(error);
    drop(&found);
    return status;
}
