/* The tree against a model: a sorted array. */
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 400 };

typedef struct {
    lkc_node node;
    int key;
} item;

typedef struct {
    lkc_tree tree;
    item items[KEYS];
    int sorted[KEYS]; /* the model */
    size_t count;
} pair;

static int compare(const void *key, const lkc_node *node) {
    int a = *(const int *)key, b = LKC_NODE_OWNER(node, const item, node)->key;
    return (a > b) - (a < b);
}

static void pair_init(pair *p) {
    memset(p, 0, sizeof *p);
    p->tree.compare = compare;
    for (int i = 0; i < KEYS; i++)
        p->items[i].key = i;
}

static size_t model_rank(const pair *p, int key) {
    size_t rank = 0;
    while (rank < p->count && p->sorted[rank] < key)
        rank++;
    return rank;
}

static bool model_has(const pair *p, int key) {
    size_t rank = model_rank(p, key);
    return rank < p->count && p->sorted[rank] == key;
}

static void insert(pair *p, int key) {
    size_t rank = model_rank(p, key);
    memmove(p->sorted + rank + 1, p->sorted + rank, (p->count - rank) * sizeof *p->sorted);
    p->sorted[rank] = key;
    p->count++;
    lkc_tree_insert(&p->tree, &key, &p->items[key].node);
}

static void erase(pair *p, int key) {
    size_t rank = model_rank(p, key);
    p->count--;
    memmove(p->sorted + rank, p->sorted + rank + 1, (p->count - rank) * sizeof *p->sorted);
    lkc_tree_erase(&p->tree, &key, &p->items[key].node);
    memset(&p->items[key].node, 0xff, sizeof p->items[key].node); /* nobody may look at it again */
}

static void assert_node(const pair *p, const lkc_node *node, size_t index) {
    if (index >= p->count)
        assert_null(node);
    else
        assert_ptr_equal(node, &p->items[p->sorted[index]].node);
}

static void assert_same(const pair *p) {
    assert_true(lkc_tree_is_sound(&p->tree));
    assert_int_equal(lkc_tree_size(&p->tree), p->count);
    assert_node(p, lkc_tree_head(&p->tree), 0);
    assert_node(p, lkc_tree_tail(&p->tree), p->count - 1);
    for (size_t i = 0; i <= p->count; i++)
        assert_node(p, lkc_tree_at(&p->tree, i), i);
    for (int key = 0; key < KEYS; key++) {
        assert_int_equal(lkc_tree_rank(&p->tree, &key), model_rank(p, key));
        const lkc_node *found = lkc_tree_find(&p->tree, &key);
        assert_ptr_equal(found, model_has(p, key) ? &p->items[key].node : NULL);
    }
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Grows and shrinks in waves, so that all sizes are passed both ways. */
static void random_operations_agree_with_a_sorted_array(void **state) {
    (void)state;
    static pair p;
    uint32_t seed = 1;
    pair_init(&p);
    for (int step = 0; step < 40000; step++) {
        int key = (int)(next_random(&seed) % KEYS);
        bool grows = step / 2000 % 2 == 0;
        if (next_random(&seed) % 8 == 0)
            grows = !grows;
        if (grows && !model_has(&p, key))
            insert(&p, key);
        else if (!grows && p.count > 0)
            erase(&p, p.sorted[next_random(&seed) % p.count]);
        if (step % 16 == 0)
            assert_same(&p);
        assert_true(lkc_tree_is_sound(&p.tree));
    }
}

static void ascending_keys_keep_the_tree_balanced(void **state) {
    (void)state;
    static pair p;
    pair_init(&p);
    for (int key = 0; key < KEYS; key++) {
        insert(&p, key);
        assert_true(lkc_tree_is_sound(&p.tree));
    }
    assert_same(&p);
    while (p.count > 0) { /* as a queue goes: from its head */
        erase(&p, p.sorted[0]);
        assert_true(lkc_tree_is_sound(&p.tree));
    }
    assert_same(&p);
}

static void descending_keys_keep_the_tree_balanced(void **state) {
    (void)state;
    static pair p;
    pair_init(&p);
    for (int key = KEYS; key-- > 0;) {
        insert(&p, key);
        assert_true(lkc_tree_is_sound(&p.tree));
    }
    assert_same(&p);
    while (p.count > 0) {
        erase(&p, p.sorted[p.count - 1]);
        assert_true(lkc_tree_is_sound(&p.tree));
    }
}

static void the_root_can_be_erased_until_nothing_is_left(void **state) {
    (void)state;
    static pair p;
    pair_init(&p);
    for (int key = 0; key < KEYS; key++)
        insert(&p, key * 7 % KEYS);
    while (p.count > 0) {
        erase(&p, LKC_NODE_OWNER(p.tree.root, item, node)->key);
        assert_true(lkc_tree_is_sound(&p.tree));
    }
    assert_same(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_agree_with_a_sorted_array),
        cmocka_unit_test(ascending_keys_keep_the_tree_balanced),
        cmocka_unit_test(descending_keys_keep_the_tree_balanced),
        cmocka_unit_test(the_root_can_be_erased_until_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
