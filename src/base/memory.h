/* Memory of the library. NULL means out of memory; no function here ends the program. */
#ifndef LKI_CLIENT_MEMORY_H
#define LKI_CLIENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *lki_new(size_t size); /* zeroed */
void *lki_resize(void *, size_t size);
char *lki_copy(const char *text); /* also NULL if the text is NULL: see lki_copy_to */
void lki_free(void *);

/* Copies a text that may be NULL. False: out of memory. */
bool lki_copy_to(char **out, const char *text);

/*
 * For tests: `refuses` is called before each allocation, on its thread, and makes it fail by
 * returning true. NULL: no allocation is refused.
 */
void lki_memory_refuse(bool (*refuses)(void));

#endif
