/* See server_cost_calls.h. */
#include "server_cost_calls.h"

#include "server_cost_locks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    bench_link *link;
    calls_table *table;
    server_account before;
} calls_counter;

static int compare(const void *left, const void *right) {
    return strcmp(((const account_row *)left)->command, ((const account_row *)right)->command);
}

static void count_begin(calls_counter *counter) {
    link_look(counter->link, &counter->before);
}

/* The one operation since count_begin took the way `what`. */
static void count_end(calls_counter *counter, const char *what, bool limited) {
    server_account after;
    link_look(counter->link, &after);
    link_flush(counter->link);
    assert(counter->table->count < CALLS_ROWS);
    calls_row *row = &counter->table->rows[counter->table->count++];
    *row = (calls_row){.what = what, .limited = limited};
    server_account ran;
    account_between(&counter->before, &after, &ran);
    for (size_t i = 0; i < ran.count; i++) {
        if (strcmp(ran.rows[i].command, "evalsha") != 0) {
            row->calls += ran.rows[i].calls;
            row->ran.rows[row->ran.count++] = ran.rows[i];
        }
    }
    /* The server names them in another order each time it is started. */
    qsort(row->ran.rows, row->ran.count, sizeof *row->ran.rows, compare);
}

static void count_alone(calls_counter *counter, const char *mode, const char *acquire,
                        const char *release) {
    lock_keys keys = lock_keys_of("calls-alone", 1);
    bench_handle handle = bench_handle_of(UINT64_MAX / 4);
    uint64_t fence;
    count_begin(counter);
    request_acquire(counter->link, (lock_request){&keys, &handle, 1, mode}, 0, "granted", &fence);
    count_end(counter, acquire, true);
    count_begin(counter);
    request_release(counter->link, (lock_request){&keys, &handle, 2, mode}, fence);
    count_end(counter, release, true);
}

static void count_crowd(calls_counter *counter) {
    bench_crowd crowd;
    crowd_fill(&crowd, counter->link, "calls-crowd", 1);
    count_begin(counter);
    crowd_renew_one(&crowd, counter->link);
    count_end(counter, "renew, of the only hold", true);
    count_begin(counter);
    crowd_join(&crowd, counter->link);
    count_end(counter, "acquire read, second reader", false);
    count_begin(counter);
    crowd_join(&crowd, counter->link);
    count_end(counter, "acquire read, third reader", false);
    count_begin(counter);
    crowd_renew_one(&crowd, counter->link);
    count_end(counter, "renew, of one hold among three", false);
    count_begin(counter);
    crowd_leave(&crowd, counter->link);
    count_end(counter, "release read, others hold", false);
    crowd_clear(&crowd);
}

static void count_queue(calls_counter *counter) {
    bench_queue queue;
    queue_fill(&queue, counter->link, "calls-queue", 0, false);
    count_begin(counter);
    queue_enqueue(&queue, counter->link);
    count_end(counter, "acquire write, queues as the first", false);
    count_begin(counter);
    queue_enqueue(&queue, counter->link);
    count_end(counter, "acquire write, queues as the second", false);
    count_begin(counter);
    queue_renew_one(&queue, counter->link);
    count_end(counter, "renew, of a waiter", false);
    count_begin(counter);
    queue_cancel_last(&queue, counter->link);
    count_end(counter, "cancel, another waits", false);
    queue_enqueue(&queue, counter->link);
    count_begin(counter);
    queue_hand_over(&queue, counter->link);
    count_end(counter, "release write, hands over, another waits", false);
    count_begin(counter);
    queue_claim(&queue, counter->link);
    count_end(counter, "renew, claims what was handed over", false);
    count_begin(counter);
    queue_hand_over(&queue, counter->link);
    count_end(counter, "release write, hands over to the last", false);
    queue_clear(&queue);
}

void calls_count(bench_link *link, calls_table *out) {
    out->count = 0;
    calls_counter counter = {.link = link, .table = out};
    count_alone(&counter, "read", "acquire read, lock free", "release read, the only hold");
    count_alone(&counter, "write", "acquire write, lock free", "release write, the only hold");
    count_crowd(&counter);
    count_queue(&counter);
}
