/*
 * SPEC 3.5 as a table. Leaving the upgrade aside, what a policy says is how many of the writers
 * stand before the readers; the others stand behind them.
 */
#include "order.h"

#define BY_TICKET SIZE_MAX /* readers and writers are one queue */
#define ALL_OF_THEM (SIZE_MAX - 1)

static const size_t writers_before_readers[4][2] = {
    [LKI_FAIR] = {[LKI_PHASE_READ] = BY_TICKET, [LKI_PHASE_WRITE] = BY_TICKET},
    [LKI_PHASE_FAIR] = {[LKI_PHASE_READ] = 1, [LKI_PHASE_WRITE] = 0},
    [LKI_PREFER_WRITER] = {[LKI_PHASE_READ] = ALL_OF_THEM, [LKI_PHASE_WRITE] = ALL_OF_THEM},
    [LKI_PREFER_READER] = {[LKI_PHASE_READ] = 0, [LKI_PHASE_WRITE] = 0},
};

/* Of the next reader and the next writer, after so many writers; either may be NULL. */
static lki_party *nearer(const lki_lock *lock, lki_party *reader, lki_party *writer,
                         size_t writers_shown) {
    if (!reader || !writer)
        return reader ? reader : writer;
    size_t before = writers_before_readers[lock->policy][lock->phase];
    if (before == BY_TICKET)
        return reader->wait.ticket < writer->wait.ticket ? reader : writer;
    return writers_shown < before ? writer : reader;
}

lki_party *lki_order_first(const lki_lock *lock) {
    if (!lock->waiters.root)
        return NULL;
    if (lock->upgrade)
        return lock->upgrade; /* SPEC 4.2 */
    return nearer(lock, lki_party_by_ticket(lki_tree_head(&lock->readers)),
                  lki_party_by_ticket(lki_tree_head(&lock->writers)), 0);
}

size_t lki_order_place(const lki_lock *lock, const lki_party *waiter) {
    if (waiter == lock->upgrade)
        return 1;
    bool reads = waiter->wait.mode == LKI_READ;
    const lki_tree *mine = reads ? &lock->readers : &lock->writers;
    const lki_tree *theirs = reads ? &lock->writers : &lock->readers;
    size_t rank = lki_tree_rank(mine, &waiter->wait.ticket);
    size_t before = writers_before_readers[lock->policy][lock->phase];
    size_t others;
    if (before == BY_TICKET)
        others = lki_tree_rank(theirs, &waiter->wait.ticket);
    else if (reads)
        others = lki_min(before, lki_tree_size(theirs));
    else
        others = rank < before ? 0 : lki_tree_size(theirs);
    return rank + others + (lock->upgrade ? 2 : 1);
}

/* The first one from `index` on that has not run out. */
static lki_party *left_in(const lki_tree *queue, size_t *index, uint64_t now_us) {
    lki_party *party;
    while ((party = lki_party_by_ticket(lki_tree_at(queue, *index))) &&
           party->deadline_us <= now_us)
        ++*index;
    return party;
}

lki_party *lki_order_next(const lki_lock *lock, lki_order_walk *walk) {
    if (!walk->past_upgrade) {
        walk->past_upgrade = true;
        if (lock->upgrade && !walk->hide_upgrade && lock->upgrade->deadline_us > walk->now_us)
            return lock->upgrade;
    }
    lki_party *reader = left_in(&lock->readers, &walk->reader, walk->now_us);
    lki_party *writer = left_in(&lock->writers, &walk->writer, walk->now_us);
    lki_party *next = nearer(lock, reader, writer, walk->writers_shown);
    if (next && next == reader) {
        walk->reader++;
    } else if (next) {
        walk->writer++;
        walk->writers_shown++;
    }
    return next;
}
