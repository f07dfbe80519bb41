/*
 * Interned texts: a lock's owners and its groups. Equal texts are one name, so that comparing is
 * comparing pointers, and what is counted by owner or by group is counted in the name.
 *
 * An owner that is the text of a handle, as it is by default (SPEC 1.3), is kept in 22 bytes
 * instead of 45, whether it was given or left out.
 */
#ifndef LKI_NAMES_H
#define LKI_NAMES_H

#include "handle.h"
#include "tree.h"

typedef struct {
    lki_node node;
    uint32_t references;
    uint32_t count; /* of an owner: its holds; of a group: its holds with reads */
    uint8_t length, room;
    bool is_handle;
    char bytes[];
} lki_name;

typedef struct {
    lki_tree tree;
    lki_name *spare; /* one kept for the next name */
} lki_names;

enum { LKI_HANDLE_PACKED = 22 };

typedef struct {
    const char *bytes;
    uint8_t length;
    bool is_handle;
} lki_name_key;

/* `packed` is room for the key's bytes, where it needs any. */
lki_name_key lki_owner_key(lki_text owner, const lki_handle *, char packed[LKI_HANDLE_PACKED]);
lki_name_key lki_group_key(lki_text group);

void lki_names_init(lki_names *);
void lki_names_free(lki_lock *, lki_names *); /* when nobody refers to any */

lki_name *lki_names_find(const lki_names *, const lki_name_key *);

/* Both add a reference. `take` makes the name if need be; NULL when memory runs out. */
lki_name *lki_names_take(lki_lock *, lki_names *, const lki_name_key *);
lki_name *lki_name_share(lki_name *);
void lki_names_give(lki_lock *, lki_names *, lki_name *);

/* The name's own bytes, or a handle's text printed into `room`. */
lki_text lki_name_text(const lki_name *, char room[LKI_HANDLE_LENGTH + 1]);

#endif
