/* The slots of a cluster: each key belongs to one of them. Knows no server. */
#ifndef LKI_SLOT_H
#define LKI_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LKI_SLOTS = 16384 };

unsigned lki_slot_of(const char *key, size_t length);

/* A set of slots. All bytes 0: the empty set. */
typedef struct {
    uint64_t words[LKI_SLOTS / 64];
} lki_slots;

void lki_slots_add(lki_slots *, unsigned slot);
void lki_slots_add_all(lki_slots *);
/* Adds the slots that both sets have. */
void lki_slots_add_common(lki_slots *, const lki_slots *, const lki_slots *);
unsigned lki_slots_first_missing(const lki_slots *); /* LKI_SLOTS: none is missing */

#endif
