/*
 * Tables with aligned columns: cells are collected first and printed together. Bytes that a terminal
 * would take for control characters are shown as '?'.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

typedef struct table table;

/* `headings` ends with NULL. A heading that begins with '>' is right-aligned. NULL: no memory. */
table *table_new(const char *const *headings);
void table_free(table *);

/* Adds a cell, from left to right, row by row. Drops the cell if there is no memory. */
void table_add(table *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_print(const table *, FILE *); /* headings are bold on a terminal */

/* The number of columns that the text takes on a terminal. */
size_t text_width(const char *text);

/* Replaces control characters and bytes that are not UTF-8 with '?'. */
void text_sanitize(char *text);

#endif
