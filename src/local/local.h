/*
 * `local:`, the embedded default: a private server for this user on this machine, started on first
 * use and shared by all of the user's processes. Knows nothing of locks and clients.
 */
#ifndef LKI_LOCAL_H
#define LKI_LOCAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Where its folder is, whether it exists or not. LK_INVALID: LATCHKEY_LOCAL_DIR · LK_NOMEM. */
lk_status lki_local_folder(char **folder, lki_error *);

/* What the environment says; read once, since a program may change it beside our threads. */
typedef struct {
    char *folder;
    char *search_path; /* for the server's program */
} lki_local_environment;

lk_status lki_local_environment_read(lki_local_environment *out, lki_error *);
void lki_local_environment_clear(lki_local_environment *);

/*
 * Makes sure that the private server runs and answers, and gives the path of its socket (to be
 * freed with lki_free). Whoever comes first starts it; others wait for that one, until deadline_us,
 * or until stop_fd becomes readable (-1: never).
 * LK_UNAVAILABLE: no server program is installed (and which packages have one), or it does not
 * come up, with its last words · LK_DENIED: the folder is somebody else's · LK_NOMEM · LK_CANCELED.
 */
lk_status lki_local_ensure(const lki_local_environment *, int64_t deadline_us, int stop_fd,
                           char **socket_path, lki_error *);

/* Whether a server lives there, and as which process (0: not known). Starts and makes nothing. */
lk_status lki_local_look(const char *folder, bool *running, pid_t *pid, lki_error *);

/* Ends the server, and waits until it has ended. See lk_local_stop. */
lk_status lki_local_stop(const char *folder, int64_t deadline_us, bool *ran, lki_error *);

#endif
