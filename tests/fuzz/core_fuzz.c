/*
 * Fuzzes the core: bytes become operations of a few handles, owners and groups on one lock, moves
 * of the clock in both directions, and memory that runs out. After each operation the invariants of
 * SPEC 12 must hold, and what inspect shows must agree with the answer, the events and the rules of
 * SPEC 2, which are applied here to the rows themselves.
 */
#include "core.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HANDLES = 6, ROWS_MOST = HANDLES, TEXTS_MOST = 4, RAW_MOST = 12 };
enum { ACQUIRE = 0, RENEW_FIRST = 8, RENEW_END = 10, CANCEL = 11 }; /* bytes for operations */

#define START_US UINT64_C(1700000000000000)
#define DAY_US UINT64_C(86400000000)
#define LIVENESS_US UINT64_C(10000000) /* SPEC 5.6: no client misses a grant for longer */

#define EXPECT(condition)                                                   \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

/* Input. */

typedef struct {
    const uint8_t *bytes;
    size_t left;
} input;

static uint8_t take(input *in) {
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->bytes++;
}

/* Memory, which can be made to run out. */

typedef struct {
    size_t blocks;
    bool refuses;
    bool refused;
} heap;

static void *allocate(size_t size, void *context) {
    heap *from = context;
    if (from->refuses) {
        from->refused = true;
        return NULL;
    }
    from->blocks++;
    return malloc(size);
}

static void release(void *memory, void *context) {
    ((heap *)context)->blocks--;
    free(memory);
}

/* What inspect shows. */

typedef struct {
    lkc_info info;
    lkc_hold_row holds[ROWS_MOST];
    lkc_waiter_row waiters[ROWS_MOST + 1];
    size_t hold_count, waiter_count;
    uint64_t expires_ms;
    char texts[2 * ROWS_MOST + 1][3][256];
    size_t text_count;
} picture;

static void keep(picture *p, lkc_text *owner, lkc_text *group, lkc_text *who) {
    lkc_text *texts[] = {owner, group, who};
    EXPECT(p->text_count < 2 * ROWS_MOST + 1);
    for (size_t i = 0; i < 3; i++) {
        EXPECT(texts[i]->length <= 255);
        if (texts[i]->length > 0)
            memcpy(p->texts[p->text_count][i], texts[i]->bytes, texts[i]->length);
        texts[i]->bytes = p->texts[p->text_count][i];
    }
    p->text_count++;
}

static void on_hold(const lkc_hold_row *row, void *context) {
    picture *p = context;
    EXPECT(p->hold_count < ROWS_MOST);
    lkc_hold_row *copy = &p->holds[p->hold_count++];
    *copy = *row;
    keep(p, &copy->owner, &copy->group, &copy->who);
}

static void on_waiter(const lkc_waiter_row *row, void *context) {
    picture *p = context;
    EXPECT(p->waiter_count < ROWS_MOST + 1);
    lkc_waiter_row *copy = &p->waiters[p->waiter_count++];
    *copy = *row;
    keep(p, &copy->owner, &copy->group, &copy->who);
}

static void look(const lkc_lock *lock, uint64_t now_us, picture *p) {
    memset(p, 0, sizeof *p);
    lkc_lock_inspect(lock, now_us, SIZE_MAX, &p->info, on_hold, on_waiter, p);
    p->expires_ms = lkc_lock_expires_ms(lock);
    EXPECT(p->info.holders == p->hold_count && p->info.waiters == p->waiter_count);
}

