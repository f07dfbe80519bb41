/*
 * Comparing handles, and interned texts: the owners and groups of a lock. Equal texts are one name.
 * So two owners are compared by their pointers, and the holds of an owner or group are counted in
 * its name.
 *
 * By default an owner is the text of its handle (SPEC 1.3). A name keeps such an owner as 22 bytes
 * instead of 45, whether the request gave the text or left it out.
 */
#ifndef LKC_NAMES_H
#define LKC_NAMES_H

#include "core.h"
#include "tree.h"

#include <string.h>

static inline int lkc_handle_compare(const lkc_handle *a, const lkc_handle *b) {
    int clients = memcmp(a->client, b->client, sizeof a->client);
    return clients ? clients : (a->number > b->number) - (a->number < b->number);
}

static inline bool lkc_handle_is(const lkc_handle *a, const lkc_handle *b) {
    return a->number == b->number && memcmp(a->client, b->client, sizeof a->client) == 0;
}

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
    lkc_name *spare; /* kept for the next name; or NULL */
} lkc_names;

enum { LKC_HANDLE_PACKED = 22 };

typedef struct {
    const char *bytes;
    uint8_t length;
    bool is_handle;
} lkc_name_key;

/* An owner that is a handle is packed into `packed`, and the key points there. */
lkc_name_key lkc_owner_key(lkc_text owner, const lkc_handle *, char packed[LKC_HANDLE_PACKED]);
lkc_name_key lkc_group_key(lkc_text group);

void lkc_names_init(lkc_names *);
void lkc_names_free(lkc_lock *, lkc_names *); /* no record may refer to a name */

lkc_name *lkc_names_find(const lkc_names *, const lkc_name_key *);

/* Both add a reference. `take` adds a name that is not there yet; NULL when memory runs out. */
lkc_name *lkc_names_take(lkc_lock *, lkc_names *, const lkc_name_key *);
lkc_name *lkc_name_share(lkc_name *);
void lkc_names_give(lkc_lock *, lkc_names *, lkc_name *);

/* The name's own bytes, or a handle's text printed into `room`. */
lkc_text lkc_name_text(const lkc_name *, char room[LKC_HANDLE_LENGTH + 1]);

#endif
