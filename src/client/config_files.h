/* Finds and reads the configuration files. Does not know what takes precedence over them. */
#ifndef LKI_CONFIG_FILES_H
#define LKI_CONFIG_FILES_H

#include "client/config.h"

enum { LKI_CONFIG_FILES = 2 };

/*
 * Reads the user's file and the system's file, in this order. With LATCHKEY_CONFIG, reads only the
 * file of that name. A file that does not exist has path NULL in `out`. LK_INVALID: a file cannot
 * be read, is not valid ("file:line: what"), or has a password that others can read · LK_NOMEM.
 */
lk_status lki_config_files_read(lki_config out[LKI_CONFIG_FILES], lki_error *);

/* For tests: uses this path for the system's file. */
void lki_config_system_at(const char *path);

/*
 * Reads a password, the only line of the file. LK_INVALID: it cannot be read, others can read it,
 * or it is not a password; the error begins with `where` · LK_NOMEM.
 */
lk_status lki_password_file_read(const char *path, const char *where, char **password, lki_error *);

#endif
