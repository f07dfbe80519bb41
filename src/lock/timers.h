/* A binary heap of deadlines. Each timer knows its slot in the heap. */
#ifndef LKI_TIMERS_H
#define LKI_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t due_us;
    size_t slot; /* in the heap, from 1; 0: the timer is not set */
} lki_timer;

typedef struct {
    lki_timer **heap;
    size_t count, room;
} lki_timers;

/* Makes room for this many timers in total, so that setting one never fails. False: no memory. */
bool lki_timers_reserve(lki_timers *, size_t timers);
void lki_timers_free(lki_timers *);

void lki_timers_set(lki_timers *, lki_timer *, int64_t due_us); /* LKI_NEVER: unset it */
lki_timer *lki_timers_first(const lki_timers *);                /* NULL: none is set */

#endif
