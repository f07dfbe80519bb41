/* The options of a client: defaults, limits, and what others see of them. */
#include "base/memory.h"
#include "client/settings.h"
#include "engine/form.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* In the place of the C library's: NULL fails. */
static const char *host_name = "host";

int gethostname(char *name, size_t length) {
    if (!host_name) {
        errno = EPERM;
        return -1;
    }
    size_t copied = strlen(host_name) + 1 < length ? strlen(host_name) + 1 : length;
    memcpy(name, host_name, copied);
    errno = copied > strlen(host_name) ? 0 : ENAMETOOLONG;
    return errno ? -1 : 0;
}

static lki_settings read_options(const lk_client_options *options) {
    lki_settings settings = {0};
    lki_error error = {0};
    if (lki_settings_read(options, &settings, &error) != LK_OK)
        fail_msg("%s", error.text);
    return settings;
}

/* Refused, and the sentence names the option; the output is as it was. */
static void assert_refused(const lk_client_options *options, lk_status expected, const char *name) {
    lki_settings settings = {.connect_timeout_ms = 77};
    lki_error error = {0};
    assert_int_equal(lki_settings_read(options, &settings, &error), expected);
    assert_int_equal(error.status, expected);
    if (strncmp(error.text, name, strlen(name)) != 0)
        fail_msg("not about %s: %s", name, error.text);
    assert_int_equal(settings.connect_timeout_ms, 77);
    assert_null(settings.prefix);
}

/* ------------------------------------------------------------------------------------ defaults */

static void assert_defaults(const lk_client_options *options) {
    lki_settings settings = read_options(options);
    char who[300];
    snprintf(who, sizeof who, "%ld host %s", (long)getpid(), program_invocation_short_name);
    assert_string_equal(settings.prefix, "lk");
    assert_string_equal(settings.who, who);
    assert_int_equal(settings.connect_timeout_ms, 5000);
    assert_int_equal(settings.command_timeout_ms, 5000);
    assert_null(settings.tls_ca);
    assert_null(settings.tls_cert);
    assert_null(settings.tls_key);
    assert_null(settings.tls_server_name);
    assert_null(settings.log);
    lki_settings_clear(&settings);
}

static void no_options_are_all_defaults(void **state) {
    (void)state;
    assert_defaults(NULL);
}

static void options_of_zero_are_all_defaults(void **state) {
    (void)state;
    assert_defaults(&(lk_client_options){0});
}

static void log_line(lk_log_level level, const char *line, void *arg) {
    (void)level;
    (void)line;
    (void)arg;
}

static void what_is_given_is_taken_and_copied(void **state) {
    (void)state;
    char prefix[] = "prefix", app[] = "app", ca[] = "ca", cert[] = "cert", key[] = "key",
         server_name[] = "name";
    int arg;
    lk_client_options options = {.app = app,
                                 .prefix = prefix,
                                 .connect_timeout_ms = 11,
                                 .command_timeout_ms = 12,
                                 .tls_ca = ca,
                                 .tls_cert = cert,
                                 .tls_key = key,
                                 .tls_server_name = server_name,
                                 .log = log_line,
                                 .log_arg = &arg};
    lki_settings settings = read_options(&options);
    *prefix = *app = *ca = *cert = *key = *server_name = '?';
    lki_tls_files tls = lki_settings_tls(&settings);
    assert_string_equal(settings.prefix, "prefix");
    assert_non_null(strstr(settings.who, " host app"));
    assert_int_equal(settings.connect_timeout_ms, 11);
    assert_int_equal(settings.command_timeout_ms, 12);
    assert_string_equal(tls.ca, "ca");
    assert_string_equal(tls.cert, "cert");
    assert_string_equal(tls.key, "key");
    assert_string_equal(tls.server_name, "name");
    assert_ptr_equal(settings.log, log_line);
    assert_ptr_equal(settings.log_arg, &arg);
    lki_settings_clear(&settings);
}

static void options_of_tls_suit_a_url_with_tls_alone(void **state) {
    (void)state;
    char given[] = "x";
    static const char *const plain[] = {"redis://h", "valkey://h",           "unix:///s",
                                        "REDIS://h", "redis+sentinel://h/m", "valkey+cluster://h"};
    static const char *const others[] = {"rediss://h", "valkeys://h",
                                         "local:", "valkeys+sentinel://h/m", "rediss+cluster://h"};
    const struct {
        const char *name;
        lki_settings settings;
    } options[] = {{"tls_ca", {.tls_ca = given}},
                   {"tls_cert", {.tls_cert = given}},
                   {"tls_key", {.tls_key = given}},
                   {"tls_server_name", {.tls_server_name = given}}};
    const lki_settings none = {0};
    lki_error error;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        for (size_t j = 0; j < sizeof plain / sizeof *plain; j++) {
            assert_int_equal(lki_settings_suit(&options[i].settings, plain[j], &error), LK_INVALID);
            assert_memory_equal(error.text, options[i].name, strlen(options[i].name));
            assert_int_equal(lki_settings_suit(&none, plain[j], &error), LK_OK);
        }
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            assert_int_equal(lki_settings_suit(&options[i].settings, others[j], &error), LK_OK);
    }
}

