/* The table of the rounds, and what it says about failovers. */
#ifndef FAULTS_REPORT_H
#define FAULTS_REPORT_H

#include "round.h"

#include <stdio.h>

void report_head(FILE *);
void report_round(FILE *, const round_result *); /* a row, and a line for each kind of violation */

/* Totals, and how often two clients held a lock at once in how many failovers. */
void report_sums(FILE *, const round_result *, size_t count);

#endif
