/*
 * Starts the server program, so that it outlives the process that starts it, and is not its child
 * (unless that process is init or a subreaper). Does not decide when to start one.
 */
#ifndef LKI_LOCAL_START_H
#define LKI_LOCAL_START_H

#include "base/error.h"

/*
 * Finds a server program in the folders of `path`, which has the form of PATH. Free *program with
 * lki_free. LK_UNAVAILABLE: none is installed there; LK_NOMEM.
 */
lk_status lki_start_find(const char *path, char **program, lki_error *);

/*
 * Starts the program in the folder. The server has the folder locked while it lives; its output
 * goes to log_fd. LK_OK: it was started, and may have ended already · LK_BUSY, without an error
 * text: another server has the folder locked · LK_UNAVAILABLE: the folder cannot be locked ·
 * LK_NOMEM.
 */
lk_status lki_start(const char *program, int folder_fd, int log_fd, lki_error *);

#endif
