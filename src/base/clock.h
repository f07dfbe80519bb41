/*
 * The only clock of the library: CLOCK_BOOTTIME. It also counts the time that the machine is
 * suspended, in which leases expire on the server.
 */
#ifndef LKI_CLOCK_H
#define LKI_CLOCK_H

#include <stdint.h>

#define LKI_NEVER INT64_MAX /* a deadline that never comes */

int64_t lki_now_us(void);

/* now_us + ms, or LKI_NEVER if that would overflow. */
int64_t lki_after_ms(int64_t now_us, int64_t ms);

/* The timeout of poll(2) for a deadline: ms, rounded up; 0 if it is over; -1 for LKI_NEVER. */
int lki_poll_ms(int64_t deadline_us);

/*
 * A deadline that is checked more than LKI_LATE_US late means that this process was stopped or got
 * no processor time. The reply may already be in the socket, unread. So the deadline is extended
 * once, by LKI_GRACE_US, to read it.
 */
enum { LKI_LATE_US = 20000, LKI_GRACE_US = 100000 };

#endif
