/* See error.h: the sentence of the thread. Not part of the TLS module; see error.c. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[LKI_ERROR_MOST];

lk_status lki_fail(lk_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return status;
}

lk_status lki_fail_with(const lki_error *error) {
    memcpy(last_error, error->text, sizeof last_error);
    return error->status;
}

const char *lk_last_error(void) {
    return last_error;
}
