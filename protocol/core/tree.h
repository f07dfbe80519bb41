/*
 * An ordered tree of nodes that live inside their owners' structs. It knows how many nodes stand
 * before another (rank), costs O(log n) for everything, and never allocates.
 *
 * The tree knows no keys: whoever inserts, finds or erases passes one, and the tree's `compare`
 * puts it against a node. No two nodes of a tree may compare equal, and a node's key must not
 * change while it is in a tree.
 */
#ifndef LKI_TREE_H
#define LKI_TREE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lki_node {
    struct lki_node *left, *right;
    size_t size; /* of the subtree of which this node is the top */
} lki_node;

/* Below 0, 0 or above 0: the key comes before the node's, is the node's, comes after it. */
typedef int lki_node_compare(const void *key, const lki_node *);

typedef struct {
    lki_node *root;
    lki_node_compare *compare;
} lki_tree;

#define LKI_NODE_OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline size_t lki_tree_size(const lki_tree *tree) {
    return tree->root ? tree->root->size : 0;
}

/* NULL when there is none. */
lki_node *lki_tree_head(const lki_tree *);
lki_node *lki_tree_tail(const lki_tree *);
lki_node *lki_tree_at(const lki_tree *, size_t index);
lki_node *lki_tree_find(const lki_tree *, const void *key);

/* How many nodes come before the key, which need not be in the tree. */
size_t lki_tree_rank(const lki_tree *, const void *key);

void lki_tree_insert(lki_tree *, const void *key, lki_node *);
void lki_tree_erase(lki_tree *, const void *key, const lki_node *);

/* For tests: are all sizes right, and is the tree balanced? */
bool lki_tree_is_sound(const lki_tree *);

#endif
