/* Threads of the library: they take no signals, which are the program's. */
#ifndef LKI_THREAD_H
#define LKI_THREAD_H

#include <pthread.h>
#include <stdbool.h>

bool lki_thread_start(pthread_t *, void *(*run)(void *), void *context); /* false: none left */

#endif
