/* How `watch` prints an event: a line for people, or an object of --json. */
#ifndef CLI_WATCH_PRINT_H
#define CLI_WATCH_PRINT_H

#include "watch_events.h"

/* On stdout, with the time of now. */
void watch_print_line(const watch_event *);
void watch_print_json(const watch_event *);

#endif
