/*
 * The picture: a row for each process; time runs to the right. A cell shows what its process did in
 * the middle of the cell's time, so two cells of one column show the same instant. Knows the record
 * and terminals. The live picture and the finished picture look the same.
 */
#ifndef DEMO_TIMELINE_H
#define DEMO_TIMELINE_H

#include "record.h"

typedef struct {
    bool live; /* on a terminal that can move its cursor: the picture is redrawn in place */
    bool color;
    bool unicode;
    bool drawn;      /* there is a picture above the cursor */
    int64_t span_us; /* the time that the whole width shows */
} timeline;

/* Checks standard output and the environment. plain: not live, without color and unicode. */
void timeline_init(timeline *, bool plain, int seconds);

/* now: the end of the picture. note: a line below it, or "". */
void timeline_draw(timeline *, const record *, int64_t now, const char *note);

/* "✓" or "✗", or words in their place. */
const char *timeline_tick(const timeline *, bool fine);

#endif
