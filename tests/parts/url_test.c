/* URLs of one server: what is read from them, and which part is named when they are refused. */
#include "base/memory.h"
#include "net/url.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

static lki_endpoint read_with(const char *url, const char *password) {
    lki_endpoint endpoint = {0};
    lki_error error = {0};
    if (lki_url_read(url, password, &endpoint, &error) != LK_OK)
        fail_msg("%s: %s", url, error.text);
    return endpoint;
}

static lki_endpoint read_url(const char *url) {
    return read_with(url, NULL);
}

static void assert_shown(const char *url, const char *shown) {
    lki_endpoint endpoint = read_url(url);
    assert_string_equal(endpoint.shown, shown);
    lki_endpoint_clear(&endpoint);
}

/* Refused, and the sentence names `part`; the output is as it was. */
static void assert_refused(const char *url, const char *part) {
    char marker[] = "untouched";
    lki_endpoint endpoint = {.host = marker};
    lki_error error = {0};
    char beginning[64];
    snprintf(beginning, sizeof beginning, "the %s of the URL ", part);
    if (lki_url_read(url, NULL, &endpoint, &error) != LK_INVALID || error.status != LK_INVALID)
        fail_msg("%s was not refused", url);
    if (strncmp(error.text, beginning, strlen(beginning)) != 0)
        fail_msg("%s: not about the %s: %s", url, part, error.text);
    assert_ptr_equal(endpoint.host, marker);
}

/* ------------------------------------------------------------------------------------- servers */

static void a_host_alone_has_the_default_port_and_db_0(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("redis://example.com");
    assert_string_equal(endpoint.host, "example.com");
    assert_string_equal(endpoint.port, "6379");
    assert_int_equal(endpoint.db, 0);
    assert_false(endpoint.tls);
    assert_null(endpoint.path);
    assert_null(endpoint.user);
    assert_null(endpoint.password);
    lki_endpoint_clear(&endpoint);
}

static void all_parts_of_a_server_are_read(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("redis://ann:secret@db_1.example.com:7000/15");
    assert_string_equal(endpoint.user, "ann");
    assert_string_equal(endpoint.password, "secret");
    assert_string_equal(endpoint.host, "db_1.example.com");
    assert_string_equal(endpoint.port, "7000");
    assert_int_equal(endpoint.db, 15);
    lki_endpoint_clear(&endpoint);
}

static void the_schemes_with_an_s_behind_mean_tls(void **state) {
    (void)state;
    const char *const urls[] = {"redis://h", "rediss://h", "valkey://h", "valkeys://h"};
    for (size_t i = 0; i < 4; i++) {
        lki_endpoint endpoint = read_url(urls[i]);
        assert_int_equal(endpoint.tls, i % 2);
        lki_endpoint_clear(&endpoint);
    }
}

static void the_case_of_a_scheme_does_not_matter(void **state) {
    (void)state;
    assert_shown("REDISS://Host", "rediss://Host:6379");
    assert_shown("uNIX:///s", "unix:///s");
}

static void an_ipv6_address_stands_in_brackets(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("redis://[::1]:7000/3");
    assert_string_equal(endpoint.host, "::1");
    assert_string_equal(endpoint.port, "7000");
    assert_string_equal(endpoint.shown, "redis://[::1]:7000/3");
    lki_endpoint_clear(&endpoint);
    assert_shown("redis://[fe80::2]", "redis://[fe80::2]:6379");
}

static void a_slash_without_a_number_is_db_0(void **state) {
    (void)state;
    assert_shown("redis://h/", "redis://h:6379");
}

static void the_greatest_db_and_the_greatest_port_are_read(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("redis://h:65535/2147483647");
    assert_string_equal(endpoint.port, "65535");
    assert_int_equal(endpoint.db, 2147483647);
    lki_endpoint_clear(&endpoint);
}

static void assert_address(const char *url, const char *wanted) {
    lki_endpoint endpoint = read_url(url);
    char address[LKI_ADDRESS_SIZE];
    lki_endpoint_address(&endpoint, address);
    assert_string_equal(address, wanted);
    lki_endpoint_clear(&endpoint);
}

static void an_address_is_host_and_port_or_a_path(void **state) {
    (void)state;
    assert_address("redis://user:secret@h/3", "h:6379");
    assert_address("rediss://[2001:db8::7]:7000", "[2001:db8::7]:7000");
    assert_address("unix://user:secret@/run/redis.sock?db=1", "/run/redis.sock");
}

