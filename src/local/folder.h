/*
 * The folder of the private server: where it is, that it is ours alone, and the files in it. Knows
 * nothing of how a server is started or asked.
 *
 * Two file locks (flock) keep order there. The starting lock is held while somebody looks whether a
 * server has to be started, and starts it. The folder itself is locked by the running server, which
 * has it open as its standard input: it cannot be forgotten, cannot be mistaken for that of another
 * process as a pid can, and keeps those who clean /tmp by age away (tmpfiles.d(5)).
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

/* The path of a file in the folder, to be freed with lki_free; NULL: out of memory. */
char *lki_folder_join(const char *folder, const char *name);

/* Whether this is the folder that a user has without LATCHKEY_LOCAL_DIR. */
bool lki_folder_is_default(const char *folder);

/*
 * Opens the folder, makes it first where it is not there, and closes it to others. LK_DENIED also
 * when others could write to it: what is in it then, and what was, is not surely ours.
 */
lk_status lki_folder_open(const char *path, int *folder_fd, lki_error *);

/* Whether the path still leads to this open folder: others may remove it at any time. */
bool lki_folder_is_at(int folder_fd, const char *path);

/* The starting lock, without waiting. LK_BUSY, without a sentence: another process has it, or the
 * folder was removed; look again. */
lk_status lki_folder_lock(int folder_fd, int *lock_fd, lki_error *);
void lki_folder_unlock(int lock_fd);

/* Whether a server lives in the folder, whatever its socket says. */
bool lki_folder_has_server(int folder_fd);

/* What the server wrote as its process id; 0 if that is not known. */
pid_t lki_folder_pid(int folder_fd);

/* Opens the log to append to it; *length is what is in it already. LK_BUSY as above. */
lk_status lki_folder_open_log(int folder_fd, int *log_fd, off_t *length, lki_error *);

/* The last line of the log that is not empty, behind `from`; "" if there is none. */
void lki_log_last_line(int log_fd, off_t from, char *line, size_t room);

#endif
