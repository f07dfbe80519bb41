/*
 * Every allocation fails once. A long random script is run on two locks; one of them is refused
 * memory at every point where it asks for it, and must be as if it had not been asked: the same
 * answers, events and rows as its twin after every step.
 */
#include "core_transcript.h"

enum { HANDLES = 8, STEPS = 6000 };

typedef struct {
    size_t blocks, bytes;
    size_t asked, refuse_at; /* the how-manieth request is refused; 0: none is */
} heap;

/* Each block knows its size, so that the lock's own sum can be compared. */
typedef union {
    size_t size;
    max_align_t align;
} header;

static void *allocate(size_t size, void *context) {
    heap *from = context;
    if (++from->asked == from->refuse_at)
        return NULL;
    header *block = malloc(sizeof *block + size);
    assert_non_null(block);
    block->size = size;
    from->blocks++;
    from->bytes += size;
    memset(block + 1, 0xa5, size); /* nobody may count on zeros */
    return block + 1;
}

static void release(void *memory, void *context) {
    heap *to = context;
    header *block = (header *)memory - 1;
    to->blocks--;
    to->bytes -= block->size;
    free(block);
}

typedef struct {
    heap heap;
    lkc_lock *lock;
    transcript said;  /* the last reply */
    transcript shown; /* inspect, expiry and events after it */
} twin;

static void twin_init(twin *t) {
    memset(t, 0, sizeof *t);
    lkc_allocator allocator = {allocate, release, &t->heap};
    t->lock = lkc_lock_new(&allocator);
    assert_non_null(t->lock);
}

static void show_event(const lkc_event *event, void *context) {
    char line[LKC_EVENT_LINE_MOST];
    size_t length = lkc_event_print(event, line);
    transcript_add(context, "\n", 1);
    transcript_add(context, line, length);
}