/* A cluster may name a host of any length. */
static void an_address_that_is_too_long_is_cut_off(void **state) {
    (void)state;
    char host[2 * LKI_ADDRESS_SIZE], address[LKI_ADDRESS_SIZE];
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = 0;
    lki_endpoint endpoint = {.host = host, .port = host};
    lki_endpoint_address(&endpoint, address);
    assert_int_equal(strlen(address), LKI_ADDRESS_SIZE - 1);
}

/* ------------------------------------------------------------------------------------- sockets */

static void a_unix_url_has_a_path(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("unix:///run/redis.sock");
    assert_string_equal(endpoint.path, "/run/redis.sock");
    assert_null(endpoint.host);
    assert_null(endpoint.port);
    assert_int_equal(endpoint.db, 0);
    lki_endpoint_clear(&endpoint);
}

static void a_unix_url_may_have_user_password_and_db(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("unix://ann:secret@/run/a@b?db=4");
    assert_string_equal(endpoint.user, "ann");
    assert_string_equal(endpoint.password, "secret");
    assert_string_equal(endpoint.path, "/run/a@b");
    assert_int_equal(endpoint.db, 4);
    assert_string_equal(endpoint.shown, "unix://ann@/run/a%40b?db=4");
    lki_endpoint_clear(&endpoint);
}

/* `unix:///ppp…` with a path of this many bytes. */
static void socket_url(char *out, size_t length) {
    static const char before[] = "unix:///";
    memcpy(out, before, sizeof before - 1);
    memset(out + sizeof before - 1, 'p', length - 1);
    out[sizeof before - 1 + length - 1] = '\0';
}

static void a_path_fits_a_socket_address_with_its_end(void **state) {
    (void)state;
    char url[256];
    size_t room = sizeof((struct sockaddr_un *)0)->sun_path;
    socket_url(url, room - 1);
    lki_endpoint endpoint = read_url(url);
    assert_int_equal(strlen(endpoint.path), room - 1);
    lki_endpoint_clear(&endpoint);
    socket_url(url, room);
    assert_refused(url, "path");
}

static void a_path_is_measured_after_decoding(void **state) {
    (void)state;
    char url[512] = "unix:///";
    for (int i = 0; i < 100; i++)
        strncat(url, "%41", sizeof url - strlen(url) - 1);
    lki_endpoint endpoint = read_url(url);
    assert_int_equal(strlen(endpoint.path), 101);
    lki_endpoint_clear(&endpoint);
}

static void a_relative_path_is_refused_by_name(void **state) {
    (void)state;
    assert_refused("unix://run/redis.sock", "path");
    assert_refused("unix://redis.sock", "path");
    assert_refused("unix://:secret@run/redis.sock", "path");
    assert_refused("unix://", "path");
    assert_refused("unix://?db=1", "path");
}

/* --------------------------------------------------------------------------------------- login */

static void user_password_and_path_are_decoded(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("unix://a%3ab:p%40%2F%c3%A9@/run%20me");
    assert_string_equal(endpoint.user, "a:b");
    assert_string_equal(endpoint.password, "p@/\xc3\xa9");
    assert_string_equal(endpoint.path, "/run me");
    lki_endpoint_clear(&endpoint);
}

static void a_password_needs_no_user(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("redis://:secret@h");
    assert_null(endpoint.user);
    assert_string_equal(endpoint.password, "secret");
    lki_endpoint_clear(&endpoint);
}

static void a_password_may_have_colons_and_at_signs(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("redis://ann:a:b@c@h");
    assert_string_equal(endpoint.password, "a:b@c");
    assert_string_equal(endpoint.host, "h");
    lki_endpoint_clear(&endpoint);
}

static void a_login_without_a_colon_is_a_user_who_needs_a_password(void **state) {
    (void)state;
    assert_refused("redis://ann@h", "password");
    assert_refused("redis://ann:@h", "password");
    lki_endpoint endpoint = read_with("redis://ann@h", "given");
    assert_string_equal(endpoint.user, "ann");
    assert_string_equal(endpoint.password, "given");
    lki_endpoint_clear(&endpoint);
}

static void the_password_of_the_url_comes_before_the_given_one(void **state) {
    (void)state;
    lki_endpoint endpoint = read_with("redis://:mine@h", "given");
    assert_string_equal(endpoint.password, "mine");
    lki_endpoint_clear(&endpoint);
    endpoint = read_with("redis://h", "given");
    assert_string_equal(endpoint.password, "given");
    lki_endpoint_clear(&endpoint);
}

