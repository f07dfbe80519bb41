/* See orphan.h. */
#include "local/orphan.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_pidfd_open

enum { LINK_MOST = 64 };

typedef struct {
    char path[PATH_MAX]; /* with " (deleted)", as the kernel shows a removed folder */
    dev_t device;
    int proc_fd;
} removed_folder;

static bool describe(int folder_fd, int proc_fd, removed_folder *folder) {
    char link[LINK_MOST];
    struct stat found;
    snprintf(link, sizeof link, "self/fd/%d", folder_fd);
    static const char mark[] = " (deleted)";
    ssize_t length = readlinkat(proc_fd, link, folder->path, sizeof folder->path - sizeof mark);
    if (length <= 0 || fstat(folder_fd, &found) != 0)
        return false;
    memcpy(folder->path + length, mark, sizeof mark);
    folder->device = found.st_dev;
    folder->proc_fd = proc_fd;
    return true;
}

/* Whether a link in /proc/PID leads to such a folder, and it is this user's. */
static bool link_leads_to(const removed_folder *folder, long pid, const char *name) {
    char link[LINK_MOST], path[PATH_MAX];
    struct stat found;
    snprintf(link, sizeof link, "%ld/%s", pid, name);
    ssize_t length = readlinkat(folder->proc_fd, link, path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return strcmp(path, folder->path) == 0 && fstatat(folder->proc_fd, link, &found, 0) == 0 &&
           S_ISDIR(found.st_mode) && found.st_nlink == 0 && /* a name may end with the mark */
           found.st_dev == folder->device && found.st_uid == geteuid();
}

/*
 * Only a server that start.c started has a removed folder as its standard input. The pidfd is
 * opened before the check, so that the signal cannot reach another process that got the same pid.
 */
static void end_if_orphan(const removed_folder *folder, long pid) {
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0L);
    if (pidfd < 0)
        return;
    if (link_leads_to(folder, pid, "fd/0") && link_leads_to(folder, pid, "cwd"))
        syscall(SYS_pidfd_send_signal, (long)pidfd, (long)SIGTERM, NULL, 0L);
    close(pidfd);
}

void lki_orphan_end(int folder_fd) {
    removed_folder folder;
    DIR *processes = opendir("/proc");
    if (!processes)
        return;
    if (describe(folder_fd, dirfd(processes), &folder)) {
        for (const struct dirent *entry; (entry = readdir(processes));) {
            struct stat found;
            long pid = strtol(entry->d_name, NULL, 10);
            if (pid > 0 && fstatat(folder.proc_fd, entry->d_name, &found, 0) == 0 &&
                found.st_uid == geteuid())
                end_if_orphan(&folder, pid);
        }
    }
    closedir(processes);
}

#else

void lki_orphan_end(int folder_fd) {
    (void)folder_fd;
}

#endif
