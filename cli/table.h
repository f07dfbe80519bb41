/*
 * Tables that line up: cells are kept until all of them are known. Bytes that a terminal would take
 * for orders are shown as '?'.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

typedef struct table table;

/* `headings` is ended by NULL; one that begins with '>' is of a column of numbers. NULL: no memory. */
table *table_new(const char *const *headings);
void table_free(table *);

/* The next cell, from left to right, row by row. What there is no memory for is left out. */
void table_add(table *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_print(const table *, FILE *); /* headings are bold on a terminal */

/* How wide a text stands on the terminal. */
size_t text_width(const char *text);

/* Puts '?' in place of each byte that a terminal would take for an order, or that is no UTF-8. */
void text_tame(char *text);

#endif
