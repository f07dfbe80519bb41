/* A finding of `doctor`: what a check found. Knows nothing of how findings are shown. */
#ifndef CLI_FINDING_H
#define CLI_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    FINDING_FINE,
    FINDING_NOTE, /* worth knowing: locks are safe, or the server does not tell */
    FINDING_WRONG /* locks do not work, or may be lost while held */
} finding_grade;

/* A number behind the text, for --json. */
typedef struct {
    const char *name; /* with its unit: "timeout_ms" */
    int64_t value;
} finding_figure;

enum { FINDING_TEXT_SIZE = 1536, FINDING_FIGURES_MOST = 4 };

typedef struct {
    const char *name;
    const char *server; /* the URL of the server that it is about */
    finding_grade grade;
    char text[FINDING_TEXT_SIZE];   /* the fact, and what it means for locks */
    char advice[FINDING_TEXT_SIZE]; /* what to do; "" if nothing */
    bool is_command;                /* the advice is lines for redis-cli */
    finding_figure figures[FINDING_FIGURES_MOST];
    size_t figure_count;
} finding;

/* Receives the findings, one after the other. */
typedef void finding_sink(const finding *, void *arg);

/* Each replaces what was there. A text that is too long ends with "...". */
void finding_set(finding *, finding_grade, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void finding_advise(finding *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The advice is lines to copy into redis-cli. */
void finding_command(finding *, const char *format, ...) __attribute__((format(printf, 2, 3)));

void finding_prefix(finding *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a number, unless it is not known: -1. */
void finding_figure_add(finding *, const char *name, int64_t value);

bool finding_is_same(const finding *, const finding *); /* grade, text and advice */

#endif
