/*
 * The files of a configuration: where they are, and their bytes. Knows nothing of what takes
 * precedence over them.
 */
#ifndef LKI_CONFIG_FILES_H
#define LKI_CONFIG_FILES_H

#include "client/config.h"

enum { LKI_CONFIG_FILES = 2 };

/*
 * Reads the user's file and the system's, in this order, or in the place of both the one that
 * LATCHKEY_CONFIG names. One that is not there has no path. LK_INVALID: a file cannot be read, or
 * something in it, as "file:line: what"; or others may read the password in it · LK_NOMEM.
 */
lk_status lki_config_files_read(lki_config out[LKI_CONFIG_FILES], lki_error *);

/* Tests: a file in the place of the system's. */
void lki_config_system_at(const char *path);

/*
 * Reads a password: the only line of that file. LK_INVALID, in a sentence that begins with `where`:
 * it cannot be read, others may read it, or it is no password · LK_NOMEM.
 */
lk_status lki_password_file_read(const char *path, const char *where, char **password, lki_error *);

#endif
