/* A hash table: the handles of a client, by their number. */
#ifndef LKI_TABLE_H
#define LKI_TABLE_H

#include "latchkey.h"

typedef struct {
    lk_lock **buckets;
    size_t room, count; /* room is a power of 2 */
} lki_table;

bool lki_table_add(lki_table *, lk_lock *); /* false: out of memory */
void lki_table_remove(lki_table *, lk_lock *);
lk_lock *lki_table_find(const lki_table *, uint64_t number);
void lki_table_free(lki_table *);

/* The handle after this one, or NULL. For the first, pass NULL. Do not add handles meanwhile. */
lk_lock *lki_table_next(const lki_table *, const lk_lock *);

#endif
