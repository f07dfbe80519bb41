/*
 * A driver (bench/peers/README.md) in C: the verbs, the threads and the clock are here, a lock fills
 * in the rest. drive() is the whole of main().
 */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *socket;
    int64_t lease_ms;
    const char *lock; /* the beginning of all names */
} drive_setting;

/* What one who locks has of one lock. */
typedef struct drive_handle drive_handle;

typedef struct {
    void (*about)(void); /* prints the object of `about` */
    bool reads;
    void (*open)(const drive_setting *, size_t handles); /* how many there will be at once */
    drive_handle *(*handle)(size_t number);              /* on lock `number`; never NULL */
    /*
     * Waits until `until_us` at most; false: not got. A handle is one thread's. With false,
     * `until_us` has passed.
     */
    bool (*lock)(drive_handle *, bool write, int64_t until_us);
    void (*unlock)(drive_handle *, bool write);
    bool (*renew)(drive_handle *); /* NULL: it renews by itself */
    bool (*is_held)(drive_handle *);
    void (*ping_pong)(const drive_setting *, double seconds); /* or NULL */
} drive_lock;

int drive(const drive_lock *, int count, char **words);

/* For ping_pong: says that it is ready and waits for the word; prints an object of pairs. */
void drive_ready(void);
void drive_print_pairs(double *us, size_t count, double seconds);

/* Prints a sentence and ends the program with 1. */
void drive_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

int64_t drive_now_us(void);

#endif
