/* Threads and processes: what the library must know of both. */
#ifndef LKI_THREAD_H
#define LKI_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Marks the declaration of a function that lets go of the monitor and takes it again: whatever was
 * read from shared fields before the call must be read again. docs/THREADS.md lists them all.
 */
#define LKI_UNLOCKS

/* The thread takes no signals: they are for the program. */
bool lki_thread_start(pthread_t *, void *(*run)(void *), void *context); /* false: none left */

/*
 * Between these two pthread_cancel() waits. A thread that ended inside the library would keep a mutex,
 * and leave other threads pointing into its dead stack. Calls nest.
 */
void lki_cancellation_off(void);
void lki_cancellation_on(void);

/* Differs between a process and its children: a client must not be used in a child. */
unsigned lki_fork_count(void);

#endif