static bool same_text(lkc_text a, lkc_text b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static bool same_handle(const lkc_handle *a, const lkc_handle *b) {
    return memcmp(a->client, b->client, sizeof a->client) == 0 && a->number == b->number;
}

static const lkc_hold_row *hold_of(const picture *p, const lkc_handle *handle) {
    for (size_t i = 0; i < p->hold_count; i++)
        if (same_handle(&p->holds[i].handle, handle))
            return &p->holds[i];
    return NULL;
}

static const lkc_waiter_row *waiter_of(const picture *p, const lkc_handle *handle) {
    for (size_t i = 0; i < p->waiter_count; i++)
        if (same_handle(&p->waiters[i].handle, handle))
            return &p->waiters[i];
    return NULL;
}

static void expect_same(const picture *a, const picture *b) {
    EXPECT(a->info.alive == b->info.alive && a->info.policy == b->info.policy);
    EXPECT(a->info.fence == b->info.fence && a->info.abandoned == b->info.abandoned);
    EXPECT(a->expires_ms == b->expires_ms);
    EXPECT(a->hold_count == b->hold_count && a->waiter_count == b->waiter_count);
    for (size_t i = 0; i < a->hold_count; i++) {
        const lkc_hold_row *x = &a->holds[i], *y = &b->holds[i];
        EXPECT(same_handle(&x->handle, &y->handle) && x->fence == y->fence);
        EXPECT(x->reads == y->reads && x->writes == y->writes && x->left_ms == y->left_ms);
        EXPECT(x->held_ms == y->held_ms && x->provisional == y->provisional);
        EXPECT(same_text(x->owner, y->owner) && same_text(x->group, y->group));
        EXPECT(same_text(x->who, y->who));
    }
    for (size_t i = 0; i < a->waiter_count; i++) {
        const lkc_waiter_row *x = &a->waiters[i], *y = &b->waiters[i];
        EXPECT(same_handle(&x->handle, &y->handle) && x->req == y->req && x->mode == y->mode);
        EXPECT(x->left_ms == y->left_ms && x->waited_ms == y->waited_ms);
        EXPECT(same_text(x->owner, y->owner) && same_text(x->group, y->group));
        EXPECT(same_text(x->who, y->who));
    }
}

/* SPEC 2, for a request beside all holds of other owners. */
static bool may_hold(const picture *p, lkc_text owner, lkc_text group, bool writes) {
    for (size_t i = 0; i < p->hold_count; i++) {
        const lkc_hold_row *other = &p->holds[i];
        if (same_text(other->owner, owner))
            continue;
        if (writes || other->writes > 0 || !same_text(other->group, group))
            return false;
    }
    return true;
}

static void expect_rules(const picture *p) {
    for (size_t i = 0; i < p->hold_count; i++) {
        const lkc_hold_row *hold = &p->holds[i];
        EXPECT(may_hold(p, hold->owner, hold->group, hold->writes > 0));
        EXPECT(i == 0 || p->holds[i - 1].left_ms <= hold->left_ms);
    }
    for (size_t i = 0; i < p->waiter_count; i++) {
        const lkc_waiter_row *waiter = &p->waiters[i];
        bool writes = waiter->mode != LKC_WAITS_READ;
        EXPECT(i > 0 || !may_hold(p, waiter->owner, waiter->group, writes)); /* SPEC 12.4 */
        EXPECT(i == 0 || waiter->mode != LKC_WAITS_UPGRADE);                 /* SPEC 4.2 */
    }
}

/* The lock under test, and those who use it. */

typedef struct {
    heap memory;
    lkc_lock *lock;
    uint64_t now_us;
    uint64_t reqs[HANDLES];        /* the last number that each has used */
    uint64_t queued_reqs[HANDLES]; /* the number with which each was last queued */
    lkc_event grants[HANDLES];     /* the last grant that each was told of */
} world;

/* Two clients, so that messages share a client; handles in no order. */
static lkc_handle handle_at(size_t i) {
    lkc_handle handle = {.number = (i * 5 + 3) % 7};
    memset(handle.client, i % 2 ? 0xab : 0x12, sizeof handle.client);
    return handle;
}

static const lkc_text owners[TEXTS_MOST] = {
    {"", 0}, {"a", 1}, {"bb", 2}, {"abababababababababababababababab-000000000001", 45}};
static const lkc_text groups[TEXTS_MOST] = {{"", 0}, {"", 0}, {"g", 1}, {"hh", 2}};
static const lkc_text whos[TEXTS_MOST] = {
    {"", 0},
    {"4242 db1 billing", 16},
    {"1 a b", 5},
    {"4242 a-host-with-a-rather-long-name.example.net application", 59}};
static const uint32_t leases[] = {100, 500, 1500, 30000, LKC_LEASE_MOST_MS};

static void move_clock(world *w, uint8_t how) {
    static const uint64_t steps[] = {0,       1,       999,      1000,     100000,     500000,
                                     1000000, 2000000, 10000000, 30000000, 3600000000, 90000000000};
    uint64_t step = steps[how % (sizeof steps / sizeof *steps)];
    if (how < 200)
        w->now_us += step;
    else
        w->now_us -= step % 5000000;
}

/* Events. */

typedef struct {
    world *w;
    const picture *after;
    lkc_event_kind kind; /* of the last one */
    size_t watches, granted;
} hearing;

static void on_event(const lkc_event *event, void *context) {
    hearing *heard = context;
    char line[LKC_EVENT_LINE_MOST];
    EXPECT(lkc_event_print(event, line) < sizeof line);
    EXPECT(heard->kind != LKC_EVENT_WATCH && event->time_us == heard->w->now_us);
    heard->kind = event->kind;
    const picture *p = heard->after;
    if (event->kind == LKC_EVENT_WATCH) {
        EXPECT(heard->watches++ == 0 && p->waiter_count > 0);
        EXPECT(same_handle(&p->waiters[0].handle, &event->handle));
        EXPECT(p->waiters[0].req == event->req && event->ms > 0);
    } else {
        EXPECT(event->fence > 0);
        heard->granted += event->kind == LKC_EVENT_GRANTED;
    }
    for (size_t i = 0; i < HANDLES && event->kind == LKC_EVENT_GRANTED; i++) {
        lkc_handle handle = handle_at(i);
        if (same_handle(&handle, &event->handle))
            heard->w->grants[i] = *event;
    }
}

/* Everything that must hold after an operation, whatever it was. */
static void expect_all(world *w, picture *after) {
    const char *fault = lkc_lock_check(w->lock, w->now_us);
    if (fault) {
        fprintf(stderr, "%s\n", fault);
        abort();
    }
    look(w->lock, w->now_us, after);
    expect_rules(after);
    bool nothing = !after->info.alive && !after->info.abandoned && after->info.fence == 0;
    EXPECT((after->expires_ms == 0) == nothing);
    EXPECT(after->expires_ms == 0 || after->expires_ms * 1000 > w->now_us);
    hearing heard = {.w = w, .after = after};
    lkc_lock_events(w->lock, on_event, &heard);
}

static void expect_answer(const lkc_handle *handle, uint64_t req, const lkc_reply *reply,
                          const picture *after) {
    const lkc_hold_row *hold = hold_of(after, handle);
    const lkc_waiter_row *waiter = waiter_of(after, handle);
    if (reply->answer == LKC_GRANTED) {
        EXPECT(hold && hold->fence == reply->fence && hold->left_ms == reply->ms);
        EXPECT(reply->flags ==
               ((after->info.abandoned ? 1U : 0U) | (unsigned)after->info.policy << 1));
    } else if (reply->answer == LKC_QUEUED) {
        EXPECT(waiter && waiter->req == req);
        EXPECT(reply->place == (size_t)(waiter - after->waiters) + 1 && reply->ms > 0);
    } else if (reply->answer == LKC_BUSY) {
        EXPECT(!waiter && after->hold_count > 0 && reply->ms > 0);
    } else if (reply->answer == LKC_RELEASED) {
        EXPECT((hold ? hold->reads : 0) == reply->reads);
        EXPECT((hold ? hold->writes : 0) == reply->writes);
    } else if (reply->answer == LKC_LEASE) {
        EXPECT(hold && hold->left_ms == reply->ms && !hold->provisional);
    }
}

/* Fences of one life rise. That the life went on is certain if someone else was there throughout.
 * A fence that is ahead of the clock is never forgotten (SPEC 7.1).
 */
static void expect_fences(const world *w, const picture *before, const picture *after,
                          const lkc_handle *who) {
    EXPECT(before->info.fence <= w->now_us || before->info.fence <= after->info.fence);
    for (size_t i = 0; i < HANDLES; i++) {
        lkc_handle other = handle_at(i);
        bool was = hold_of(before, &other) || waiter_of(before, &other);
        bool is = hold_of(after, &other) || waiter_of(after, &other);
        if (was && is && !same_handle(&other, who)) {
            EXPECT(before->info.fence <= after->info.fence);
            const lkc_hold_row *a = hold_of(before, &other), *b = hold_of(after, &other);
            EXPECT(!a || !b || a->fence <= b->fence);
        }
    }
}

/*
 * SPEC 5.6. A handle that has nothing, and whose waiter is renewed nevertheless, was granted the
 * lock for that number a short while ago.
 */
static void expect_missed(const world *w, const lkc_event *missed, uint64_t req,
                          const lkc_reply *reply, const picture *before, const picture *after) {
    if (hold_of(before, &missed->handle) || waiter_of(before, &missed->handle))
        return;
    EXPECT(reply->answer != LKC_LEASE);
    if (reply->answer != LKC_GRANTED && reply->answer != LKC_QUEUED)
        return;
    const lkc_hold_row *hold = hold_of(after, &missed->handle);
    EXPECT(missed->req == req && w->now_us < missed->time_us + LIVENESS_US);
    EXPECT(!hold || (!hold->provisional && hold->fence >= missed->fence));
}

/* SPEC 9.8. What an acquire replaced (9.5) is gone, though, even if it is busy then. */
static bool changes_nothing(lkc_answer answer, const picture *before, const lkc_handle *handle) {
    if (answer == LKC_BUSY || answer == LKC_DEADLOCK)
        return !hold_of(before, handle) && !waiter_of(before, handle);
    return answer == LKC_NOT_HELD || answer == LKC_STALE;
}

/* An operation that does 5.2 and nothing else. */
static void settle(world *w) {
    lkc_renew_args args = {.handle = {.number = 99}, .fence = 1, .lease_ms = 100};
    lkc_reply reply;
    EXPECT(lkc_lock_renew(w->lock, w->now_us, &args, &reply) == LKC_DONE);
    EXPECT(reply.answer == LKC_NOT_HELD);
}

static uint64_t pick_req(world *w, size_t who, uint8_t how) {
    if (how % 8 == 0 && w->reqs[who] > 0)
        return w->reqs[who]; /* again */
    if (how % 8 == 1 && w->reqs[who] > 1)
        return 1 + how % w->reqs[who]; /* an old one */
    if (how % 8 == 2 && w->queued_reqs[who] > 0)
        return w->queued_reqs[who];
    return ++w->reqs[who];
}

/* The number of its waiter; or the number that it waited with, perhaps, or any other. */
static uint64_t pick_waiter(const world *w, size_t who, const picture *now, uint8_t how) {
    lkc_handle handle = handle_at(who);
    const lkc_waiter_row *waiter = waiter_of(now, &handle);
    if (waiter)
        return waiter->req;
    return how % 4 && w->queued_reqs[who] > 0 ? w->queued_reqs[who] : 1 + how % 8U;
}

static uint64_t pick_fence(const picture *now, const lkc_handle *handle, uint8_t how) {
    const lkc_hold_row *hold = hold_of(now, handle);
    if (how % 16 == 15)
        return how;
    if (how % 4 == 0 || !hold)
        return 0;
    return hold->fence - (how % 16 == 14);
}

static lkc_outcome acquire(world *w, size_t who, const picture *now, input *in, uint64_t *req,
                           lkc_reply *reply) {
    uint8_t a = take(in), b = take(in), c = take(in);
    lkc_handle handle = handle_at(who);
    *req = pick_req(w, who, take(in));
    lkc_acquire_args args = {.handle = handle,
                             .req = *req,
                             .fence = pick_fence(now, &handle, take(in)),
                             .mode = a & 1 ? LKC_WRITE : LKC_READ,
                             .wait = (a & 6) != 0,
                             .policy = (lkc_policy)(a >> 3 & 3),
                             .lease_ms = leases[c / 3 % (sizeof leases / sizeof *leases)],
                             .owner = owners[b & 3],
                             .group = groups[b >> 2 & 3],
                             .who = whos[b >> 4 & 3],
                             .floor = b >> 6 == 3 ? w->now_us + c * UINT64_C(1000000) : 0};
    w->memory.refuses = c % 16 == 5;
    w->memory.refused = false;
    lkc_outcome outcome = lkc_lock_acquire(w->lock, w->now_us, &args, reply);
    w->memory.refuses = false;
    EXPECT((outcome == LKC_NO_MEMORY) == w->memory.refused);
    return outcome;
}

static void no_event(const lkc_event *event, void *context) {
    (void)event;
    (void)context;
    EXPECT(false);
}

static lkc_outcome operate(world *w, uint8_t op, size_t who, const picture *now, input *in,
                           uint64_t *req, lkc_reply *reply) {
    lkc_handle handle = handle_at(who);
    if (op < 5)
        return acquire(w, who, now, in, req, reply);
    uint8_t a = take(in), b = take(in);
    uint64_t fence = pick_fence(now, &handle, a | 1);
    if (op < RENEW_FIRST) {
        lkc_release_args args = {handle, *req = pick_req(w, who, b), fence,
                                 a & 2 ? LKC_WRITE : LKC_READ, (a & 8) != 0};
        return lkc_lock_release(w->lock, w->now_us, &args, reply);
    }
    if (op < RENEW_END) {
        *req = pick_waiter(w, who, now, b);
        lkc_renew_args args = {handle, a & 4 ? 0 : fence, *req, leases[b % 4]};
        return lkc_lock_renew(w->lock, w->now_us, &args, reply);
    }
    if (op == 10) {
        lkc_convert_args args = {handle, *req = pick_req(w, who, b), fence};
        return lkc_lock_convert(w->lock, w->now_us, &args, reply);
    }
    if (op == CANCEL) {
        lkc_cancel_args args = {handle, ++w->reqs[who], pick_waiter(w, who, now, b)};
        *req = args.req;
        return lkc_lock_cancel(w->lock, w->now_us, &args, reply);
    }
    return lkc_lock_force(w->lock, w->now_us, owners[a & 3], reply);
}

static void step(world *w, uint8_t op, size_t who, input *in) {
    picture before, after;
    lkc_handle handle = handle_at(who);
    bool settled = take(in) & 1;
    if (settled) {
        settle(w);
        expect_all(w, &before);
    } else {
        look(w->lock, w->now_us, &before);
    }
    lkc_reply reply = {.answer = LKC_STALE};
    uint64_t req = 0;
    lkc_event grant = w->grants[who]; /* before this operation */
    grant.handle = handle;
    lkc_outcome outcome = operate(w, op, who, &before, in, &req, &reply);
    if (outcome == LKC_NO_MEMORY) {
        look(w->lock, w->now_us, &after);
        expect_same(&before, &after);
        lkc_lock_events(w->lock, no_event, NULL);
        return;
    }
    expect_all(w, &after);
    expect_fences(w, &before, &after, &handle);
    if (outcome == LKC_DONE)
        expect_answer(&handle, req, &reply, &after);
    if (outcome == LKC_DONE && reply.answer == LKC_QUEUED)
        w->queued_reqs[who] = req;
    if (op >= RENEW_FIRST && op < RENEW_END)
        expect_missed(w, &grant, req, &reply, &before, &after);
    if (settled && (outcome == LKC_TOO_DEEP || changes_nothing(reply.answer, &before, &handle)))
        expect_same(&before, &after); /* SPEC 9.8 */
}

/* Moves the clock to the end of the first provisional hold. Random moves seldom meet it. */
static void pass_claim(world *w) {
    picture now;
    look(w->lock, w->now_us, &now);
    for (size_t i = 0; i < now.hold_count; i++) {
        if (now.holds[i].provisional) {
            w->now_us += (now.holds[i].left_ms + 1) * 1000;
            return;
        }
    }
}

/* A handle that may have missed a grant (SPEC 5.6); from `who` on, if there are several. */
static size_t find_missed(const world *w, size_t who) {
    picture now;
    look(w->lock, w->now_us, &now);
    for (size_t i = 0; i < HANDLES; i++) {
        size_t next = (who + i) % HANDLES;
        lkc_handle handle = handle_at(next);
        if (w->grants[next].req > 0 && w->now_us < w->grants[next].time_us + LIVENESS_US &&
            !hold_of(&now, &handle) && !waiter_of(&now, &handle))
            return next;
    }
    return who;
}

/* Raw words: a reply must be whole, and bad input must change nothing. */

typedef struct {
    size_t wanted, errors;
} reply_shape;

static void on_array(size_t count, void *context) {
    reply_shape *shape = context;
    EXPECT(shape->wanted > 0);
    shape->wanted += count - 1;
}

static void on_integer(uint64_t value, void *context) {
    reply_shape *shape = context;
    EXPECT(shape->wanted-- > 0 && value < UINT64_C(1) << 62);
}

static void on_text(lkc_text text, void *context) {
    reply_shape *shape = context;
    EXPECT(shape->wanted-- > 0 && text.length <= 255);
}

static void on_error(const char *text, void *context) {
    reply_shape *shape = context;
    EXPECT(shape->wanted-- > 0 && strncmp(text, "LK", 2) == 0);
    shape->errors++;
}

static lkc_text raw_word(input *in) {
    static const lkc_text words[] = {{"abababababababababababababababab-000000000001", 45},
                                     {"1", 1},
                                     {"0", 1},
                                     {"read", 4},
                                     {"write", 5},
                                     {"30000", 5},
                                     {"fair", 4},
                                     {"", 0},
                                     {"9007199254740992", 16},
                                     {"9007199254740993", 16},
                                     {"100", 3},
                                     {"prefer-reader", 13}};
    uint8_t which = take(in);
    if (which < 250)
        return words[which % (sizeof words / sizeof *words)];
    size_t length = take(in) % 8;
    length = length < in->left ? length : in->left;
    lkc_text text = {(const char *)in->bytes, length};
    in->bytes += length;
    in->left -= length;
    return text;
}

static void raw(world *w, input *in) {
    picture before, after;
    lkc_text arguments[RAW_MOST];
    reply_shape shape = {.wanted = 1};
    lkc_reply_sink sink = {on_array, on_integer, on_text, on_error, &shape};
    uint8_t head = take(in);
    size_t count = head / 8 % RAW_MOST;
    for (size_t i = 0; i < count; i++)
        arguments[i] = raw_word(in);
    settle(w);
    expect_all(w, &before);
    EXPECT(lkc_words_run(w->lock, w->now_us, (lkc_op)(head % 7), arguments, count, &sink));
    EXPECT(shape.wanted == 0);
    if (shape.errors > 0) {
        look(w->lock, w->now_us, &after);
        expect_same(&before, &after);
    } else if (head % 7 != LKC_OP_INSPECT) {
        expect_all(w, &after);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    world w = {.now_us = START_US};
    lkc_allocator allocator = {allocate, release, &w.memory};
    w.lock = lkc_lock_new(&allocator);
    EXPECT(w.lock);
    while (in.left > 0) {
        uint8_t op = take(&in);
        if (op >= 128)
            move_clock(&w, take(&in));
        op %= 16;
        if (op < 13) {
            size_t who = take(&in) % HANDLES;
            step(&w, op, who, &in);
        } else if (op == 13) {
            raw(&w, &in);
        } else if (op == 14) {
            pass_claim(&w);
        } else {
            static const uint8_t ops[] = {ACQUIRE, RENEW_FIRST, RENEW_FIRST, CANCEL};
            uint8_t how = take(&in);
            step(&w, ops[how % 4], find_missed(&w, how / 4 % HANDLES), &in);
        }
    }
    lkc_lock_free(w.lock);
    EXPECT(w.memory.blocks == 0);
    return 0;
}
