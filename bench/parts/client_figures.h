/*
 * What every part of the client's benchmark needs: clocks, samples and their middle, and the lines
 * that are printed, in columns. It knows nothing of locks or servers.
 *
 * What goes wrong ends the program: a figure of operations that failed is worth nothing.
 */
#ifndef BENCH_CLIENT_FIGURES_H
#define BENCH_CLIENT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2))); /* stderr */

uint64_t bench_now_ns(void); /* CLOCK_MONOTONIC: the same for all processes */
void bench_sleep_us(uint64_t us);

/* Samples; `values` is free()d by samples_clear. */
typedef struct {
    double *values;
    size_t count;
} bench_samples;

void samples_add(bench_samples *, double);
void samples_clear(bench_samples *);

/* The middle, and where the lowest and the highest tenth begin. */
typedef struct {
    double median, low, high;
} bench_spread;

bench_spread samples_spread(bench_samples *); /* sorts them; at least one */

/* One part's section of the report. */
void report_part(int number, const char *title);
void report_spread(const char *what, bench_spread, const char *unit);
void report_value(const char *what, double value, const char *unit);

typedef enum { AT_MOST, AT_LEAST } bench_bound;

/* A figure that has a limit, with its verdict. False: it is over. */
bool report_limited(const char *what, double value, bench_bound, double limit, const char *unit);

#endif
