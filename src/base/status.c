/* Names and texts of the statuses, from the list in latchkey.h; the version. */
#include "latchkey.h"

#ifndef LKI_VERSION
#error "LKI_VERSION comes from the build"
#endif

#define NAME(code, text) [code] = #code,
#define TEXT(code, text) [code] = text,

static const char *const names[] = {LK_STATUSES(NAME)};
static const char *const texts[] = {LK_STATUSES(TEXT)};

static bool is_known(lk_status status) {
    return (size_t)status < sizeof names / sizeof *names;
}

const char *lk_status_name(lk_status status) {
    return is_known(status) ? names[status] : "LK_?";
}

const char *lk_status_text(lk_status status) {
    return is_known(status) ? texts[status] : "not a status of latchkey";
}

const char *lk_version(void) {
    return LKI_VERSION;
}
