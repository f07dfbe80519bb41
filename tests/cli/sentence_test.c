/* The library's sentences, in the words of the command. */
#include "sentence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_becomes(const char *sentence, const char *wanted) {
    char got[200];
    sentence_translate(sentence, got, sizeof got);
    assert_string_equal(got, wanted);
}

static void a_field_becomes_its_option(void **state) {
    (void)state;
    assert_becomes("tls_ca: the file /x contains no certificate (none)",
                   "--tls-ca: the file /x contains no certificate (none)");
    assert_becomes("tls_key without tls_cert; give both",
                   "--tls-key without --tls-cert; give both");
    assert_becomes("use a host, or a tls_server_name, that it names",
                   "use a host, or a --tls-server-name, that it names");
    assert_becomes("it is refused; set tls_cert", "it is refused; set --tls-cert");
    assert_becomes("prefix must be 1 to 64 bytes", "--prefix must be 1 to 64 bytes");
    assert_becomes("lock \"x\": owner must be 1 to 128 bytes",
                   "lock \"x\": --owner must be 1 to 128 bytes");
    assert_becomes("lock \"x\": lease_ms must be 100 to 86400000",
                   "lock \"x\": --lease must be 100 to 86400000");
    assert_becomes("lock \"x\": group must be at most 64 bytes",
                   "lock \"x\": --group must be at most 64 bytes");
    assert_becomes("app must be at most 128 bytes", "--app must be at most 128 bytes");
    assert_becomes("lock \"x\": wait_ms must not be below -1",
                   "lock \"x\": --wait must not be below -1");
}

static void names_and_files_stay_as_they_are(void **state) {
    (void)state;
    static const char *const same[] = {
        "",
        "lock \"tls_ca\" on local: was lost",
        "lock \"a tls_ca b\" on local: was lost",
        "lock \"a\": owner must \": prefix must be\" was lost",
        "no such file: /etc/tls_ca, nor tls_cab, nor x.tls_ca",
        "choose another name or prefix",
        "another owner must wait",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_becomes(same[i], same[i]);
}

static void a_line_of_a_file_is_told_in_the_words_of_the_file(void **state) {
    (void)state;
    assert_becomes("/etc/latchkey.conf:12: tls_ca cannot be read",
                   "/etc/latchkey.conf:12: tls_ca cannot be read");
    assert_becomes("/home/a b/latchkey.conf:12: tls_ca cannot be read",
                   "/home/a b/latchkey.conf:12: tls_ca cannot be read");
    assert_becomes("not at 127.0.0.1:6379: set tls_ca", "not at 127.0.0.1:6379: set --tls-ca");
    assert_becomes("redis://host:6379: set tls_ca", "redis://host:6379: set --tls-ca");
    assert_becomes("here: tls_ca", "here: --tls-ca");
    assert_becomes(":1: tls_ca", ":1: --tls-ca");
}

static void a_variable_is_told_by_its_name(void **state) {
    (void)state;
    assert_becomes("LATCHKEY_TLS_KEY: it is not the key of tls_cert",
                   "LATCHKEY_TLS_KEY: it is not the key of tls_cert");
}

static void values_of_the_configuration_are_known_by_their_source(void **state) {
    (void)state;
    assert_true(sentence_is_about_configuration("/etc/latchkey.conf:12: tls_ca: no"));
    assert_true(sentence_is_about_configuration("mine.conf:1: url: no"));
    assert_true(sentence_is_about_configuration("LATCHKEY_TLS_CA: no"));
    assert_true(sentence_is_about_configuration("LATCHKEY_REPLICA_TIMEOUT must be less"));
    assert_false(sentence_is_about_configuration("LATCHKEY_URL: no"));
    assert_false(sentence_is_about_configuration("LATCHKEY_LOCAL_DIR is \"x\": no"));
    assert_false(sentence_is_about_configuration("tls_ca: no"));
    assert_false(sentence_is_about_configuration("redis://h:1: no"));
    assert_false(sentence_is_about_configuration(""));
}

static void what_is_too_long_is_cut(void **state) {
    (void)state;
    char got[12];
    memset(got, 'x', sizeof got);
    sentence_translate("set tls_ca now", got, 9);
    assert_string_equal(got, "set --tl");
    assert_int_equal(got[9], 'x');
    sentence_translate("set tls_ca now", got, 3);
    assert_string_equal(got, "se");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_becomes_its_option),
        cmocka_unit_test(names_and_files_stay_as_they_are),
        cmocka_unit_test(a_line_of_a_file_is_told_in_the_words_of_the_file),
        cmocka_unit_test(a_variable_is_told_by_its_name),
        cmocka_unit_test(values_of_the_configuration_are_known_by_their_source),
        cmocka_unit_test(what_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
