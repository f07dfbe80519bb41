/* Where the folder of the private server is, by the environment. Opens and makes nothing. */
#ifndef LKI_LOCAL_PLACE_H
#define LKI_LOCAL_PLACE_H

#include "base/error.h"

/* The path of a file in the folder, to be freed with lki_free; NULL: out of memory. */
char *lki_place_join(const char *folder, const char *name);

#endif
