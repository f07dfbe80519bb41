/* The text of a configuration file: what is understood, and where a fault is said to be. */
#include "client/config.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static lki_config parse(const char *text) {
    lki_config config = {0};
    lki_error error = {0};
    if (lki_config_parse("/f", text, strlen(text), &config, &error) != LK_OK)
        fail_msg("%s", error.text);
    assert_string_equal(config.path, "/f");
    return config;
}

/* The sentence begins with the file and this line; the output is as it was. */
static void assert_refused_bytes(const char *text, size_t length, unsigned line,
                                 const char *words) {
    lki_config config = {0}, empty = {0};
    lki_error error = {0};
    char place[32];
    snprintf(place, sizeof place, "/f:%u: ", line);
    assert_int_equal(lki_config_parse("/f", text, length, &config, &error), LK_INVALID);
    assert_int_equal(error.status, LK_INVALID);
    if (strncmp(error.text, place, strlen(place)) != 0 || !strstr(error.text, words))
        fail_msg("not \"%s\" with \"%s\": %s", place, words, error.text);
    assert_memory_equal(&config, &empty, sizeof empty);
}

static void assert_refused(const char *text, unsigned line, const char *words) {
    assert_refused_bytes(text, strlen(text), line, words);
}

static void assert_entry(const lki_config *config, lki_config_key key, const char *value,
                         unsigned line) {
    assert_string_equal(config->entries[key].value, value);
    assert_int_equal(config->entries[key].line, line);
}

static void every_key_is_read_with_its_line(void **state) {
    (void)state;
    lki_config config = parse("url = rediss://locks.example\n"
                              "prefix=shop\n"
                              "\tapp\t=\ta job \n"
                              "tls_ca = /ca\n"
                              "tls_cert = /cert\n"
                              "tls_key = /key\n"
                              "tls_server_name = name\n"
                              "password_file = /secret\n"
                              "sentinel_password_file = /other\n"
                              "connect_timeout = 500ms\n"
                              "command_timeout = 5s\n"
                              "require_server = yes");
    assert_entry(&config, LKI_CONFIG_URL, "rediss://locks.example", 1);
    assert_entry(&config, LKI_CONFIG_PREFIX, "shop", 2);
    assert_entry(&config, LKI_CONFIG_APP, "a job", 3);
    assert_entry(&config, LKI_CONFIG_TLS_CA, "/ca", 4);
    assert_entry(&config, LKI_CONFIG_TLS_CERT, "/cert", 5);
    assert_entry(&config, LKI_CONFIG_TLS_KEY, "/key", 6);
    assert_entry(&config, LKI_CONFIG_TLS_SERVER_NAME, "name", 7);
    assert_entry(&config, LKI_CONFIG_PASSWORD_FILE, "/secret", 8);
    assert_entry(&config, LKI_CONFIG_SENTINEL_PASSWORD_FILE, "/other", 9);
    assert_entry(&config, LKI_CONFIG_CONNECT_TIMEOUT, "500ms", 10);
    assert_entry(&config, LKI_CONFIG_COMMAND_TIMEOUT, "5s", 11);
    assert_entry(&config, LKI_CONFIG_REQUIRE_SERVER, "yes", 12);
    lki_config_clear(&config);
}

static void comments_and_blank_lines_are_passed_over(void **state) {
    (void)state;
    lki_config config = parse("# url = no\n\n  \t \n   # more\nprefix = a=b#c\n\n");
    assert_null(config.entries[LKI_CONFIG_URL].value);
    assert_entry(&config, LKI_CONFIG_PREFIX, "a=b#c", 5);
    lki_config_clear(&config);
    config = parse("");
    for (int i = 0; i < LKI_CONFIG_COUNT; i++)
        assert_null(config.entries[i].value);
    lki_config_clear(&config);
}

