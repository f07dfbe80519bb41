/*
 * The picture: a row for each process, time running to the right. A cell shows what its process did
 * in the middle of the cell's time, so that two cells of one column are about one instant. Knows
 * the record, and terminals; draws the same whether it is live or not.
 */
#ifndef DEMO_TIMELINE_H
#define DEMO_TIMELINE_H

#include "record.h"

typedef struct {
    bool live; /* on a terminal that can move its cursor: drawn over again */
    bool color;
    bool unicode;
    bool drawn;      /* there is a picture above the cursor */
    int64_t span_us; /* of the whole width */
} timeline;

/* Looks at the standard output and the environment. plain: neither live, nor color, nor unicode. */
void timeline_init(timeline *, bool plain, int seconds);

/* now: how far it goes. note: a line below it, "" for none. */
void timeline_draw(timeline *, const record *, int64_t now, const char *note);

/* "✓" or what stands for it, and the opposite. */
const char *timeline_tick(const timeline *, bool fine);

#endif
