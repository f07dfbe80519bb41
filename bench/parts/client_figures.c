/* See client_figures.h. */
#include "client_figures.h"

#include "test_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void print_line(const char *head, const char *format, va_list arguments) {
    flockfile(stderr);
    fputs(head, stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void bench_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line("client_bench: ", format, arguments);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

void bench_progress(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line("  ", format, arguments);
    va_end(arguments);
}

uint64_t bench_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void bench_sleep_us(uint64_t us) {
    struct timespec left = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (nanosleep(&left, &left) != 0) {}
}

void samples_add(bench_samples *samples, double value) {
    samples->values = test_grow(samples->values, samples->count, sizeof *samples->values);
    samples->values[samples->count++] = value;
}

void samples_clear(bench_samples *samples) {
    free(samples->values);
    *samples = (bench_samples){0};
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_spread samples_spread(bench_samples *samples) {
    if (!samples->count)
        bench_fail("nothing was measured");
    qsort(samples->values, samples->count, sizeof *samples->values, compare);
    const double *values = samples->values;
    size_t last = samples->count - 1;
    return (bench_spread){values[samples->count / 2], values[last / 10], values[last - last / 10]};
}

/* Precise enough for what is small, and no digits that mean nothing for what is large. */
static int decimals(double value) {
    return value < 10 ? 3 : value < 1000 ? 1 : 0;
}

void report_part(int number, const char *title) {
    printf("\n%d  %-50s %10s %21s\n", number, title, "median", "10% .. 90%");
}

void report_spread(const char *what, bench_spread spread, const char *unit) {
    printf("   %-50s %10.*f %9.*f .. %8.*f %s\n", what, decimals(spread.median), spread.median,
           decimals(spread.low), spread.low, decimals(spread.high), spread.high, unit);
}

void report_value(const char *what, double value, const char *unit) {
    printf("   %-50s %10.*f %21s %s\n", what, decimals(value), value, "", unit);
}

bool report_limited(const char *what, double value, bench_bound bound, double limit,
                    const char *unit) {
    bool good = bound == AT_MOST ? value <= limit : value >= limit;
    char bounds[32];
    snprintf(bounds, sizeof bounds, "%s %g", bound == AT_MOST ? "at most" : "at least", limit);
    printf("   %-50s %10.*f %21s %s%s%s\n", what, decimals(value), value, bounds, unit,
           *unit ? "  " : "", good ? "ok" : "OVER");
    fflush(stdout);
    return good;
}
