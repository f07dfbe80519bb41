/*
 * The folder of the private server: its path, its permissions, and the files in it. Does not know
 * how to start a server or how to talk to one.
 *
 * Two file locks (flock) are used there:
 *
 *   start.lock   held by a process while it checks whether to start a server, and starts one
 *   the folder   held by the running server, whose standard input is the open folder
 *
 * The second lock ends with the server, in any case. It cannot be confused with another process, as
 * a pid can. And it keeps programs that clean /tmp by age from removing the folder (tmpfiles.d(5)).
 */
#ifndef LKI_LOCAL_FOLDER_H
#define LKI_LOCAL_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LKI_LOCAL_SOCKET "server.sock"
#define LKI_LOCAL_LOG "server.log"
#define LKI_LOCAL_PIDFILE "server.pid"

/* The path of a file in the folder. Free it with lki_free; NULL: out of memory. */
char *lki_folder_join(const char *folder, const char *name);

/* Whether this is the folder that is used if LATCHKEY_LOCAL_DIR is not set. */
bool lki_folder_is_default(const char *folder);

/*
 * Opens the folder. Creates it if it does not exist, and removes the permissions of other users.
 * LK_DENIED if it belongs to another user, or if others can write to it: they may have put files
 * into it. LK_UNAVAILABLE, LK_NOMEM.
 */
lk_status lki_folder_open(const char *path, int *folder_fd, lki_error *);

/* Whether the path still leads to this open folder, which may have been removed meanwhile. */
bool lki_folder_is_at(int folder_fd, const char *path);

/*
 * Takes start.lock, without waiting. LK_BUSY, without an error text: another process has it, or the
 * folder was removed; try again from the start. Other errors: LK_DENIED, LK_UNAVAILABLE, LK_NOMEM.
 */
lk_status lki_folder_lock(int folder_fd, int *lock_fd, lki_error *);
void lki_folder_unlock(int lock_fd);

/* Whether a server process has the folder locked, even if nothing listens at its socket. */
bool lki_folder_has_server(int folder_fd);

/* The process id in the pid file of the server; 0: not known. */
pid_t lki_folder_pid(int folder_fd);

/* Opens the log for appending; *length is its present length. LK_BUSY: the folder was removed. */
lk_status lki_folder_open_log(int folder_fd, int *log_fd, off_t *length, lki_error *);

/* The last line of the log after the offset `from`, without empty lines; "": there is none. */
void lki_log_last_line(int log_fd, off_t from, char *line, size_t room);

#endif
