/*
 * Starting the server program, so that it outlives its starter and the starter never notices that
 * it had a child (unless it is init, or a subreaper: then the server becomes its child). Knows
 * nothing of when to start one.
 */
#ifndef LKI_LOCAL_START_H
#define LKI_LOCAL_START_H

#include "base/error.h"

/*
 * The path of a server program in one of the folders of `path`, which is as in PATH; to be freed
 * with lki_free. LK_UNAVAILABLE: none; LK_NOMEM.
 */
lk_status lki_start_find(const char *path, char **program, lki_error *);

/*
 * Starts the program in the folder, which it locks for as long as it lives; what it has to say goes
 * to log_fd. LK_OK: it runs, or has already ended · LK_BUSY, without a sentence: another lives
 * there · LK_UNAVAILABLE: the folder cannot be locked · LK_NOMEM.
 */
lk_status lki_start(const char *program, int folder_fd, int log_fd, lki_error *);

#endif
