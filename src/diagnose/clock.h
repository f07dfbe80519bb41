/* Compares the clock of a server with ours, and measures the round trip. */
#ifndef LKI_DIAGNOSE_CLOCK_H
#define LKI_DIAGNOSE_CLOCK_H

#include "net/talk.h"

lk_status lki_clock_compare(lki_talk *, lk_facts *, lki_error *);

#endif
