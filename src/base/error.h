/* A status with its sentence, and the sentence of the thread that lk_last_error() returns. */
#ifndef LKI_ERROR_H
#define LKI_ERROR_H

#include "latchkey.h"

enum { LKI_ERROR_MOST = 1024 }; /* bytes, with the NUL; the name of a lock may take half of it */

typedef struct {
    lk_status status;
    char text[LKI_ERROR_MOST];
} lki_error;

/* Both return the status. A text that is too long is cut off. */
lk_status lki_error_set(lki_error *, lk_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
lk_status lki_error_no_memory(lki_error *);

/*
 * Replaces control bytes by '?'. Texts of a server may contain any byte, and must not control a
 * terminal or forge a line of a log.
 */
void lki_text_tame(char *text);

/* For the end of a public call: sets lk_last_error() of this thread. Both return the status. */
lk_status lki_fail(lk_status, const char *format, ...) __attribute__((format(printf, 2, 3)));
lk_status lki_fail_with(const lki_error *);

#endif
