/* Sentences: one line each, whatever the server put into its own. */
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void control_bytes_become_question_marks(void **state) {
    (void)state;
    lki_error error;
    assert_int_equal(lki_error_set(&error, LK_DENIED, "said: %s", "a\nb\x1b[2Jc\x7f\rd\te"),
                     LK_DENIED);
    assert_string_equal(error.text, "said: a?b?[2Jc??d?e");
}

static void all_other_bytes_stay(void **state) {
    (void)state;
    lki_error error;
    lki_error_set(&error, LK_DENIED, "%s", " ~\xc3\xa4\xff");
    assert_string_equal(error.text, " ~\xc3\xa4\xff");
}

static void a_sentence_that_is_too_long_is_cut(void **state) {
    (void)state;
    lki_error error;
    lki_error_set(&error, LK_DENIED, "%0*d", 2 * LKI_ERROR_MOST, 0);
    assert_int_equal(strlen(error.text), LKI_ERROR_MOST - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_bytes_become_question_marks),
        cmocka_unit_test(all_other_bytes_stay),
        cmocka_unit_test(a_sentence_that_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
