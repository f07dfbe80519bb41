/*
 * Whether the /tmp that this process sees is one of its own. systemd gives a service with
 * PrivateTmp such a /tmp: a private server in it is another one than that of the same user's other
 * programs.
 */
#ifndef LKI_LOCAL_PRIVATE_TMP_H
#define LKI_LOCAL_PRIVATE_TMP_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Whether a path lies in a /tmp or /var/tmp of this process's own; false where nobody can tell.
 * LK_NOMEM.
 */
lk_status lki_tmp_is_private(const char *path, bool *out, lki_error *);

/*
 * The same of a mount point, by the texts of /proc/self/mountinfo and /proc/1/mountinfo (NULL: it
 * cannot be read). Private is a mount that systemd has made as such, and one that process 1 does not
 * have; a mount of the folder onto itself is not.
 */
bool lki_mount_is_private(const char *ours, const char *inits, const char *point);

#endif
