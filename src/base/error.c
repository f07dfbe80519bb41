/* See error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[LKI_ERROR_MOST];

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
