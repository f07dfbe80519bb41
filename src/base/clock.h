/* The one clock of the library: CLOCK_BOOTTIME, which goes on while the machine sleeps. */
#ifndef LKI_CLOCK_H
#define LKI_CLOCK_H

#include <stdint.h>

#define LKI_NEVER INT64_MAX /* as a deadline */

int64_t lki_now_us(void);

/* now + ms, or LKI_NEVER when that is beyond all time. */
int64_t lki_after_ms(int64_t now_us, int64_t ms);

/* Milliseconds until a deadline for poll(2): rounded up, 0 when it is over, -1 for LKI_NEVER. */
int lki_poll_ms(int64_t deadline_us);

/*
 * A deadline that is looked at so late means that this process was stopped or starved. What it
 * waits for may have come meanwhile, unread: it gets a moment of grace to read it, once.
 */
enum { LKI_LATE_US = 20000, LKI_GRACE_US = 100000 };

#endif
