/* The lock's memory, counted. Only acquire takes any (and lki_lock_new). */
#ifndef LKI_MEMORY_H
#define LKI_MEMORY_H

#include "core.h"

void *lki_memory_take(lki_lock *, size_t size); /* NULL when there is none */
void lki_memory_give(lki_lock *, void *memory, size_t size);

#endif