static void a_key_that_is_not_there_is_refused(void **state) {
    (void)state;
    static const char *const lines[] = {"no_such = 1", "URL = local:", "url2 = x",
                                        "ur = x",      "tls-ca = /x",  "[server] = x",
                                        "u rl = x",    "\xef\xbb\xbfurl = local:"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_refused(lines[i], 1, "there is no key");
    assert_refused("= x", 1, "the key before = is missing");
    assert_refused("=", 1, "the key before = is missing");
    assert_refused("app = x\n\nno_such = 1\nother = 2\n", 3, "\"no_such\"");
}

static void a_line_that_is_no_key_and_value_is_refused(void **state) {
    (void)state;
    assert_refused("prefix = a\n[server]\n", 2, "not key = value");
    assert_refused("url", 1, "not key = value");
    assert_refused("url =\n", 1, "has no value");
    assert_refused("url =   \t \n", 1, "has no value");
}

static void a_key_may_be_there_once(void **state) {
    (void)state;
    assert_refused("prefix = a\napp = b\nprefix = a\n", 3, "prefix is already in line 1");
}

/* It would be part of the value, and a prefix of that name would mean other locks. */
static void a_comment_behind_a_value_is_refused(void **state) {
    (void)state;
    assert_refused("prefix = lk # ours\n", 1, "comment");
    assert_refused("prefix = lk\t#ours\n", 1, "comment");
    assert_refused("prefix = #ours\n", 1, "comment");
}

static void values_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *line, *words;
    } bad[] = {
        {"url = http://h", "url: the scheme of the URL"},
        {"url = redis://", "url: "},
        {"url = redis://h:99999", "port"},
        {"url = local:x", "after local:"},
        {"url = redis+sentinel://h", "master"},
        {"url = quorum://h", "does not support"},
        {"url = \"redis://h\"", "url: "},
        {"prefix = {a}", "prefix: it must be"},
        {"tls_ca = ca.pem", "absolute"},
        {"tls_cert = ./x", "absolute"},
        {"password_file = ~/secret", "absolute"},
        {"sentinel_password_file = secret", "absolute"},
        {"require_server = maybe", "yes or no"},
        {"require_server = YES", "yes or no"},
        {"connect_timeout = 5", "a unit"},
        {"connect_timeout = 5000", "a unit"},
        {"command_timeout = 0s", "1ms to 24h"},
        {"command_timeout = 25h", "1ms to 24h"},
        {"command_timeout = -1s", "1ms to 24h"},
        {"command_timeout = 5 s", "1ms to 24h"},
        {"command_timeout = ms", "1ms to 24h"},
        {"command_timeout = 99999999999999999999999h", "1ms to 24h"},
        {"command_timeout = 86400001ms", "1ms to 24h"},
        {"replica_timeout = 5", "a unit"},
        {"min_replicas = -1", "0 to 1000"},
        {"min_replicas = 1001", "0 to 1000"},
        {"min_replicas = one", "0 to 1000"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(bad[i].line, 1, bad[i].words);
    char line[200] = "prefix = ";
    memset(line + strlen(line), 'p', 65);
    assert_refused(line, 1, "64 bytes");
    memset(line, 0, sizeof line);
    strcat(line, "app = ");
    memset(line + strlen(line), 'a', 129);
    assert_refused(line, 1, "128 bytes");
}

static void times_have_units(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        {"1ms", 1},     {"500ms", 500},          {"5s", 5000}, {"2m", 120000}, {"24h", 86400000},
        {"007s", 7000}, {"86400000ms", 86400000}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t ms = 0;
        assert_true(lki_config_time(good[i].text, &ms));
        assert_int_equal(ms, good[i].ms);
    }
}

static void bytes_that_are_no_text_are_refused(void **state) {
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[] = "app = x\napp = a?b";
        bool is_control = (c < ' ' && c != '\t' && c != '\n') || c == 0x7f;
        text[8 + 7] = (char)c;
        if (is_control)
            assert_refused_bytes(text, sizeof text - 1, 2, "control byte");
    }
    assert_refused("url = local:\r\n", 1, "0x0d");
    assert_refused_bytes("url = local:\0redis://h\n", 24, 1, "0x00");
}

static void other_bytes_may_be_in_a_value(void **state) {
    (void)state;
    lki_config config = parse("app = \xc3\xa9t\xc3\xa9 \xff\n");
    assert_entry(&config, LKI_CONFIG_APP, "\xc3\xa9t\xc3\xa9 \xff", 1);
    lki_config_clear(&config);
}

static void a_line_that_is_too_long_is_refused(void **state) {
    (void)state;
    char *text = malloc(LKI_CONFIG_LINE_MOST + 3);
    assert_non_null(text);
    text[0] = '\n';
    memset(text + 1, '#', LKI_CONFIG_LINE_MOST + 1);
    text[LKI_CONFIG_LINE_MOST + 2] = '\0';
    assert_refused(text, 2, "too long");
    text[LKI_CONFIG_LINE_MOST + 1] = '\0';
    lki_config config = parse(text);
    lki_config_clear(&config);
    free(text);
}

