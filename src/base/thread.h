/* Threads of the library: they take no signals, which are the program's. */
#ifndef LKI_THREAD_H
#define LKI_THREAD_H

#include <pthread.h>
#include <stdbool.h>

bool lki_thread_start(pthread_t *, void *(*run)(void *), void *context); /* false: none left */

/*
 * Between these two pthread_cancel() waits: a thread that ended inside of the library would take a
 * mutex with it, or leave its stack to those who work for it. They nest.
 */
void lki_cancellation_off(void);
void lki_cancellation_on(void);

#endif
