/*
 * A weight-balanced tree: the sizes of subtrees, which ranks need, also keep it balanced, so a node
 * stores nothing else. The weight of a subtree is its size + 1. The weights of the two subtrees of a
 * node differ by a factor of at most HEAVIER. To restore this, a rotation is single if the inner
 * grandchild weighs less than INNER times the outer one, otherwise double. With the factors (3, 2)
 * this is proven to suffice after every insertion and erasure (Hirai and Yamamoto, Balancing
 * weight-balanced trees, 2011).
 */
#include "tree.h"

#include <assert.h>

enum { HEAVIER = 3, INNER = 2 };

/* A child has at most 3/4 of its parent's weight: 2^48 nodes are less than 117 deep. */
enum { DEPTH_MOST = 128 };

static size_t weight(const lkc_node *node) {
    return node ? node->size + 1 : 1;
}

static void resize(lkc_node *node) {
    node->size = weight(node->left) + weight(node->right) - 1;
}

static void rotate_left(lkc_node **link) {
    lkc_node *down = *link, *up = down->right;
    down->right = up->left;
    up->left = down;
    *link = up;
    resize(down);
    resize(up);
}

static void rotate_right(lkc_node **link) {
    lkc_node *down = *link, *up = down->left;
    down->left = up->right;
    up->right = down;
    *link = up;
    resize(down);
    resize(up);
}

/* The subtrees of the node are sound, and one of them has just grown or shrunk by one node. */
static void rebalance(lkc_node **link) {
    lkc_node *top = *link;
    size_t left = weight(top->left), right = weight(top->right);
    if (right > HEAVIER * left) {
        if (weight(top->right->left) >= INNER * weight(top->right->right))
            rotate_right(&top->right);
        rotate_left(link);
    } else if (left > HEAVIER * right) {
        if (weight(top->left->right) >= INNER * weight(top->left->left))
            rotate_left(&top->left);
        rotate_right(link);
    } else {
        top->size = left + right - 1;
    }
}

lkc_node *lkc_tree_head(const lkc_tree *tree) {
    lkc_node *node = tree->root;
    while (node && node->left)
        node = node->left;
    return node;
}

lkc_node *lkc_tree_tail(const lkc_tree *tree) {
    lkc_node *node = tree->root;
    while (node && node->right)
        node = node->right;
    return node;
}

lkc_node *lkc_tree_at(const lkc_tree *tree, size_t index) {
    lkc_node *node = tree->root;
    while (node) {
        size_t before = weight(node->left) - 1;
        if (index == before)
            return node;
        if (index < before) {
            node = node->left;
        } else {
            index -= before + 1;
            node = node->right;
        }
    }
    return NULL;
}

lkc_node *lkc_tree_find(const lkc_tree *tree, const void *key) {
    lkc_node *node = tree->root;
    while (node) {
        int side = tree->compare(key, node);
        if (side == 0)
            return node;
        node = side < 0 ? node->left : node->right;
    }
    return NULL;
}

size_t lkc_tree_rank(const lkc_tree *tree, const void *key) {
    size_t before = 0;
    const lkc_node *node = tree->root;
    while (node) {
        if (tree->compare(key, node) <= 0) {
            node = node->left;
        } else {
            before += weight(node->left);
            node = node->right;
        }
    }
    return before;
}

void lkc_tree_insert(lkc_tree *tree, const void *key, lkc_node *node) {
    lkc_node **path[DEPTH_MOST], **link = &tree->root;
    size_t depth = 0;
    while (*link) {
        int side = tree->compare(key, *link);
        assert(side != 0 && depth < DEPTH_MOST);
        path[depth++] = link;
        link = side < 0 ? &(*link)->left : &(*link)->right;
    }
    *node = (lkc_node){.size = 1};
    *link = node;
    while (depth > 0)
        rebalance(path[--depth]);
}

void lkc_tree_erase(lkc_tree *tree, const void *key, const lkc_node *node) {
    lkc_node **path[DEPTH_MOST], **link = &tree->root;
    size_t depth = 0;
    while (*link != node) {
        assert(*link && depth < DEPTH_MOST);
        path[depth++] = link;
        link = tree->compare(key, *link) < 0 ? &(*link)->left : &(*link)->right;
    }
    if (node->left && node->right) {
        /* The next node takes the place of this one, in the tree and in the path. */
        lkc_node **place = link;
        size_t below = depth + 1;
        path[depth++] = link;
        for (link = &(*place)->right; (*link)->left; link = &(*link)->left) {
            assert(depth < DEPTH_MOST);
            path[depth++] = link;
        }
        lkc_node *next = *link;
        *link = next->right;
        next->left = node->left;
        next->right = node->right;
        *place = next;
        if (below < depth)
            path[below] = &next->right;
    } else {
        *link = node->left ? node->left : node->right;
    }
    while (depth > 0)
        rebalance(path[--depth]);
}

static bool is_sound(const lkc_node *node) {
    if (!node)
        return true;
    size_t left = weight(node->left), right = weight(node->right);
    return node->size == left + right - 1 && left <= HEAVIER * right && right <= HEAVIER * left &&
           is_sound(node->left) && is_sound(node->right);
}

bool lkc_tree_is_sound(const lkc_tree *tree) {
    return is_sound(tree->root);
}
