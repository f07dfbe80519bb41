/* See walk_twin.h. */
#include "walk_twin.h"

/* Without fences and times: these differ between worlds that took different ways. */
static bool same_reply(const walk_request *a, const walk_request *b) {
    const lkc_reply *left = &a->reply, *right = &b->reply;
    return a->is_time || (left->answer == right->answer && left->place == right->place &&
                          left->flags == right->flags && left->reads == right->reads &&
                          left->writes == right->writes && left->count == right->count);
}

const char *twin_compare(walk_world *a, walk_world *b) {
    static walk_world saved_a, saved_b;
    walk_op ops[WALK_OPS_MOST], others[WALK_OPS_MOST];
    size_t count = world_ops(a, ops);
    const char *fault = NULL;
    if (world_ops(b, others) != count || memcmp(ops, others, count * sizeof *ops) != 0)
        return "two states with one digest have different operations (the core or walk_state.c is "
               "wrong)";
    saved_a = *a;
    saved_b = *b;
    for (size_t i = 0; i < count && !fault; i++) {
        walk_request of_a, of_b;
        world_run(a, ops[i], &of_a);
        world_run(b, ops[i], &of_b);
        walk_digest digest_a = state_digest(a), digest_b = state_digest(b);
        if (!same_reply(&of_a, &of_b))
            fault =
                "two states with one digest answer differently (the core or walk_state.c is wrong)";
        else if (memcmp(&digest_a, &digest_b, sizeof digest_a) != 0)
            fault =
                "two states with one digest go on differently (the core or walk_state.c is wrong)";
        *a = saved_a;
        *b = saved_b;
    }
    return fault;
}
