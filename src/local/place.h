/* Where the folder of the private server is, by the environment. Opens and makes nothing. */
#ifndef LKI_LOCAL_PLACE_H
#define LKI_LOCAL_PLACE_H

#include "base/error.h"

#include <stdbool.h>

/* The path of a file in the folder, to be freed with lki_free; NULL: out of memory. */
char *lki_place_join(const char *folder, const char *name);

/* Whether this is the folder that a user has without LATCHKEY_LOCAL_DIR. */
bool lki_place_is_default(const char *folder);

#endif
