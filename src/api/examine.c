/* lk_examine. */
#include "diagnose/examine.h"

#include "base/memory.h"
#include "base/thread.h"

lk_status lk_examine(const char *url, const lk_client_options *options, lk_facts **out) {
    lki_error error;
    lki_choice choice = {0};
    if (!out)
        return lki_fail(LK_INVALID, "out is NULL");
    lki_cancellation_off();
    lk_status status = lki_choice_read(url, options, &choice, &error);
    if (status == LK_OK)
        status = lki_examine(&choice, out, &error);
    lki_choice_clear(&choice);
    lki_cancellation_on();
    return status == LK_OK ? LK_OK : lki_fail_with(&error);
}

/* The facts are the first member of one block. */
void lk_facts_free(lk_facts *facts) {
    lki_free(facts);
}
