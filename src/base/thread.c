/* See thread.h. */
#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>

bool lki_thread_start(pthread_t *thread, void *(*run)(void *), void *context) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

static _Thread_local unsigned cancellation_depth;
static _Thread_local int cancellation_before;

void lki_cancellation_off(void) {
    if (cancellation_depth++ == 0)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation_before);
}

void lki_cancellation_on(void) {
    if (--cancellation_depth == 0)
        pthread_setcancelstate(cancellation_before, NULL);
}

static _Atomic unsigned forks;
static pthread_once_t counting = PTHREAD_ONCE_INIT;

static void count_fork(void) {
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void start_counting(void) {
    pthread_atfork(NULL, NULL, count_fork);
}

unsigned lki_fork_count(void) {
    pthread_once(&counting, start_counting);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