static void settings_that_were_cleared_are_empty(void **state) {
    (void)state;
    lki_settings settings = read_options(NULL), empty = {0};
    lki_settings_clear(&settings);
    assert_memory_equal(&settings, &empty, sizeof empty);
    lki_settings_clear(&settings);
}

/* -------------------------------------------------------------------------------------- limits */

static void a_timeout_is_1_ms_to_a_day(void **state) {
    (void)state;
    const int64_t good_ms[] = {1, 86400000}, bad_ms[] = {-1, INT64_MIN, 86400001, INT64_MAX};
    for (size_t i = 0; i < 2; i++) {
        lki_settings settings = read_options(&(lk_client_options){
            .connect_timeout_ms = good_ms[i], .command_timeout_ms = good_ms[i]});
        assert_int_equal(settings.connect_timeout_ms, good_ms[i]);
        assert_int_equal(settings.command_timeout_ms, good_ms[i]);
        lki_settings_clear(&settings);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_refused(&(lk_client_options){.connect_timeout_ms = bad_ms[i]}, LK_INVALID,
                       "connect_timeout_ms");
        assert_refused(&(lk_client_options){.command_timeout_ms = bad_ms[i]}, LK_INVALID,
                       "command_timeout_ms");
    }
}

static void a_prefix_has_1_to_64_bytes(void **state) {
    (void)state;
    char prefix[LKI_PREFIX_MOST + 2] = {0};
    memset(prefix, 'p', LKI_PREFIX_MOST);
    lki_settings settings = read_options(&(lk_client_options){.prefix = prefix});
    assert_string_equal(settings.prefix, prefix);
    lki_settings_clear(&settings);
    prefix[LKI_PREFIX_MOST] = 'p';
    assert_refused(&(lk_client_options){.prefix = prefix}, LK_INVALID, "prefix");
    assert_refused(&(lk_client_options){.prefix = ""}, LK_INVALID, "prefix");
}

