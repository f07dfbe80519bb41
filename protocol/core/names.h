/*
 * Interned texts: a lock's owners and its groups. Equal texts are one name, so that comparing is
 * comparing pointers, and what is counted by owner or by group is counted in the name.
 *
 * An owner that is the text of a handle, as it is by default (SPEC 1.3), is kept in 22 bytes
 * instead of 45, whether it was given or left out.
 */
#ifndef LKC_NAMES_H
#define LKC_NAMES_H

#include "handle.h"
#include "tree.h"

typedef struct {
    lkc_node node;
    uint32_t references;
    uint32_t count; /* of an owner: its holds; of a group: its holds with reads */
    uint8_t length, room;
    bool is_handle;
    char bytes[];
} lkc_name;

typedef struct {
    lkc_tree tree;
    lkc_name *spare; /* one kept for the next name */
} lkc_names;

enum { LKC_HANDLE_PACKED = 22 };

typedef struct {
    const char *bytes;
    uint8_t length;
    bool is_handle;
} lkc_name_key;

/* `packed` is room for the key's bytes, where it needs any. */
lkc_name_key lkc_owner_key(lkc_text owner, const lkc_handle *, char packed[LKC_HANDLE_PACKED]);
lkc_name_key lkc_group_key(lkc_text group);

void lkc_names_init(lkc_names *);
void lkc_names_free(lkc_lock *, lkc_names *); /* when nobody refers to any */

lkc_name *lkc_names_find(const lkc_names *, const lkc_name_key *);

/* Both add a reference. `take` makes the name if need be; NULL when memory runs out. */
lkc_name *lkc_names_take(lkc_lock *, lkc_names *, const lkc_name_key *);
lkc_name *lkc_name_share(lkc_name *);
void lkc_names_give(lkc_lock *, lkc_names *, lkc_name *);

/* The name's own bytes, or a handle's text printed into `room`. */
lkc_text lkc_name_text(const lkc_name *, char room[LKC_HANDLE_LENGTH + 1]);

#endif
