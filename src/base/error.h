/* A status with its sentence, and the sentence that lk_last_error() gives a thread. */
#ifndef LKI_ERROR_H
#define LKI_ERROR_H

#include "latchkey.h"

enum { LKI_ERROR_MOST = 1024 }; /* a name may take half of it */

typedef struct {
    lk_status status;
    char text[LKI_ERROR_MOST];
} lki_error;

/* Both return the status; a text that is too long is cut. */
lk_status lki_error_set(lki_error *, lk_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
lk_status lki_error_no_memory(lki_error *);

/*
 * Puts '?' in the place of control bytes: what a server says may hold any, and whoever reads it in a
 * terminal, or in a log of one line each, must not be led astray by it.
 */
void lki_text_tame(char *text);

/* The end of a public call: its sentence becomes lk_last_error() of this thread. */
lk_status lki_fail(lk_status, const char *format, ...) __attribute__((format(printf, 2, 3)));
lk_status lki_fail_with(const lki_error *);

#endif
