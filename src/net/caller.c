/* A thread that waits in a call: how it sleeps, and how others reach it. See link.h. */
#include "base/clock.h"
#include "net/link.h"

#include <time.h>
#include <unistd.h>

void lki_caller_init(lki_caller *caller) {
    pthread_condattr_t attributes;
    *caller = (lki_caller){.kick = -1};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&caller->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

void lki_caller_clear(lki_caller *caller) {
    pthread_cond_destroy(&caller->wake);
}

void lki_caller_notify(lki_caller *caller) {
    static const uint64_t one = 1;
    if (caller->asleep)
        pthread_cond_signal(&caller->wake);
    else if (caller->kick >= 0 && write(caller->kick, &one, sizeof one) < 0)
        return; /* EAGAIN: it is kicked as hard as can be */
}

/*
 * Condition variables know no CLOCK_BOOTTIME. A machine that slept makes this late; whoever
 * relies on the clock reads it again.
 */
void lki_caller_sleep(lki_caller *caller, pthread_mutex_t *monitor, int64_t until_us) {
    caller->asleep = true;
    if (until_us == LKI_NEVER) {
        pthread_cond_wait(&caller->wake, monitor);
    } else {
        struct timespec end;
        int64_t left_us = until_us - lki_now_us();
        clock_gettime(CLOCK_MONOTONIC, &end);
        left_us = left_us < 0 ? 0 : left_us;
        end.tv_sec += (time_t)(left_us / 1000000);
        end.tv_nsec += (long)(left_us % 1000000) * 1000;
        if (end.tv_nsec >= 1000000000) {
            end.tv_sec++;
            end.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&caller->wake, monitor, &end);
    }
    caller->asleep = false;
}
