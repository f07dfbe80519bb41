/*
 * Detects a private /tmp, such as systemd gives a service with PrivateTmp. A private server in it
 * would not be the one that the other programs of the user share.
 */
#ifndef LKI_LOCAL_PRIVATE_TMP_H
#define LKI_LOCAL_PRIVATE_TMP_H

#include "base/error.h"

#include <stdbool.h>

/* Whether a path is in a private /tmp or /var/tmp; false if that cannot be found out. LK_NOMEM. */
lk_status lki_tmp_is_private(const char *path, bool *out, lki_error *);

/*
 * Whether a mount point is private, from the texts of /proc/self/mountinfo and /proc/1/mountinfo
 * (NULL: not readable). A mount is private if systemd made it for that purpose, or if process 1
 * does not have it. A bind mount of the folder onto itself is not private.
 */
bool lki_mount_is_private(const char *ours, const char *inits, const char *point);

#endif
