/* What INFO says, by field. Pure text work. */
#ifndef LKI_NET_INFO_H
#define LKI_NET_INFO_H

#include <stdbool.h>

/* What stands behind `field`, which ends with its colon, up to the end of the line or of the text;
 * NULL if it is not there. */
const char *lki_info_field(const char *info, const char *field);

/* "standalone", "cluster" or "sentinel", up to the end of the line; NULL if it is not there. */
const char *lki_info_mode(const char *info);

/* Whether a redis_version is one that locks can be kept on: 6.2 or newer. */
bool lki_info_is_supported(const char *version);

#endif