static void a_prefix_has_no_braces(void **state) {
    (void)state;
    const char *const prefixes[] = {"{", "}", "a{", "{a}", "a}b"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        assert_refused(&(lk_client_options){.prefix = prefixes[i]}, LK_INVALID, "prefix");
}

static void an_app_has_at_most_128_bytes(void **state) {
    (void)state;
    char app[130] = {0};
    memset(app, 'a', 128);
    lki_settings settings = read_options(&(lk_client_options){.app = app});
    assert_string_equal(strrchr(settings.who, ' ') + 1, app);
    lki_settings_clear(&settings);
    app[128] = 'a';
    assert_refused(&(lk_client_options){.app = app}, LK_INVALID, "app");
}

static void replicas_have_half_of_the_time_at_most(void **state) {
    (void)state;
    lki_settings settings = read_options(&(lk_client_options){.min_replicas = 2});
    assert_int_equal(settings.min_replicas, 2);
    assert_int_equal(settings.replica_timeout_ms, 1000);
    lki_settings_clear(&settings);
    settings = read_options(&(lk_client_options){.min_replicas = 2, .command_timeout_ms = 500});
    assert_int_equal(settings.replica_timeout_ms, 250);
    lki_settings_clear(&settings);
    assert_refused(&(lk_client_options){.command_timeout_ms = 500, .replica_timeout_ms = 251},
                   LK_INVALID, "replica_timeout_ms");
}

static void a_key_needs_its_certificate(void **state) {
    (void)state;
    assert_refused(&(lk_client_options){.tls_key = "key"}, LK_INVALID, "tls_key");
    lki_settings settings = read_options(&(lk_client_options){.tls_cert = "cert"});
    assert_string_equal(settings.tls_cert, "cert");
    lki_settings_clear(&settings);
}

/* ------------------------------------------------------------------------- what others see */

static void assert_who(const char *host, const char *app, const char *seen_host) {
    char who[300];
    host_name = host;
    lki_settings settings = read_options(&(lk_client_options){.app = app});
    host_name = "host";
    snprintf(who, sizeof who, "%ld %s %s", (long)getpid(), seen_host, app);
    assert_string_equal(settings.who, who);
    assert_true(strlen(settings.who) <= LKI_WHO_MOST);
    lki_settings_clear(&settings);
}

static void who_is_process_host_and_app(void **state) {
    (void)state;
    assert_who("host", "app", "host");
    assert_who("host", "", "host");
    assert_who("host", "an app with spaces", "host");
    assert_who("host.example.com", "\xff\n", "host.example.com");
}

/* The parts are told apart by their spaces. */
static void the_host_in_who_is_one_word(void **state) {
    (void)state;
    assert_who("my host", "app", "my");
    assert_who("", "app", "?");
    assert_who(" x", "app", "?");
    assert_who(NULL, "app", "?");
}

static void the_longest_host_and_app_fit_into_who(void **state) {
    (void)state;
    char host[300] = {0}, app[129] = {0}, seen[65] = {0};
    memset(host, 'h', 64);
    memset(app, 'a', 128);
    memset(seen, 'h', 64);
    assert_who(host, app, seen);
    memset(host, 'h', 255);
    assert_who(host, app, seen);
}

static void a_long_name_of_the_program_is_cut(void **state) {
    (void)state;
    char name[301] = {0}, *before = program_invocation_short_name;
    memset(name, 'n', 300);
    program_invocation_short_name = name;
    lki_settings settings = read_options(NULL);
    program_invocation_short_name = before;
    assert_int_equal(strlen(strrchr(settings.who, ' ') + 1), 128);
    assert_true(strlen(settings.connection_name) <= 9 + 128);
    lki_settings_clear(&settings);
}

static void assert_connection_name(const char *app, const char *expected) {
    lki_settings settings = read_options(&(lk_client_options){.app = app});
    assert_string_equal(settings.connection_name, expected);
    lki_settings_clear(&settings);
}

/* CLIENT SETNAME refuses spaces, line feeds and other special bytes. */
static void a_connection_is_named_after_the_app_with_no_byte_that_the_server_refuses(void **state) {
    (void)state;
    assert_connection_name("app", "latchkey:app");
    assert_connection_name("", "latchkey:");
    assert_connection_name("an app\r\n", "latchkey:an_app__");
    assert_connection_name("\x01\x1f\x7f\x80\xff~!", "latchkey:_____~!");
    for (int c = 1; c < 256; c++) {
        char app[2] = {(char)c, 0}, expected[16];
        snprintf(expected, sizeof expected, "latchkey:%c", c > ' ' && c < 0x7f ? c : '_');
        assert_connection_name(app, expected);
    }
}

/* -------------------------------------------------------------------------------------- memory */

static int allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    lk_client_options options = {
        .tls_ca = "ca", .tls_cert = "cert", .tls_key = "key", .tls_server_name = "name"};
    lk_status status = LK_NOMEM;
    for (refused_one = 1; status != LK_OK; refused_one++) {
        lki_settings settings = {0}, empty = {0};
        lki_error error = {0};
        allocations = 0;
        lki_memory_refuse(refuses);
        status = lki_settings_read(&options, &settings, &error);
        lki_memory_refuse(NULL);
        assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
        assert_int_equal(error.status, status);
        if (status != LK_OK)
            assert_memory_equal(&settings, &empty, sizeof empty);
        lki_settings_clear(&settings);
    }
    assert_true(refused_one > 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_options_are_all_defaults),
        cmocka_unit_test(options_of_zero_are_all_defaults),
        cmocka_unit_test(what_is_given_is_taken_and_copied),
        cmocka_unit_test(options_of_tls_suit_a_url_with_tls_alone),
        cmocka_unit_test(settings_that_were_cleared_are_empty),
        cmocka_unit_test(a_timeout_is_1_ms_to_a_day),
        cmocka_unit_test(a_prefix_has_1_to_64_bytes),
        cmocka_unit_test(a_prefix_has_no_braces),
        cmocka_unit_test(an_app_has_at_most_128_bytes),
        cmocka_unit_test(replicas_have_half_of_the_time_at_most),
        cmocka_unit_test(a_key_needs_its_certificate),
        cmocka_unit_test(who_is_process_host_and_app),
        cmocka_unit_test(the_host_in_who_is_one_word),
        cmocka_unit_test(the_longest_host_and_app_fit_into_who),
        cmocka_unit_test(a_long_name_of_the_program_is_cut),
        cmocka_unit_test(a_connection_is_named_after_the_app_with_no_byte_that_the_server_refuses),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
