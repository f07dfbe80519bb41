/*
 * SPEC 3.5 as a table. Leaving the upgrade aside, what a policy says is how many of the writers
 * stand before the readers; the others stand behind them.
 */
#include "order.h"

#define BY_TICKET SIZE_MAX /* readers and writers are one queue */
#define ALL_OF_THEM (SIZE_MAX - 1)

static const size_t writers_before_readers[4][2] = {
    [LKC_FAIR] = {[LKC_PHASE_READ] = BY_TICKET, [LKC_PHASE_WRITE] = BY_TICKET},
    [LKC_PHASE_FAIR] = {[LKC_PHASE_READ] = 1, [LKC_PHASE_WRITE] = 0},
    [LKC_PREFER_WRITER] = {[LKC_PHASE_READ] = ALL_OF_THEM, [LKC_PHASE_WRITE] = ALL_OF_THEM},
    [LKC_PREFER_READER] = {[LKC_PHASE_READ] = 0, [LKC_PHASE_WRITE] = 0},
};

/* Of the next reader and the next writer, after so many writers; either may be NULL. */
static lkc_record *nearer(const lkc_lock *lock, lkc_record *reader, lkc_record *writer,
                          size_t writers_shown) {
    if (!reader || !writer)
        return reader ? reader : writer;
    size_t before = writers_before_readers[lock->policy][lock->phase];
    if (before == BY_TICKET)
        return reader->wait.ticket < writer->wait.ticket ? reader : writer;
    return writers_shown < before ? writer : reader;
}

lkc_record *lkc_order_first(const lkc_lock *lock) {
    if (!lock->waiters.root)
        return NULL;
    if (lock->upgrade)
        return lock->upgrade; /* SPEC 4.2 */
    return nearer(lock, lkc_record_by_ticket(lkc_tree_head(&lock->readers)),
                  lkc_record_by_ticket(lkc_tree_head(&lock->writers)), 0);
}

size_t lkc_order_place(const lkc_lock *lock, const lkc_record *waiter) {
    if (waiter == lock->upgrade)
        return 1;
    bool reads = waiter->wait.mode == LKC_READ;
    const lkc_tree *mine = reads ? &lock->readers : &lock->writers;
    const lkc_tree *theirs = reads ? &lock->writers : &lock->readers;
    size_t rank = lkc_tree_rank(mine, &waiter->wait.ticket);
    size_t before = writers_before_readers[lock->policy][lock->phase];
    size_t others;
    if (before == BY_TICKET)
        others = lkc_tree_rank(theirs, &waiter->wait.ticket);
    else if (reads)
        others = lkc_min(before, lkc_tree_size(theirs));
    else
        others = rank < before ? 0 : lkc_tree_size(theirs);
    return rank + others + (lock->upgrade ? 2 : 1);
}

/* The first one from `index` on that has not run out. */
static lkc_record *left_in(const lkc_tree *queue, size_t *index, uint64_t now_us) {
    lkc_record *record;
    while ((record = lkc_record_by_ticket(lkc_tree_at(queue, *index))) &&
           record->deadline_us <= now_us)
        ++*index;
    return record;
}

lkc_record *lkc_order_next(const lkc_lock *lock, lkc_order_walk *walk) {
    if (!walk->past_upgrade) {
        walk->past_upgrade = true;
        if (lock->upgrade && !walk->hide_upgrade && lock->upgrade->deadline_us > walk->now_us)
            return lock->upgrade;
    }
    lkc_record *reader = left_in(&lock->readers, &walk->reader, walk->now_us);
    lkc_record *writer = left_in(&lock->writers, &walk->writer, walk->now_us);
    lkc_record *next = nearer(lock, reader, writer, walk->writers_shown);
    if (next && next == reader) {
        walk->reader++;
    } else if (next) {
        walk->writer++;
        walk->writers_shown++;
    }
    return next;
}