static void an_empty_password_is_none(void **state) {
    (void)state;
    lki_endpoint endpoint = read_with("redis://:@h", "");
    assert_null(endpoint.user);
    assert_null(endpoint.password);
    lki_endpoint_clear(&endpoint);
    endpoint = read_with("redis://:@h", "given");
    assert_string_equal(endpoint.password, "given");
    lki_endpoint_clear(&endpoint);
}

static void a_broken_escape_is_refused_by_name(void **state) {
    (void)state;
    assert_refused("redis://a%4:secret@h", "user");
    assert_refused("redis://ann:%gg@h", "password");
    assert_refused("redis://ann:secret%@h", "password");
    assert_refused("unix:///run%", "path");
    assert_refused("redis://h%41", "host");
}

static void a_decoded_nul_is_refused_by_name(void **state) {
    (void)state;
    assert_refused("redis://a%00:secret@h", "user");
    assert_refused("redis://ann:sec%00ret@h", "password");
    assert_refused("unix:///run%00", "path");
}

static void a_slash_in_a_password_is_explained(void **state) {
    (void)state;
    assert_refused("redis://:pass/word@h", "user or password");
    assert_refused("redis://ann:pass?word@h", "user or password");
    assert_refused("redis://ann:pass#word@h", "user or password");
}

/* ----------------------------------------------------------------------------------- refusals */

static void an_unknown_scheme_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"",
                                "h",
                                "h:6379",
                                "redis:h",
                                "redis:/h",
                                "://h",
                                "http://h",
                                "redi://h",
                                "redisss://",
                                "redis ://h",
                                "unix:/",
                                "rediss+x://",
                                "redis+sentinel://h/m",
                                "redis+cluster://h"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_refused(urls[i], "scheme");
}

static void an_empty_host_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"redis://",   "redis:///",      "redis://:6379", "redis://:s@",
                                "redis://[]", "redis://:s@:12", "redis://?",     "redis://#"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_refused(urls[i], "host");
}

static void a_host_that_cannot_be_one_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {
        "redis://a b",       "redis://a,b", "redis://[::1", "redis://[::1]x", "redis://[::g]",
        "redis://[1.2.3.4]", "redis://.h",  "redis://h\n",  "redis://h\x80",  "redis://[::1%25e]"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_refused(urls[i], "host");
}

static void a_host_of_more_than_253_bytes_is_refused_by_name(void **state) {
    (void)state;
    char url[300] = "redis://";
    memset(url + 8, 'h', 253);
    assert_int_equal(strlen(url), 8 + 253);
    lki_endpoint endpoint = read_url(url);
    lki_endpoint_clear(&endpoint);
    url[8 + 253] = 'h';
    assert_refused(url, "host");
}

static void a_port_above_65535_is_refused_by_name(void **state) {
    (void)state;
    assert_refused("redis://h:65536", "port");
    assert_refused("redis://h:18446744073709551617", "port");
}

static void a_port_that_is_no_number_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"redis://h:",   "redis://h:0",  "redis://h:x", "redis://h:+1",
                                "redis://h:1x", "redis://h: 1", "redis://a::1"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_refused(urls[i], "port");
}

static void a_db_that_is_no_number_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"redis://h/x",          "redis://h/-1",    "redis://h/1/",
                                "redis://h/2147483648", "unix:///s?db=",   "unix:///s?db=x",
                                "unix:///s?db=1&x=2",   "unix:///s?db=1 ", "redis://h//",
                                "redis://h/%31"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_refused(urls[i], "db");
}

static void a_query_that_is_not_known_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"redis://h?",    "redis://h?db=1", "redis://h/1?x", "unix:///s?",
                                "unix:///s?x=1", "unix:///s?DB=1", "unix:///s?db"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_refused(urls[i], "query");
}

static void a_fragment_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"redis://h#", "redis://h/1#x", "unix:///s#x", "unix:///s?db=1#"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_refused(urls[i], "fragment");
}

/* ------------------------------------------------------------------------------------- showing */

static void what_is_shown_is_a_url_without_the_password(void **state) {
    (void)state;
    assert_shown("redis://ann:secret@h/2", "redis://ann@h:6379/2");
    assert_shown("valkeys://:secret@h:1", "valkeys://h:1");
    assert_shown("unix://:secret@/s?db=2", "unix:///s?db=2");
}

