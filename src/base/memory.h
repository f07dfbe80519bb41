/* Memory of the library. NULL means that there is none; nothing here ends the program. */
#ifndef LKI_CLIENT_MEMORY_H
#define LKI_CLIENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *lki_new(size_t size); /* zeroed */
void *lki_resize(void *, size_t size);
char *lki_copy(const char *text); /* NULL stays NULL: see lki_copy_to */
void lki_free(void *);

/* Copies an optional text. False: out of memory. */
bool lki_copy_to(char **out, const char *text);

/* Tests make allocations fail: asked before each one, on any thread. NULL: none is refused. */
void lki_memory_refuse(bool (*refuses)(void));

#endif
