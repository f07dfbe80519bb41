/*
 * What the environment may say, and when it is not asked: a program with more rights than its user
 * must not ask the user where the locks are. secure_getenv(3) is what keeps that apart.
 */
#include "fake_server.h"
#include "latchkey.h"
#include "test_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *hidden = ""; /* a variable, as if the program had more rights than its user */

/* In the place of the C library's. */
char *secure_getenv(const char *name) {
    return strcmp(name, hidden) == 0 ? NULL : getenv(name);
}

static fake_server *fake;

static int set_up(void **state) {
    (void)state;
    fake = fake_server_start(NULL);
    assert_non_null(fake);
    setenv("LATCHKEY_PASSWORD", "hunter2", 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fake_server_stop(fake);
    unsetenv("LATCHKEY_URL");
    unsetenv("LATCHKEY_PASSWORD");
    unsetenv("LATCHKEY_LOCAL_DIR");
    return 0;
}

static void the_password_is_that_of_the_environment_if_the_user_may_give_it(void **state) {
    (void)state;
    char *url = test_print("unix://%s", fake_server_socket(fake));
    for (size_t i = 0; i < 2; i++) {
        lk_client *client = NULL;
        hidden = i == 0 ? "LATCHKEY_PASSWORD" : "";
        assert_int_equal(lk_open(url, NULL, &client), LK_OK);
        assert_int_equal(fake_server_count(fake, "AUTH hunter2"), i);
        lk_close(client);
    }
    free(url);
}

static void the_url_is_that_of_the_environment_if_the_user_may_give_it(void **state) {
    (void)state;
    lk_client *client = NULL;
    setenv("LATCHKEY_URL", "http://nowhere", 1);
    setenv("LATCHKEY_LOCAL_DIR", "relative", 1);
    hidden = "";
    assert_int_equal(lk_open(NULL, NULL, &client), LK_INVALID);
    assert_non_null(strstr(lk_last_error(), "scheme"));
    hidden = "LATCHKEY_URL"; /* so it is local:, whose folder cannot be used */
    assert_int_equal(lk_open(NULL, NULL, &client), LK_INVALID);
    assert_non_null(strstr(lk_last_error(), "LATCHKEY_LOCAL_DIR"));
    hidden = "";
    setenv("LATCHKEY_URL", "", 1); /* as if it were not set */
    assert_int_equal(lk_open(NULL, NULL, &client), LK_INVALID);
    assert_non_null(strstr(lk_last_error(), "LATCHKEY_LOCAL_DIR"));
    assert_null(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            the_password_is_that_of_the_environment_if_the_user_may_give_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_url_is_that_of_the_environment_if_the_user_may_give_it,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
