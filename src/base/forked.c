/* See forked.h. */
#include "base/forked.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic unsigned forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count_fork(void) {
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void arrange(void) {
    pthread_atfork(NULL, NULL, count_fork);
}

unsigned lki_fork_count(void) {
    pthread_once(&once, arrange);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
