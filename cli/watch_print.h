/* Prints an event of `watch`: as a line for people, or as JSON. */
#ifndef CLI_WATCH_PRINT_H
#define CLI_WATCH_PRINT_H

#include "watch_events.h"

/* To stdout, with the current time. */
void watch_print_line(const watch_event *);
void watch_print_json(const watch_event *);

#endif
