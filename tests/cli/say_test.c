/* The passwords of URLs are overwritten, whatever else is in the text. */
#include "say.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_covered(const char *text, const char *ends, const char *wanted) {
    char got[200];
    snprintf(got, sizeof got, "%s", text);
    cover_passwords(got, ends);
    assert_string_equal(got, wanted);
}

static void the_password_of_a_server_is_covered(void **state) {
    (void)state;
    assert_covered("redis://ann:secret@h:1/2", "", "redis://ann:xxxxxx@h:1/2");
    assert_covered("redis://:a@b@h", "", "redis://:xxx@h");
    assert_covered("rediss+cluster://ann:secret@h1:1,h2", "",
                   "rediss+cluster://ann:xxxxxx@h1:1,h2");
    assert_covered("redis://h:1/2", "", "redis://h:1/2");
}

static void the_password_of_sentinels_is_covered(void **state) {
    (void)state;
    assert_covered("redis+sentinel://:a@h:1/m?sentinel_user=u&sentinel_password=secret", "",
                   "redis+sentinel://:x@h:1/m?sentinel_user=u&sentinel_password=xxxxxx");
    assert_covered("redis+sentinel://h:1/m?sentinel_password=a@b&c#d/e", "",
                   "redis+sentinel://h:1/m?sentinel_password=xxxxxxxxx");
    assert_covered("redis+sentinel://h/m?sentinel_password=", "",
                   "redis+sentinel://h/m?sentinel_password=");
}

static void only_urls_are_covered(void **state) {
    (void)state;
    assert_covered("see redis+sentinel://h/m?sentinel_password=ab now", " ",
                   "see redis+sentinel://h/m?sentinel_password=xx now");
    assert_covered("redis://:a@h or redis://:b@h", " ", "redis://:x@h or redis://:x@h");
    assert_covered("a sentinel_password=b", " ", "a sentinel_password=b");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_password_of_a_server_is_covered),
        cmocka_unit_test(the_password_of_sentinels_is_covered),
        cmocka_unit_test(only_urls_are_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
