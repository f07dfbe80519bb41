/* Starting threads, pthread_cancel(), and noticing a fork. */
#ifndef LKI_THREAD_H
#define LKI_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Marks the declaration of a function that releases the monitor and takes it again. After the call,
 * read shared fields again. docs/THREADS.md lists these functions.
 */
#define LKI_UNLOCKS

/* The thread blocks all signals: they are for the threads of the program. False: not started. */
bool lki_thread_start(pthread_t *, void *(*run)(void *), void *context);

/*
 * Between these two calls, a pthread_cancel() of this thread is deferred. A thread that was
 * cancelled inside the library would keep a mutex, and leave other threads pointing into its dead
 * stack. Calls nest.
 */
void lki_cancellation_off(void);
void lki_cancellation_on(void);

/*
 * The number of forks between the first call's process and this one. If the count differs from the
 * one that a client was opened with, this process is a child, and must not use the client.
 */
unsigned lki_fork_count(void);

#endif
