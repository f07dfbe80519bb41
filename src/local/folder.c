/* See folder.h. */
#include "local/folder.h"

#include "base/memory.h"
#include "local/local.h"
#include "local/private_tmp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------ the path */

/*
 * All programs of a user must find the same folder, at any time and however they were started.
 * Otherwise their locks would not exclude each other. So the path depends on the user alone:
 *
 *   root        /run/latchkey, which services with a private /tmp see too
 *   others      /tmp/latchkey-<uid>; an error if /tmp is private
 *
 * Not XDG_RUNTIME_DIR: cron does not set it, and /run/user/<uid> exists only while the user is
 * logged in. Not the home: it may be on a file system that other machines share. Not /dev/shm: its
 * files are removed when the user logs out (RemoveIPC of logind.conf).
 */
#define ROOTS_FOLDER "/run/latchkey"

enum { DEFAULT_MOST = 64, SOCKET_MOST = sizeof((struct sockaddr_un *)0)->sun_path };

char *lki_folder_join(const char *folder, const char *name) {
    size_t size = strlen(folder) + 1 + strlen(name) + 1;
    char *path = lki_new(size);
    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static bool socket_fits(size_t folder_length) {
    return folder_length + sizeof "/" LKI_LOCAL_SOCKET <= SOCKET_MOST;
}

/* An empty variable counts as unset. A setuid program ignores the environment. */
static const char *setting(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* Trailing slashes are removed: with one, open() follows a symbolic link despite O_NOFOLLOW. */
static lk_status named_folder(const char *name, char **folder, lki_error *error) {
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        length--;
    if (name[0] != '/')
        return lki_error_set(error, LK_INVALID, "LATCHKEY_LOCAL_DIR is \"%s\": %s", name,
                             "it must be an absolute path");
    if (!socket_fits(length))
        return lki_error_set(error, LK_INVALID, "LATCHKEY_LOCAL_DIR is \"%s\": %s", name,
                             "it is too long: a socket in it would exceed 107 bytes");
    char *copy = lki_copy(name);
    if (!copy)
        return lki_error_no_memory(error);
    copy[length] = '\0';
    *folder = copy;
    return LK_OK;
}

/* In a user namespace, the root of this process may not own /run. */
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

bool lki_folder_is_default(const char *folder) {
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
                             "/tmp is private to this service (for example by PrivateTmp of "
                             "systemd), so local: would not be the server of this user's other "
                             "programs; set url in " LKI_SYSTEM_CONFIG " or LATCHKEY_URL, or set "
                             "LATCHKEY_LOCAL_DIR to a folder that all of them see");
    return lki_copy_to(folder, found) ? LK_OK : lki_error_no_memory(error);
}

lk_status lki_local_environment_read(lki_local_environment *out, lki_error *error) {
    lki_local_environment found = {0};
    const char *path = secure_getenv("PATH"); /* if empty, it stays empty: no program is found */
    lk_status status = lki_local_folder(&found.folder, error);
    if (status == LK_OK &&
        !lki_copy_to(&found.search_path, path ? path : "/usr/local/bin:/usr/bin:/bin"))
        status = lki_error_no_memory(error);
    if (status == LK_OK)
        *out = found;
    else
        lki_local_environment_clear(&found);
    return status;
}

void lki_local_environment_clear(lki_local_environment *environment) {
    lki_free(environment->folder);
    lki_free(environment->search_path);
}

/* ------------------------------------------------------------------------------ the folder */

#define LOCK_FILE "start.lock"

enum { LOG_MOST = 1 << 20, LOG_TAIL = 2048, PID_MOST = 32 };

/* Does not suggest to remove or change a folder that another user may be using. */
static const char *advice(const char *path) {
    return lki_folder_is_default(path)
               ? "set LATCHKEY_LOCAL_DIR to a folder of your own, or give the URL of a server"
               : "unset LATCHKEY_LOCAL_DIR, set it to a folder that only you can use, or give the "
                 "URL of a server";
}

static lk_status refuse(lki_error *error, const char *path, const char *why) {
    return lki_error_set(error, LK_DENIED, "the folder of the private server, %s, %s: %s", path,
                         why, advice(path));
}

/* Under sudo, LATCHKEY_LOCAL_DIR may come from the user who called sudo. */
static lk_status refuse_foreign(lki_error *error, const char *path, uid_t owner) {
    unsigned long theirs = owner, ours = geteuid();
    if (lki_folder_is_default(path))
        return lki_error_set(error, LK_DENIED,
                             "the folder of the private server, %s, belongs to another user (uid "
                             "%lu, but this program runs as uid %lu): ask uid %lu or root to "
                             "remove it, or %s",
                             path, theirs, ours, theirs, advice(path));
    return lki_error_set(error, LK_DENIED,
                         "the folder of LATCHKEY_LOCAL_DIR, %s, belongs to another user (uid %lu, "
                         "but this program runs as uid %lu), and a private server serves one user: "
                         "run the program as uid %lu (sudo -u '#%lu'), or %s",
                         path, theirs, ours, theirs, theirs, advice(path));
}

static lk_status refuse_shared(lki_error *error, const char *path) {
    return lki_error_set(error, LK_DENIED,
                         "others can write to the folder of the private server, %s, and may have "
                         "put files into it: %s%s",
                         path, lki_folder_is_default(path) ? "remove it, " : "", advice(path));
}

static lk_status cannot(lki_error *error, const char *what, const char *path) {
    lk_status status = errno == EMFILE || errno == ENFILE || errno == ENOMEM ? LK_NOMEM
                       : errno == EACCES || errno == EPERM                   ? LK_DENIED
                                                                             : LK_UNAVAILABLE;
    return lki_error_set(error, status, "cannot %s %s for the private server: %s", what, path,
                         strerror(errno));
}

static lk_status cannot_use(lki_error *error, const char *what, const char *path) {
    lki_error reason;
    cannot(&reason, what, path);
    return lki_error_set(error, reason.status, "%s; %s", reason.text, advice(path));
}

/*
 * Whether the folder has a start.lock or is empty. Permissions of other folders are not changed:
 * LATCHKEY_LOCAL_DIR may be /tmp or a home by mistake.
 */
static bool is_for_us(int folder_fd) {
    if (faccessat(folder_fd, LOCK_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
    if (!entries) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool empty = true;
    for (const struct dirent *entry; empty && (entry = readdir(entries));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(entries);
    return empty;
}

static lk_status make_private(int fd, const char *path, lki_error *error) {
    struct stat found;
    if (fstat(fd, &found) != 0)
        return cannot(error, "stat", path);
    if (found.st_uid != geteuid())
        return refuse_foreign(error, path, found.st_uid);
    if ((found.st_mode & ACCESSPERMS) == S_IRWXU)
        return LK_OK;
    if (found.st_mode & (S_IWGRP | S_IWOTH)) /* files in it may belong to anybody */
        return refuse_shared(error, path);
    if (!is_for_us(fd))
        return refuse(error, path, "is open to others and contains other files");
    return fchmod(fd, S_IRWXU) == 0 ? LK_OK : cannot(error, "chmod", path);
}

lk_status lki_folder_open(const char *path, int *folder_fd, lki_error *error) {
    struct stat found;
    int fd;
    do { /* another process may remove it before it is opened */
        if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
            return cannot_use(error, "make the folder", path);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } while (fd < 0 && errno == ENOENT);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return refuse(error, path, "is not a folder");
    if (fd < 0 && errno == EACCES && lstat(path, &found) == 0)
        return found.st_uid == geteuid() ? refuse(error, path, "cannot be opened")
                                         : refuse_foreign(error, path, found.st_uid);
    if (fd < 0)
        return cannot_use(error, "open the folder", path);
    lk_status status = make_private(fd, path, error);
    if (status != LK_OK) {
        close(fd);
        return status;
    }
    *folder_fd = fd;
    return LK_OK;
}

bool lki_folder_is_at(int folder_fd, const char *path) {
    struct stat open_one, named;
    return fstat(folder_fd, &open_one) == 0 && lstat(path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

lk_status lki_folder_lock(int folder_fd, int *lock_fd, lki_error *error) {
    int fd =
        openat(folder_fd, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 && errno == ENOENT)
        return LK_BUSY;
    if (fd < 0)
        return cannot(error, "open", LOCK_FILE);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *lock_fd = fd;
        return LK_OK;
    }
    lk_status status =
        errno == EWOULDBLOCK || errno == EINTR ? LK_BUSY : cannot(error, "lock", LOCK_FILE);
    close(fd);
    return status;
}

/* Unlocks explicitly: a child that another thread forked may have the descriptor open. */
void lki_folder_unlock(int lock_fd) {
    flock(lock_fd, LOCK_UN);
    close(lock_fd);
}

bool lki_folder_has_server(int folder_fd) {
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT;
    bool has_one = flock(fd, LOCK_SH | LOCK_NB) != 0;
    flock(fd, LOCK_UN);
    close(fd);
    return has_one;
}

pid_t lki_folder_pid(int folder_fd) {
    char text[PID_MOST] = "";
    int fd = openat(folder_fd, LKI_LOCAL_PIDFILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    long pid = length > 0 ? strtol(text, NULL, 10) : 0;
    return pid > 0 && (pid_t)pid == pid ? (pid_t)pid : 0;
}

lk_status lki_folder_open_log(int folder_fd, int *log_fd, off_t *length, lki_error *error) {
    int fd = openat(folder_fd, LKI_LOCAL_LOG, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);
    struct stat found;
    if (fd < 0 && errno == ENOENT)
        return LK_BUSY;
    if (fd < 0)
        return cannot(error, "open", LKI_LOCAL_LOG);
    if (fstat(fd, &found) != 0)
        found.st_size = 0;
    if (found.st_size > LOG_MOST && ftruncate(fd, 0) == 0)
        found.st_size = 0;
    *log_fd = fd;
    *length = found.st_size;
    return LK_OK;
}

void lki_log_last_line(int log_fd, off_t from, char *line, size_t room) {
    char tail[LOG_TAIL];
    struct stat found;
    line[0] = '\0';
    if (fstat(log_fd, &found) != 0 || found.st_size <= from)
        return;
    off_t start = found.st_size - from > LOG_TAIL ? found.st_size - LOG_TAIL : from;
    ssize_t length = pread(log_fd, tail, sizeof tail, start);
    while (length > 0 && (unsigned char)tail[length - 1] <= ' ')
        length--;
    ssize_t first = length;
    while (first > 0 && tail[first - 1] != '\n')
        first--;
    size_t count = length > first ? (size_t)(length - first) : 0;
    count = count < room ? count : room - 1;
    for (size_t i = 0; i < count; i++) {
        char c = tail[first + (ssize_t)i];
        line[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    line[count] = '\0';
}