static void what_is_shown_is_safe_to_print(void **state) {
    (void)state;
    assert_shown("redis://a%1b%5b2J%0a%40:secret@h", "redis://a%1B%5B2J%0A%40@h:6379");
    assert_shown("unix:///a\x1b\n%25\xff?db=0", "unix:///a%1B%0A%25%FF");
}

static void what_is_shown_can_be_read_again(void **state) {
    (void)state;
    lki_endpoint first = read_url("unix://a%2f%3f%3a:secret@/run/%23%3f%25?db=7");
    lki_endpoint again = read_with(first.shown, "secret");
    assert_string_equal(again.user, first.user);
    assert_string_equal(again.path, first.path);
    assert_int_equal(again.db, first.db);
    assert_string_equal(again.shown, first.shown);
    lki_endpoint_clear(&first);
    lki_endpoint_clear(&again);
}

/* Whatever byte of the URL is replaced by whichever sign, or wherever it is cut. */
static void no_refusal_shows_the_password(void **state) {
    (void)state;
    static const char good[] = "redis://ann:hunter2xyz@h:6379/2";
    static const char signs[] = ":/?#@%[] \n";
    for (size_t at = 0; at < sizeof good - 1; at++) {
        for (size_t i = 0; i < sizeof signs; i++) { /* the NUL too: cut there */
            char url[sizeof good];
            lki_endpoint endpoint = {0};
            lki_error error = {0};
            memcpy(url, good, sizeof good);
            url[at] = signs[i];
            lk_status status = lki_url_read(url, NULL, &endpoint, &error);
            assert_true(status == LK_OK || status == LK_INVALID);
            for (size_t from = 12; status == LK_INVALID && from + 4 <= 22; from++) {
                char piece[5] = {0};
                memcpy(piece, good + from, 4);
                assert_null(strstr(error.text, piece));
            }
            lki_endpoint_clear(&endpoint);
        }
    }
}

/* ---------------------------------------------------------------------------------- endpoints */

static void a_copy_is_complete_and_of_its_own(void **state) {
    (void)state;
    lki_endpoint copies[2];
    const char *const urls[] = {"rediss://ann:secret@h:7000/3", "unix://:secret@/s?db=1"};
    for (size_t i = 0; i < 2; i++) {
        lki_endpoint endpoint = read_url(urls[i]);
        assert_true(lki_endpoint_copy(&endpoint, &copies[i]));
        lki_endpoint_clear(&endpoint);
    }
    assert_true(copies[0].tls);
    assert_string_equal(copies[0].user, "ann");
    assert_string_equal(copies[0].password, "secret");
    assert_string_equal(copies[0].host, "h");
    assert_string_equal(copies[0].port, "7000");
    assert_string_equal(copies[0].shown, "rediss://ann@h:7000/3");
    assert_int_equal(copies[0].db, 3);
    assert_string_equal(copies[1].path, "/s");
    assert_null(copies[1].host);
    lki_endpoint_clear(&copies[0]);
    lki_endpoint_clear(&copies[1]);
}

static void a_cleared_endpoint_is_empty(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("rediss://ann:secret@h/3"), empty = {0};
    lki_endpoint_clear(&endpoint);
    assert_memory_equal(&endpoint, &empty, sizeof empty);
    lki_endpoint_clear(&endpoint);
}

/* -------------------------------------------------------------------------------------- memory */

static int allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

/*
 * Whether the bytes are anywhere on the heap, freed or not. A sanitizer has a heap of its own, where
 * this finds nothing.
 */
static bool is_on_heap(const char *bytes, size_t length) {
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t begin = 0, end = 0;
    char line[512];
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "[heap]"))
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end);
    fclose(maps);
    return begin && memmem((const void *)begin, end - begin, bytes, length);
}

static void a_cleared_endpoint_leaves_no_password_in_memory(void **state) {
    (void)state;
    char password[] = "Xecret, on the stack of this test and nowhere else";
    password[0] = 's'; /* so that the whole of it is in no constant */
    lki_endpoint endpoint = read_with("redis://host", password), copy = {0};
    assert_true(lki_endpoint_copy(&endpoint, &copy));
    lki_endpoint_clear(&endpoint);
    lki_endpoint_clear(&copy);
    /* Its first bytes may be the allocator's by now. */
    assert_false(is_on_heap(password + 20, sizeof password - 21));
}

