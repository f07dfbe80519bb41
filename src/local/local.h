/*
 * `local:`: a private server for this user on this machine. It is started on first use, and all
 * processes of the user share it. Knows neither locks nor clients.
 */
#ifndef LKI_LOCAL_H
#define LKI_LOCAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The path of the folder, whether it exists or not. Free it with lki_free. LK_INVALID:
 * LATCHKEY_LOCAL_DIR is wrong; LK_UNAVAILABLE: /tmp is private to this service; LK_NOMEM.
 */
lk_status lki_local_folder(char **folder, lki_error *);

/* Read once, by lk_open: the program may change its environment while our threads run. */
typedef struct {
    char *folder;
    char *search_path; /* PATH, to find the server program */
} lki_local_environment;

lk_status lki_local_environment_read(lki_local_environment *out, lki_error *);
void lki_local_environment_clear(lki_local_environment *);

/*
 * Makes sure that the private server runs and answers; starts it if necessary. Returns the path of
 * its socket, to be freed with lki_free. If several processes call this at the same time, one of
 * them starts the server and the others wait, until deadline_us, or until stop_fd becomes readable
 * (-1: never).
 * LK_UNAVAILABLE: no server program is installed (the error names packages), or the server does not
 * start (the error has the last line of its log) · LK_DENIED: the folder or the server belongs to
 * another user · LK_NOMEM · LK_CANCELED: stop_fd.
 */
lk_status lki_local_ensure(const lki_local_environment *, int64_t deadline_us, int stop_fd,
                           char **socket_path, lki_error *);

/* Whether a server runs, and its process id (0: not known). Does not create or start anything. */
lk_status lki_local_look(const char *folder, bool *running, pid_t *pid, lki_error *);

/* Ends the server and waits until it has ended; *ran: whether one ran. See lk_local_stop. */
lk_status lki_local_stop(const char *folder, int64_t deadline_us, bool *ran, lki_error *);

#endif
