/* The slots of a cluster: each key belongs to one of them. Knows no server. */
#ifndef LKI_SLOT_H
#define LKI_SLOT_H

#include <stddef.h>

enum { LKI_SLOTS = 16384 };

unsigned lki_slot_of(const char *key, size_t length);

#endif
