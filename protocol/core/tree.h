/*
 * An ordered tree of nodes that are members of other structs. It knows the rank of a node, that is
 * how many nodes come before it. Every function costs O(log n), and none allocates.
 *
 * The tree stores no keys. Its callers pass one, and the tree's `compare` compares it with a node.
 * No two nodes of a tree may compare equal, and the key of a node must not change while it is in a
 * tree.
 */
#ifndef LKC_TREE_H
#define LKC_TREE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lkc_node {
    struct lkc_node *left, *right;
    size_t size; /* of the subtree below and with this node */
} lkc_node;

/* Below 0, 0, above 0: the key comes before that of the node, is the same, comes after it. */
typedef int lkc_node_compare(const void *key, const lkc_node *);

typedef struct {
    lkc_node *root;
    lkc_node_compare *compare;
} lkc_tree;

#define LKC_NODE_OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline size_t lkc_tree_size(const lkc_tree *tree) {
    return tree->root ? tree->root->size : 0;
}

/* NULL when there is none. */
lkc_node *lkc_tree_head(const lkc_tree *);
lkc_node *lkc_tree_tail(const lkc_tree *);
lkc_node *lkc_tree_at(const lkc_tree *, size_t index);
lkc_node *lkc_tree_find(const lkc_tree *, const void *key);

/* How many nodes come before the key, which need not be in the tree. */
size_t lkc_tree_rank(const lkc_tree *, const void *key);

void lkc_tree_insert(lkc_tree *, const void *key, lkc_node *);
void lkc_tree_erase(lkc_tree *, const void *key, const lkc_node *);

/* For tests: whether all sizes are right and the tree is balanced. */
bool lkc_tree_is_sound(const lkc_tree *);

#endif
