/* The signals that ask a command to end, for commands that wait in poll(2) and clean up. */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT only make the returned descriptor readable. A
 * signal that was ignored when the program started stays ignored. Below 0: no descriptor is left.
 */
int ending_fd(void);

#endif
