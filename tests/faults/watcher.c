/*
 * The watcher of a round: asks the server all the time who waits for the fair locks, so that the
 * order of the queue is known from the server, and notes when the server was slow to answer.
 */
#include "worker.h"

#include <unistd.h>

enum { LOOK_MS = 10, SLOW_ANSWER_MS = 250 };

static void note_waiters(const worker_self *self, unsigned lock, const lk_info *info,
                         int64_t before_ns, int64_t after_ns) {
    for (size_t i = 0; i < info->waiter_count; i++) {
        const lk_waiter_info *waiter = &info->waiters[i];
        unsigned handle = journal_handle_of(waiter->owner);
        if (handle && !waiter->upgrade)
            journal_saw_waiter(self->notes, (journal_sighting){.lock = lock,
                                                               .handle = handle,
                                                               .before_ns = before_ns,
                                                               .after_ns = after_ns,
                                                               .waited_ms = waiter->waited_ms});
    }
}

static void look(const worker_self *self, unsigned lock) {
    lk_info *info;
    int64_t before_ns = history_now_ns();
    lk_status status = lk_inspect(self->client, journal_locks[lock].name, &info);
    int64_t after_ns = history_now_ns();
    if (after_ns - before_ns > SLOW_ANSWER_MS * INT64_C(1000000))
        journal_stalled(self->notes, (journal_stall){STALL_OF_ALL, before_ns, after_ns});
    if (status == LK_OK) {
        note_waiters(self, lock, info, before_ns, after_ns);
        lk_info_free(info);
    } else if (status != LK_UNAVAILABLE) {
        worker_odd(self, "inspecting", lk_status_name(status));
    }
}

void worker_watch(const worker_self *self) {
    while (!history_is_over(self->past)) {
        for (unsigned i = 0; i < JOURNAL_LOCKS; i++)
            if (journal_locks[i].policy == LK_FAIR)
                look(self, i);
        usleep(LOOK_MS * 1000);
    }
}
