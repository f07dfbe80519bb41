/*
 * What the core costs, without a server: time and memory of its operations on one lock, by the
 * number of holders and waiters. Waiters must not run out meanwhile: a run may last 10 s of the
 * lock's time, which goes by a µs with each operation.
 */
#include "core.h"
#include "plain_allocator.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum { LEASE_MS = 30000, MANY = 10000 };

#define START_US UINT64_C(1700000000000000)

static const char who[] = "4242 db1 billing";

static uint64_t read_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* For whole runs: the thread's own time, so that other programs disturb less. */
static uint64_t clock_ns(void) {
    return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* For single operations: cheap to read; a sample that was disturbed is far from the median. */
static uint64_t tick_ns(void) {
    return read_clock_ns(CLOCK_MONOTONIC);
}

static void demand(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "core_bench: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

/* The one-shot bits of a client's identity, well spread (splitmix64). */
static uint64_t scramble(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static lkc_handle handle_of(uint64_t client) {
    lkc_handle handle = {.number = 1};
    uint64_t halves[2] = {scramble(client), scramble(~client)};
    memcpy(handle.client, halves, sizeof halves);
    return handle;
}

/* Operations on one lock; time moves by a µs with each. */

typedef struct {
    lkc_lock *lock;
    uint64_t now_us;
    uint64_t req;
} bench;

static bench bench_new(void) {
    bench b = {lkc_lock_new(&plain_allocator), START_US, 0};
    demand(b.lock, "memory ran out");
    return b;
}

static lkc_reply acquire(bench *b, const lkc_handle *handle, lkc_mode mode, uint64_t req) {
    lkc_acquire_args args = {.handle = *handle,
                             .req = req,
                             .mode = mode,
                             .wait = true,
                             .lease_ms = LEASE_MS,
                             .who = {who, sizeof who - 1}};
    lkc_reply reply;
    demand(lkc_lock_acquire(b->lock, ++b->now_us, &args, &reply) == LKC_DONE, "acquire failed");
    return reply;
}

static lkc_reply give_back(bench *b, const lkc_handle *handle, lkc_mode mode, uint64_t req,
                           uint64_t fence) {
    lkc_release_args args = {*handle, req, fence, mode, true};
    lkc_reply reply;
    lkc_lock_release(b->lock, ++b->now_us, &args, &reply);
    demand(reply.answer == LKC_RELEASED, "release failed");
    return reply;
}

static void cancel(bench *b, const lkc_handle *handle, uint64_t req) {
    lkc_cancel_args args = {*handle, req + 1, req};
    lkc_reply reply;
    lkc_lock_cancel(b->lock, ++b->now_us, &args, &reply);
    demand(reply.answer == LKC_CANCELLED, "cancel failed");
}

/* Uncontended pairs. */

static double pair_ns(size_t mode, size_t pairs) {
    bench b = bench_new();
    lkc_handle handle = handle_of(1);
    uint64_t began = clock_ns();
    for (size_t i = 0; i < pairs; i++) {
        lkc_reply granted = acquire(&b, &handle, (lkc_mode)mode, 2 * i + 1);
        give_back(&b, &handle, (lkc_mode)mode, 2 * i + 2, granted.fence);
    }
    double spent = (double)(clock_ns() - began);
    lkc_lock_free(b.lock);
    return spent / (double)pairs;
}

/* What the least of locks would do: take a record's memory and give it back. */
static double baseline_ns(size_t size, size_t pairs) {
    void *volatile memory;
    uint64_t began = clock_ns();
    for (size_t i = 0; i < pairs; i++) {
        memory = malloc(size);
        free(memory);
    }
    return (double)(clock_ns() - began) / (double)pairs;
}

typedef struct {
    uint64_t integers[8];
    size_t count;
} last_reply;

static void on_array(size_t count, void *context) {
    (void)count;
    ((last_reply *)context)->count = 0;
}

static void on_integer(uint64_t value, void *context) {
    last_reply *last = context;
    last->integers[last->count++] = value;
}

static void on_text(lkc_text text, void *context) {
    (void)text;
    (void)context;
}

static void on_error(const char *text, void *context) {
    (void)context;
    demand(false, text);
}

static lkc_text number_text(uint64_t value, char room[24]) {
    return (lkc_text){room, (size_t)snprintf(room, 24, "%" PRIu64, value)};
}

static double word_pair_ns(size_t unused, size_t pairs) {
    (void)unused;
    bench b = bench_new();
    last_reply last = {.count = 0};
    lkc_reply_sink sink = {on_array, on_integer, on_text, on_error, &last};
    lkc_handle handle = handle_of(1);
    char handle_room[LKC_HANDLE_LENGTH + 1], req_room[24], fence_room[24];
    lkc_handle_print(&handle, handle_room);
    lkc_text name = {handle_room, LKC_HANDLE_LENGTH}, none = {"", 0}, zero = {"0", 1};
    uint64_t began = clock_ns();
    for (size_t i = 0; i < pairs; i++) {
        lkc_text take[] = {name,
                           number_text(2 * i + 1, req_room),
                           zero,
                           {"write", 5},
                           {"1", 1},
                           {"30000", 5},
                           {"fair", 4},
                           zero,
                           none,
                           none,
                           {who, sizeof who - 1}};
        lkc_words_run(b.lock, ++b.now_us, LKC_OP_ACQUIRE, take, 11, &sink);
        lkc_text give[] = {name,
                           number_text(2 * i + 2, req_room),
                           number_text(last.integers[1], fence_room),
                           {"write", 5},
                           {"1", 1}};
        lkc_words_run(b.lock, ++b.now_us, LKC_OP_RELEASE, give, 5, &sink);
    }
    double spent = (double)(clock_ns() - began);
    demand(lkc_lock_expires_ms(b.lock) == 0, "the lock was not free in the end");
    lkc_lock_free(b.lock);
    return spent / (double)pairs;
}

/* With others there. */

static double join_leave_ns(size_t holders, size_t rounds) {
    bench b = bench_new();
    for (size_t i = 0; i < holders; i++) {
        lkc_handle handle = handle_of(i);
        demand(acquire(&b, &handle, LKC_READ, 1).answer == LKC_GRANTED, "a reader waits");
    }
    uint64_t began = clock_ns();
    for (size_t i = 0; i < rounds; i++) {
        lkc_handle handle = handle_of(holders + i);
        lkc_reply granted = acquire(&b, &handle, LKC_READ, 1);
        give_back(&b, &handle, LKC_READ, 2, granted.fence);
    }
    double spent = (double)(clock_ns() - began);
    lkc_lock_free(b.lock);
    return spent / (double)rounds / 2;
}

static double enqueue_cancel_ns(size_t waiters, size_t rounds) {
    bench b = bench_new();
    for (size_t i = 0; i <= waiters; i++) {
        lkc_handle handle = handle_of(i);
        acquire(&b, &handle, i % 2 ? LKC_READ : LKC_WRITE, 1);
    }
    uint64_t began = clock_ns();
    for (size_t i = 0; i < rounds; i++) {
        lkc_handle handle = handle_of(waiters + 1 + i);
        demand(acquire(&b, &handle, LKC_WRITE, 1).answer == LKC_QUEUED, "a writer was granted");
        cancel(&b, &handle, 1);
    }
    double spent = (double)(clock_ns() - began);
    lkc_lock_free(b.lock);
    return spent / (double)rounds / 2;
}

static int compare_ticks(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double median_of(uint64_t *samples, size_t count) {
    qsort(samples, count, sizeof *samples, compare_ticks);
    return (double)samples[count / 2];
}

/*
 * In turn, each claims what it was given, gives it to the next, and asks again at the tail. Only
 * the release is measured; what reading the clock adds is taken off.
 */
static double hand_over_ns(size_t waiters, size_t rounds) {
    bench b = bench_new();
    size_t count = waiters + 1;
    uint64_t *reqs = calloc(count, sizeof *reqs), *samples = calloc(rounds, sizeof *samples);
    demand(reqs && samples, "memory ran out");
    for (size_t i = 0; i < rounds; i++) {
        uint64_t began = tick_ns();
        samples[i] = tick_ns() - began;
    }
    double clock_cost = median_of(samples, rounds);
    for (size_t i = 0; i < count; i++) {
        lkc_handle handle = handle_of(i);
        acquire(&b, &handle, LKC_WRITE, ++reqs[i]);
    }
    for (size_t i = 0; i < rounds; i++) {
        uint64_t *req = &reqs[i % count];
        lkc_handle handle = handle_of(i % count);
        lkc_reply granted = acquire(&b, &handle, LKC_WRITE, *req);
        demand(granted.answer == LKC_GRANTED, "not handed over in turn");
        uint64_t began = tick_ns();
        give_back(&b, &handle, LKC_WRITE, ++*req, granted.fence);
        samples[i] = tick_ns() - began;
        acquire(&b, &handle, LKC_WRITE, ++*req);
    }
    double median = median_of(samples, rounds);
    free(reqs);
    free(samples);
    lkc_lock_free(b.lock);
    return median - clock_cost;
}

static size_t bytes_for_each(size_t records, bool waiting) {
    bench b = bench_new();
    lkc_handle first = handle_of(0);
    acquire(&b, &first, waiting ? LKC_WRITE : LKC_READ, 1);
    size_t before = lkc_lock_memory(b.lock);
    for (size_t i = 1; i <= records; i++) {
        lkc_handle handle = handle_of(i);
        acquire(&b, &handle, LKC_READ, 1);
    }
    size_t bytes = (lkc_lock_memory(b.lock) - before + records - 1) / records;
    lkc_lock_free(b.lock);
    return bytes;
}

static size_t empty_bytes(void) {
    bench b = bench_new();
    size_t bytes = lkc_lock_memory(b.lock);
    lkc_lock_free(b.lock);
    return bytes;
}

/* Running and printing. */

enum { RUNS = 5, PAIRS = 1000000, ROUNDS = 50000 };

typedef double measurement(size_t which, size_t repetitions);

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct {
    double best, median;
} result;

static result measure(measurement *take, size_t which, size_t repetitions) {
    double runs[RUNS];
    for (size_t i = 0; i < RUNS; i++)
        runs[i] = take(which, repetitions);
    qsort(runs, RUNS, sizeof *runs, compare_doubles);
    return (result){runs[0], runs[RUNS / 2]};
}

static void print_machine(const char *command) {
    struct utsname system;
    char line[256], model[256] = "unknown";
    demand(uname(&system) == 0, "uname failed");
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info))
        if (sscanf(line, "model name : %255[^\n]", model) == 1)
            break;
    if (info)
        fclose(info);
    printf("%s: compiler %s, %s %s %s, %s\n", command, __VERSION__, system.sysname, system.release,
           system.machine, model);
#ifdef NDEBUG
    printf("assertions off; ");
#else
    printf("assertions on; ");
#endif
    printf("%d runs each, one thread, one lock\n", RUNS);
}

static void print_pairs(const char *name, result ns, double baseline) {
    printf("%-36s %8.0f %8.0f %12.0f %9.1f\n", name, ns.best, ns.median, 1e9 / ns.median,
           ns.median / baseline);
}

static void print_row(const char *name, measurement *take) {
    static const size_t sizes[] = {1, 10, MANY};
    printf("%-36s", name);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        printf(" %8.0f", measure(take, sizes[i], ROUNDS).median);
    puts("");
}

int main(int count, char **arguments) {
    print_machine(count > 0 ? arguments[0] : "core_bench");

    result baseline = measure(baseline_ns, 256, PAIRS);
    printf("\n%-36s %8s %8s %12s %9s\n", "uncontended, acquire + release", "best ns", "ns",
           "pairs/s", "baseline");
    print_pairs("baseline: malloc(256) + free", baseline, baseline.median);
    print_pairs("write", measure(pair_ns, LKC_WRITE, PAIRS), baseline.median);
    print_pairs("read", measure(pair_ns, LKC_READ, PAIRS), baseline.median);
    print_pairs("write, in words (words.h)", measure(word_pair_ns, 0, PAIRS), baseline.median);

    printf("\n%-36s %8d %8d %8d\n", "ns an operation, others there:", 1, 10, MANY);
    print_row("reader joins, leaves", join_leave_ns);
    print_row("writer queues, cancels", enqueue_cancel_ns);
    print_row("release that hands over", hand_over_ns);

    printf("\n%-36s %8s\n", "memory", "bytes");
    printf("%-36s %8zu\n", "an empty lock", empty_bytes());
    printf("%-36s %8zu\n", "each of 10,000 holders", bytes_for_each(MANY, false));
    printf("%-36s %8zu\n", "each of 10,000 waiters", bytes_for_each(MANY, true));
    return EXIT_SUCCESS;
}
