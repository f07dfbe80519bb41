/* scripts/embed-scripts.cmake: what it makes of protocol/lua is what a server takes. */
#include "lk_scripts.h"
#include "lk_scripts_test.h"
#include "server.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SCRIPTS = sizeof lki_scripts / sizeof *lki_scripts };

static_assert(SCRIPTS == sizeof lki_test_scripts / sizeof *lki_test_scripts,
              "both flavours have the same operations");

static void the_operations_stand_in_the_order_of_lkc_op(void **state) {
    static const char *const names[] = {"acquire", "release", "renew", "convert",
                                        "cancel",  "inspect", "force"};
    (void)state;
    assert_int_equal(SCRIPTS, sizeof names / sizeof *names);
    for (size_t i = 0; i < SCRIPTS; i++) {
        assert_string_equal(lki_scripts[i].name, names[i]);
        assert_string_equal(lki_test_scripts[i].name, names[i]);
    }
}

static void assert_small(const lki_script *script) {
    assert_int_equal(strlen(script->text), script->length);
    for (const char *line = script->text; *line; line = strchr(line, '\n') + 1) {
        assert_int_not_equal(*line, ' ');
        assert_int_not_equal(*line, '\t');
        assert_int_not_equal(*line, '\n');
        assert_int_not_equal(strncmp(line, "--", 2), 0);
    }
}

static void blank_lines_indentation_and_comments_are_left_out(void **state) {
    (void)state;
    for (size_t i = 0; i < SCRIPTS; i++) {
        assert_small(&lki_scripts[i]);
        assert_small(&lki_test_scripts[i]);
    }
}

static void only_the_test_flavour_reads_the_time_from_a_key(void **state) {
    (void)state;
    for (size_t i = 0; i < SCRIPTS; i++) {
        assert_null(strstr(lki_scripts[i].text, "lk-test-clock"));
        assert_non_null(strstr(lki_test_scripts[i].text, "lk-test-clock"));
    }
}

static void a_server_takes_each_script_under_its_sha1(void **state) {
    (void)state;
    test_server *server = test_server_start(test_server_any(), NULL);
    assert_non_null(server);
    redisContext *context = redisConnectUnix(test_server_socket(server));
    assert_non_null(context);
    for (size_t i = 0; i < SCRIPTS * 2; i++) {
        const lki_script *script = i < SCRIPTS ? &lki_scripts[i] : &lki_test_scripts[i - SCRIPTS];
        redisReply *reply = redisCommand(context, "SCRIPT LOAD %b", script->text, script->length);
        assert_non_null(reply);
        assert_string_equal(reply->str, script->sha1);
        freeReplyObject(reply);
    }
    redisFree(context);
    test_server_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_operations_stand_in_the_order_of_lkc_op),
        cmocka_unit_test(blank_lines_indentation_and_comments_are_left_out),
        cmocka_unit_test(only_the_test_flavour_reads_the_time_from_a_key),
        cmocka_unit_test(a_server_takes_each_script_under_its_sha1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
