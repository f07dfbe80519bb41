/*
 * See error.h: a status with its sentence. Apart from last_error.c, because the TLS module compiles
 * this file alone: the thread's sentence exists once, in the library.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

void lki_text_tame(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

lk_status lki_error_set(lki_error *error, lk_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    lki_text_tame(error->text);
    return status;
}

lk_status lki_error_no_memory(lki_error *error) {
    return lki_error_set(error, LK_NOMEM, "out of memory");
}