static void each_allocation_of_reading_may_fail(void **state) {
    (void)state;
    const char *const urls[] = {"redis://ann:secret@h/3", "unix://ann:secret@/s?db=1", "redis://h"};
    for (size_t i = 0; i < 3; i++) {
        lk_status status = LK_NOMEM;
        for (refused_one = 1; status != LK_OK; refused_one++) {
            lki_endpoint endpoint = {0};
            lki_error error = {0};
            allocations = 0;
            lki_memory_refuse(refuses);
            status = lki_url_read(urls[i], "given", &endpoint, &error);
            lki_memory_refuse(NULL);
            assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
            assert_int_equal(error.status, status);
            lki_endpoint_clear(&endpoint);
        }
        assert_true(refused_one > 4);
    }
}

static void each_allocation_of_copying_may_fail(void **state) {
    (void)state;
    lki_endpoint endpoint = read_url("redis://ann:secret@h/3"), copy = {0};
    bool copied = false;
    for (refused_one = 1; !copied; refused_one++) {
        allocations = 0;
        lki_memory_refuse(refuses);
        copied = lki_endpoint_copy(&endpoint, &copy);
        lki_memory_refuse(NULL);
        assert_int_equal(copied, allocations < refused_one);
        assert_int_equal(copied, copy.host != NULL);
    }
    assert_true(refused_one > 5);
    lki_endpoint_clear(&endpoint);
    lki_endpoint_clear(&copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_alone_has_the_default_port_and_db_0),
        cmocka_unit_test(all_parts_of_a_server_are_read),
        cmocka_unit_test(the_schemes_with_an_s_behind_mean_tls),
        cmocka_unit_test(the_case_of_a_scheme_does_not_matter),
        cmocka_unit_test(an_ipv6_address_stands_in_brackets),
        cmocka_unit_test(a_slash_without_a_number_is_db_0),
        cmocka_unit_test(the_greatest_db_and_the_greatest_port_are_read),
        cmocka_unit_test(an_address_is_host_and_port_or_a_path),
        cmocka_unit_test(an_address_that_is_too_long_is_cut_off),
        cmocka_unit_test(a_unix_url_has_a_path),
        cmocka_unit_test(a_unix_url_may_have_user_password_and_db),
        cmocka_unit_test(a_path_fits_a_socket_address_with_its_end),
        cmocka_unit_test(a_path_is_measured_after_decoding),
        cmocka_unit_test(a_relative_path_is_refused_by_name),
        cmocka_unit_test(user_password_and_path_are_decoded),
        cmocka_unit_test(a_password_needs_no_user),
        cmocka_unit_test(a_password_may_have_colons_and_at_signs),
        cmocka_unit_test(a_login_without_a_colon_is_a_user_who_needs_a_password),
        cmocka_unit_test(the_password_of_the_url_comes_before_the_given_one),
        cmocka_unit_test(an_empty_password_is_none),
        cmocka_unit_test(a_broken_escape_is_refused_by_name),
        cmocka_unit_test(a_decoded_nul_is_refused_by_name),
        cmocka_unit_test(a_slash_in_a_password_is_explained),
        cmocka_unit_test(an_unknown_scheme_is_refused_by_name),
        cmocka_unit_test(an_empty_host_is_refused_by_name),
        cmocka_unit_test(a_host_that_cannot_be_one_is_refused_by_name),
        cmocka_unit_test(a_host_of_more_than_253_bytes_is_refused_by_name),
        cmocka_unit_test(a_port_above_65535_is_refused_by_name),
        cmocka_unit_test(a_port_that_is_no_number_is_refused_by_name),
        cmocka_unit_test(a_db_that_is_no_number_is_refused_by_name),
        cmocka_unit_test(a_query_that_is_not_known_is_refused_by_name),
        cmocka_unit_test(a_fragment_is_refused_by_name),
        cmocka_unit_test(what_is_shown_is_a_url_without_the_password),
        cmocka_unit_test(what_is_shown_is_safe_to_print),
        cmocka_unit_test(what_is_shown_can_be_read_again),
        cmocka_unit_test(no_refusal_shows_the_password),
        cmocka_unit_test(a_copy_is_complete_and_of_its_own),
        cmocka_unit_test(a_cleared_endpoint_is_empty),
        cmocka_unit_test(a_cleared_endpoint_leaves_no_password_in_memory),
        cmocka_unit_test(each_allocation_of_reading_may_fail),
        cmocka_unit_test(each_allocation_of_copying_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
