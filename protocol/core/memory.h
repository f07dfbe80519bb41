/* The lock's memory, counted. Only acquire takes any (and lkc_lock_new). */
#ifndef LKC_MEMORY_H
#define LKC_MEMORY_H

#include "core.h"

void *lkc_memory_take(lkc_lock *, size_t size); /* NULL when there is none */
void lkc_memory_give(lkc_lock *, void *memory, size_t size);

#endif