static void show(twin *t, uint64_t now_us) {
    assert_true(transcript_run(&t->shown, t->lock, now_us, LKC_OP_INSPECT, "100000"));
    transcript_integer(lkc_lock_expires_ms(t->lock), &t->shown);
    assert_int_equal(lkc_lock_memory(t->lock), t->heap.bytes);
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

typedef struct {
    uint64_t now_us;
    uint32_t seed;
    uint64_t req;
    lkc_op op;
    char line[512];
} script;

static unsigned pick(script *s, unsigned count) {
    return next_random(&s->seed) % count;
}

/* The fence of a handle's hold, as inspect shows it in a row: `[handle … fence provisional who]`.
 */
static uint64_t fence_in(const char *rows, const char *handle) {
    unsigned reads, writes;
    uint64_t fence, left_ms, held_ms;
    char row[64], owner[160], group[80];
    snprintf(row, sizeof row, "[%s ", handle);
    const char *at = strstr(rows, row);
    if (!at || sscanf(at + strlen(row), "%159s %79s %u %u %" SCNu64 " %" SCNu64 " %" SCNu64, owner,
                      group, &reads, &writes, &left_ms, &held_ms, &fence) != 7)
        return 0;
    return fence;
}

/* The next operation; mostly one that makes sense for what `rows` shows. */
static void next_step(script *s, const char *rows) {
    static const char *const modes[] = {"read", "write"};
    static const char *const policies[] = {"fair", "phase-fair", "prefer-writer", "prefer-reader"};
    static const char *const owners[] = {"", "", "", "job-1",
                                         "a-rather-long-owner-that-no-spare-name-has-room-for"};
    static const char *const groups[] = {"", "", "g", "a-rather-long-group-of-readers-indeed"};
    static const char *const whos[] = {"", "4242", "a-who-that-is-longer-than-the-room-of-a-spare"};
    static const uint64_t steps[] = {0, 1, 1000, 50000, 700000, 4000000};
    char handle[LKC_HANDLE_LENGTH + 1];
    snprintf(handle, sizeof handle, "0123456789abcdef0123456789abcdef-%012x", pick(s, HANDLES));
    uint64_t fence = fence_in(rows, handle);
    if (pick(s, 400) == 0)
        s->now_us += UINT64_C(4000000000);
    s->now_us += steps[pick(s, 6)];
    s->req++;
    unsigned what = pick(s, 10);
    const char *mode = modes[pick(s, 2)];
    if (what < 6) {
        s->op = LKC_OP_ACQUIRE;
        snprintf(s->line, sizeof s->line, "%s %" PRIu64 " %" PRIu64 " %s 1 %u %s 0 %s %s %s",
                 handle, s->req, fence, mode, 500 + pick(s, 20000), policies[pick(s, 4)],
                 owners[pick(s, 5)], groups[pick(s, 4)], whos[pick(s, 3)]);
    } else if (what < 8) {
        s->op = LKC_OP_RELEASE;
        snprintf(s->line, sizeof s->line, "%s %" PRIu64 " %" PRIu64 " %s %d", handle, s->req, fence,
                 mode, what == 6);
    } else if (what == 8) {
        s->op = LKC_OP_RENEW;
        snprintf(s->line, sizeof s->line, "%s %" PRIu64 " 1 5000", handle, fence);
    } else {
        s->op = pick(s, 8) ? LKC_OP_CONVERT : LKC_OP_FORCE;
        if (s->op == LKC_OP_FORCE)
            snprintf(s->line, sizeof s->line, "%s", owners[pick(s, 5)]);
        else
            snprintf(s->line, sizeof s->line, "%s %" PRIu64 " %" PRIu64, handle, s->req, fence);
    }
}

/* Fails each request for memory that the step makes, one after the other. Returns how many. */
static size_t refuse_all(twin *t, const script *s) {
    static char before[TRANSCRIPT_MOST];
    size_t refused = 0;
    show(t, s->now_us);
    memcpy(before, t->shown.text, t->shown.length + 1);
    t->heap.refuse_at = t->heap.asked + 1;
    while (!transcript_run(&t->said, t->lock, s->now_us, s->op, s->line)) {
        assert_string_equal(t->said.text, "");
        refused++;
        show(t, s->now_us);
        assert_string_equal(t->shown.text, before);
        lkc_lock_events(t->lock, show_event, &t->shown);
        assert_string_equal(t->shown.text, before); /* it has nothing to tell */
        /* What it got is mostly kept as a spare, and not asked for again: so twice the same. */
        t->heap.refuse_at = t->heap.asked + 1 + (refused + 1) / 2;
    }
    t->heap.refuse_at = 0;
    return refused;
}

static void memory_that_runs_out_changes_nothing(void **state) {
    static twin refused, plain;
    script s = {.now_us = UINT64_C(1700000000000000), .seed = 7};
    size_t refusals = 0, most = 0;
    (void)state;
    twin_init(&refused);
    twin_init(&plain);
    for (int step = 0; step < STEPS; step++) {
        show(&plain, s.now_us);
        next_step(&s, plain.shown.text);
        assert_true(transcript_run(&plain.said, plain.lock, s.now_us, s.op, s.line));
        size_t count = refuse_all(&refused, &s);
        refusals += count;
        most = count > most ? count : most;
        assert_string_equal(refused.said.text, plain.said.text);
        twin *both[] = {&refused, &plain};
        for (size_t i = 0; i < 2; i++) {
            const char *fault = lkc_lock_check(both[i]->lock, s.now_us);
            assert_string_equal(fault ? fault : "", "");
            show(both[i], s.now_us);
            lkc_lock_events(both[i]->lock, show_event, &both[i]->shown);
        }
        assert_string_equal(refused.shown.text, plain.shown.text);
    }
    assert_true(refusals > STEPS / 4);
    assert_true(most >= 3); /* a record, an owner and a group, in one step */
    lkc_lock_free(refused.lock);
    lkc_lock_free(plain.lock);
    assert_int_equal(refused.heap.blocks, 0);
    assert_int_equal(plain.heap.blocks, 0);
}

static void a_lock_that_gets_no_memory_is_not_made(void **state) {
    heap nothing = {.refuse_at = 1};
    lkc_allocator allocator = {allocate, release, &nothing};
    (void)state;
    assert_null(lkc_lock_new(&allocator));
    lkc_lock_free(NULL);
}

static void an_idle_lock_keeps_no_more_than_one_of_each(void **state) {
    static twin t;
    const uint64_t now_us = UINT64_C(1700000000000000);
    char line[160];
    (void)state;
    twin_init(&t);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(line, sizeof line,
                 "0123456789abcdef0123456789abcdef-%012x 1 0 read 1 500 fair 0   ", i);
        assert_true(transcript_run(&t.said, t.lock, now_us, LKC_OP_ACQUIRE, line));
    }
    assert_true(t.heap.blocks > 200);
    assert_true(transcript_run(&t.said, t.lock, now_us + 500000, LKC_OP_FORCE, ""));
    assert_int_equal(lkc_lock_expires_ms(t.lock), 0);
    assert_int_equal(t.heap.blocks, 4); /* the lock, a record, an owner, a group */
    lkc_lock_free(t.lock);
    assert_int_equal(t.heap.blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_runs_out_changes_nothing),
        cmocka_unit_test(a_lock_that_gets_no_memory_is_not_made),
        cmocka_unit_test(an_idle_lock_keeps_no_more_than_one_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