/* A certificate beside a URL without TLS was meant to be used. */
static void tls_beside_a_url_without_tls_is_refused(void **state) {
    (void)state;
    assert_refused("tls_ca = /ca\nurl = redis://h\n", 1, "does not use TLS");
    assert_refused("url = unix:///s\ntls_server_name = h\n", 2, "does not use TLS");
    assert_refused("url = rediss://h\ntls_key = /k\n", 2, "needs a tls_cert");
    lki_config config = parse("url = local:\ntls_ca = /ca\n");
    lki_config_clear(&config);
    config = parse("tls_ca = /ca\n");
    lki_config_clear(&config);
}

static void a_secret_is_in_no_sentence(void **state) {
    (void)state;
    static const char *const texts[] = {
        "url = redis://:hunter2@h:port", "url = hunter2", "url = redis://:hunter2@h # x",
        "url = redis://:hunter2@h\001", "url = redis://:hunter2@h\nurl = local:"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lki_config config = {0};
        lki_error error = {0};
        assert_int_equal(lki_config_parse("/f", texts[i], strlen(texts[i]), &config, &error),
                         LK_INVALID);
        assert_null(strstr(error.text, "hunter2"));
    }
}

static void the_place_is_said_of_a_file_with_a_long_path_too(void **state) {
    (void)state;
    char path[4000];
    lki_config config = {0};
    lki_error error = {0};
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(lki_config_parse(path, "\nx", 2, &config, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "pp:2: the line is not key = value"));
}

/* No byte string may do more than be refused: the sanitizers look on. */
static void random_bytes_do_no_harm(void **state) {
    (void)state;
    static const char *const words[] = {"url",      "=",    "prefix",          "\n", " ",
                                        "redis://", "#",    "local:",          "5s", "\0",
                                        "tls_key",  "\xff", "connect_timeout", "/"};
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        char text[200];
        size_t length = 0;
        while (length < 150) {
            seed = seed * 1103515245U + 12345U;
            const char *word = words[(seed >> 16) % (sizeof words / sizeof *words)];
            size_t size = *word ? strlen(word) : 1;
            memcpy(text + length, word, size);
            length += size;
            if ((seed >> 8) % 16 == 0)
                break;
        }
        lki_config config = {0};
        lki_error error = {0};
        lk_status status = lki_config_parse("/f", text, length, &config, &error);
        assert_true(status == LK_OK || status == LK_INVALID);
        assert_true(status == LK_OK || strncmp(error.text, "/f:", 3) == 0);
        lki_config_clear(&config);
    }
}

static int allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    static const char text[] = "url = rediss://user@h\nprefix = a\ntls_cert = /c\ntls_key = /k\n";
    lk_status status = LK_NOMEM;
    for (refused_one = 1; status != LK_OK; refused_one++) {
        lki_config config = {0}, empty = {0};
        lki_error error = {0};
        allocations = 0;
        lki_memory_refuse(refuses);
        status = lki_config_parse("/f", text, sizeof text - 1, &config, &error);
        lki_memory_refuse(NULL);
        assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
        if (status != LK_OK)
            assert_memory_equal(&config, &empty, sizeof empty);
        lki_config_clear(&config);
    }
    assert_true(refused_one > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_read_with_its_line),
        cmocka_unit_test(comments_and_blank_lines_are_passed_over),
        cmocka_unit_test(a_key_that_is_not_there_is_refused),
        cmocka_unit_test(a_line_that_is_no_key_and_value_is_refused),
        cmocka_unit_test(a_key_may_be_there_once),
        cmocka_unit_test(a_comment_behind_a_value_is_refused),
        cmocka_unit_test(values_that_cannot_be_are_refused),
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(other_bytes_may_be_in_a_value),
        cmocka_unit_test(a_line_that_is_too_long_is_refused),
        cmocka_unit_test(tls_beside_a_url_without_tls_is_refused),
        cmocka_unit_test(a_secret_is_in_no_sentence),
        cmocka_unit_test(the_place_is_said_of_a_file_with_a_long_path_too),
        cmocka_unit_test(random_bytes_do_no_harm),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("configuration: text", tests, NULL, NULL);
}
