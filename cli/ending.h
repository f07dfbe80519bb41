/* The signals that ask a command to end, for commands that wait in poll(2) and end in good order. */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT make this descriptor readable, and do nothing
 * else. One that was ignored when we started stays so. Below 0: there is no descriptor to be had.
 */
int ending_fd(void);

#endif
