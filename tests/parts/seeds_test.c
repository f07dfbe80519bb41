/*
 * URLs of sentinels and clusters: what is read from them, and which part is named when they are
 * refused. url_test has what they share with the URL of one server.
 */
#include "base/memory.h"
#include "net/seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static lki_seeds read_with(const char *url, const char *password, const char *sentinel_password) {
    lki_seeds seeds = {0};
    lki_error error = {0};
    if (lki_seeds_read(url, password, sentinel_password, &seeds, &error) != LK_OK)
        fail_msg("%s: %s", url, error.text);
    return seeds;
}

static lki_seeds read_url(const char *url) {
    return read_with(url, NULL, NULL);
}

static void assert_shown(const char *url, const char *shown) {
    lki_seeds seeds = read_url(url);
    assert_string_equal(seeds.shown, shown);
    lki_seeds_clear(&seeds);
}

/* Refused, and the sentence names `part`; the output is as it was. */
static void assert_refused(const char *url, const char *part) {
    char marker[] = "untouched";
    lki_seeds seeds = {.master = marker};
    lki_error error = {0};
    char beginning[64];
    snprintf(beginning, sizeof beginning, "the %s of the URL ", part);
    if (lki_seeds_read(url, NULL, NULL, &seeds, &error) != LK_INVALID || error.status != LK_INVALID)
        fail_msg("%s was not refused", url);
    if (strncmp(error.text, beginning, strlen(beginning)) != 0)
        fail_msg("%s: not about the %s: %s", url, part, error.text);
    assert_ptr_equal(seeds.master, marker);
}

static void assert_all_refused(const char *const *urls, size_t count, const char *part) {
    for (size_t i = 0; i < count; i++)
        assert_refused(urls[i], part);
}

/* Both may be NULL. */
static void assert_text(const char *found, const char *expected) {
    if (!found || !expected)
        assert_true(found == expected);
    else
        assert_string_equal(found, expected);
}

static void assert_address(const lki_endpoint *endpoint, const char *host, const char *port) {
    assert_string_equal(endpoint->host, host);
    assert_string_equal(endpoint->port, port);
    assert_null(endpoint->path);
}

static void assert_login(const lki_endpoint *endpoint, const char *user, const char *password) {
    assert_text(endpoint->user, user);
    assert_text(endpoint->password, password);
}

/* ----------------------------------------------------------------------------------- sentinels */

static void sentinels_have_a_port_of_their_own_and_a_master(void **state) {
    (void)state;
    lki_seeds seeds = read_url("redis+sentinel://a.example,b:7000,[::1],[::2]:7001/mymaster");
    assert_int_equal(seeds.count, 4);
    assert_address(&seeds.seeds[0], "a.example", "26379");
    assert_address(&seeds.seeds[1], "b", "7000");
    assert_address(&seeds.seeds[2], "::1", "26379");
    assert_address(&seeds.seeds[3], "::2", "7001");
    assert_string_equal(seeds.master, "mymaster");
    assert_int_equal(seeds.server.db, 0);
    assert_null(seeds.server.host);
    assert_null(seeds.server.port);
    lki_seeds_clear(&seeds);
}

static void the_login_of_the_url_is_for_the_servers_alone(void **state) {
    (void)state;
    lki_seeds seeds = read_url("redis+sentinel://ann:secret@h1,h2/m/3");
    assert_login(&seeds.server, "ann", "secret");
    assert_int_equal(seeds.server.db, 3);
    for (size_t i = 0; i < 2; i++) {
        assert_login(&seeds.seeds[i], NULL, NULL);
        assert_int_equal(seeds.seeds[i].db, 0);
    }
    lki_seeds_clear(&seeds);
}

static void sentinels_have_a_login_of_their_own(void **state) {
    (void)state;
    lki_seeds seeds =
        read_url("redis+sentinel://h1,h2/m?sentinel_user=s%3a1&sentinel_password=p%40%26+a:b=c");
    assert_login(&seeds.server, NULL, NULL);
    assert_login(&seeds.seeds[0], "s:1", "p@&+a:b=c");
    assert_login(&seeds.seeds[1], "s:1", "p@&+a:b=c");
    assert_ptr_not_equal(seeds.seeds[0].password, seeds.seeds[1].password);
    lki_seeds_clear(&seeds);
    seeds = read_url("redis+sentinel://h/m/1?sentinel_password=s&sentinel_user=u");
    assert_login(&seeds.seeds[0], "u", "s");
    lki_seeds_clear(&seeds);
    seeds = read_url("redis+sentinel://:a@h/m?sentinel_password=s");
    assert_login(&seeds.server, NULL, "a");
    assert_login(&seeds.seeds[0], NULL, "s");
    lki_seeds_clear(&seeds);
}

static void passwords_of_the_url_come_before_the_given_ones(void **state) {
    (void)state;
    lki_seeds seeds =
        read_with("redis+sentinel://:a@h/m?sentinel_password=b", "given", "for sentinels");
    assert_login(&seeds.server, NULL, "a");
    assert_login(&seeds.seeds[0], NULL, "b");
    lki_seeds_clear(&seeds);
    seeds = read_with("redis+sentinel://ann@h/m?sentinel_user=u", "given", "for sentinels");
    assert_login(&seeds.server, "ann", "given");
    assert_login(&seeds.seeds[0], "u", "for sentinels");
    lki_seeds_clear(&seeds);
    seeds = read_with("redis+sentinel://h/m", "given", NULL);
    assert_login(&seeds.server, NULL, "given");
    assert_login(&seeds.seeds[0], NULL, NULL);
    lki_seeds_clear(&seeds);
    seeds = read_with("redis+sentinel://h/m", NULL, "for sentinels");
    assert_login(&seeds.server, NULL, NULL);
    assert_login(&seeds.seeds[0], NULL, "for sentinels");
    lki_seeds_clear(&seeds);
}

static void an_empty_user_or_password_of_sentinels_is_none(void **state) {
    (void)state;
    lki_seeds seeds = read_with("redis+sentinel://h/m?sentinel_user=&sentinel_password=", "", "");
    assert_login(&seeds.server, NULL, NULL);
    assert_login(&seeds.seeds[0], NULL, NULL);
    lki_seeds_clear(&seeds);
    seeds = read_with("redis+sentinel://h/m?sentinel_password=", NULL, "given");
    assert_login(&seeds.seeds[0], NULL, "given");
    lki_seeds_clear(&seeds);
}

static void a_user_needs_a_password(void **state) {
    (void)state;
    assert_refused("redis+sentinel://ann@h/m", "password");
    assert_refused("redis+cluster://ann@h", "password");
    assert_refused("redis+sentinel://h/m?sentinel_user=u", "sentinel_password");
    assert_refused("redis+sentinel://:a@h/m?sentinel_user=u&sentinel_password=",
                   "sentinel_password");
}

static void the_name_of_a_master_is_decoded(void **state) {
    (void)state;
    lki_seeds seeds = read_url("redis+sentinel://h/a%2fb%20c/7");
    assert_string_equal(seeds.master, "a/b c");
    assert_int_equal(seeds.server.db, 7);
    lki_seeds_clear(&seeds);
}

static void a_missing_master_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"redis+sentinel://h", "redis+sentinel://h/", "redis+sentinel://h//",
                                "redis+sentinel://h//1", "redis+sentinel://h?sentinel_password=s"};
    assert_all_refused(urls, COUNT(urls), "master");
}

static void a_master_of_more_than_255_bytes_is_refused_by_name(void **state) {
    (void)state;
    char url[300] = "redis+sentinel://h/%6d";
    size_t length = strlen(url);
    memset(url + length, 'm', LKI_MASTER_MOST - 1);
    lki_seeds seeds = read_url(url);
    assert_int_equal(strlen(seeds.master), LKI_MASTER_MOST);
    lki_seeds_clear(&seeds);
    url[length + LKI_MASTER_MOST - 1] = 'm';
    assert_refused(url, "master");
}

static void a_slash_without_a_number_is_db_0(void **state) {
    (void)state;
    assert_shown("redis+sentinel://h/m/", "redis+sentinel://h:26379/m");
    assert_shown("redis+sentinel://h/m/0", "redis+sentinel://h:26379/m");
}

static void a_db_that_is_no_number_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"redis+sentinel://h/m/x",  "redis+sentinel://h/m/-1",
                                "redis+sentinel://h/m/1/", "redis+sentinel://h/m//",
                                "redis+sentinel://h/1/m",  "redis+sentinel://h/m/2147483648"};
    assert_all_refused(urls, COUNT(urls), "db");
}

static void a_query_that_is_not_known_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {
        "redis+sentinel://h/m?",
        "redis+sentinel://h/m?db=1",
        "redis+sentinel://h/m?sentinel_user",
        "redis+sentinel://h/m?sentinel_username=u",
        "redis+sentinel://h/m?SENTINEL_USER=u",
        "redis+sentinel://h/m?sentinel_password=s&",
        "redis+sentinel://h/m?&sentinel_password=s",
        "redis+sentinel://h/m?sentinel_password=s&x",
        "redis+sentinel://h/m?sentinel_password=s;sentinel_user=u&sentinel_password=s",
        "redis+sentinel://h/m?sentinel_password=s&sentinel_password=s",
        "redis+sentinel://h/m?sentinel_user=&sentinel_password=s&sentinel_user=u",
        "redis+cluster://h?",
        "redis+cluster://h/?x=1",
        "redis+cluster://h?sentinel_password=s"};
    assert_all_refused(urls, COUNT(urls), "query");
}

/* ------------------------------------------------------------------------------------ clusters */

static void nodes_of_a_cluster_have_the_port_and_login_of_servers(void **state) {
    (void)state;
    lki_seeds seeds =
        read_with("redis+cluster://ann:secret@10.0.0.1,b:7000,[::1]", "given", "for sentinels");
    assert_int_equal(seeds.count, 3);
    assert_address(&seeds.seeds[0], "10.0.0.1", "6379");
    assert_address(&seeds.seeds[1], "b", "7000");
    assert_address(&seeds.seeds[2], "::1", "6379");
    for (size_t i = 0; i < 3; i++)
        assert_login(&seeds.seeds[i], "ann", "secret");
    assert_login(&seeds.server, "ann", "secret");
    assert_null(seeds.master);
    lki_seeds_clear(&seeds);
    seeds = read_with("redis+cluster://h", "given", "for sentinels");
    assert_login(&seeds.seeds[0], NULL, "given");
    assert_login(&seeds.server, NULL, "given");
    lki_seeds_clear(&seeds);
}

static void a_cluster_has_db_0_alone(void **state) {
    (void)state;
    const char *const urls[] = {"redis+cluster://h/1", "redis+cluster://h/m",
                                "redis+cluster://h/0/", "redis+cluster://h//",
                                "redis+cluster://h/99999999999"};
    assert_shown("redis+cluster://h/", "redis+cluster://h:6379");
    assert_shown("redis+cluster://h/0", "redis+cluster://h:6379");
    assert_all_refused(urls, COUNT(urls), "db");
    lki_seeds seeds = {0};
    lki_error error = {0};
    assert_int_equal(lki_seeds_read(urls[0], NULL, NULL, &seeds, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "cluster"));
}

/* ---------------------------------------------------------------------------------------- both */

static void schemes_with_an_s_behind_mean_tls_everywhere(void **state) {
    (void)state;
    const char *const bases[] = {"redis", "rediss", "valkey", "valkeys"};
    for (size_t i = 0; i < 8; i++) {
        char url[64];
        bool tls = i % 2;
        lki_endpoint server;
        snprintf(url, sizeof url, "%s+%s", bases[i % 4], i < 4 ? "sentinel://h/m" : "cluster://h");
        lki_seeds seeds = read_url(url);
        assert_true(lki_seeds_endpoint(&seeds, "h", "1", &server));
        assert_string_equal(seeds.scheme, bases[i % 4]);
        assert_int_equal(seeds.seeds[0].tls, tls);
        assert_int_equal(seeds.server.tls, tls);
        assert_int_equal(server.tls, tls);
        assert_int_equal(lki_url_is_plain(url), !tls);
        lki_endpoint_clear(&server);
        lki_seeds_clear(&seeds);
    }
    assert_shown("REDISS+Cluster://Host", "rediss+cluster://Host:6379");
}

static void an_unknown_scheme_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"",
                                "h",
                                "redis://h",
                                "unix:///s",
                                "local:",
                                "redis+sentinel:h/m",
                                "redis+sentinels://h/m",
                                "redis+clusters://h",
                                "redis+://h",
                                "redis +cluster://h",
                                "sentinel://h/m",
                                "unix+cluster://h"};
    assert_all_refused(urls, COUNT(urls), "scheme");
}

static void a_missing_host_is_refused_by_name(void **state) {
    (void)state;
    const char *const missing[] = {"redis+cluster://", "redis+cluster:///", "redis+sentinel:///m",
                                   "redis+cluster://:s@", "redis+cluster://:7000"};
    const char *const empty[] = {"redis+cluster://a,",    "redis+cluster://,a",
                                 "redis+cluster://a,,b",  "redis+cluster://,",
                                 "redis+cluster://:s@a,", "redis+sentinel://a,/m",
                                 "redis+sentinel://,a/m"};
    assert_all_refused(missing, COUNT(missing), "host");
    assert_all_refused(empty, COUNT(empty), "list of hosts");
}

static void a_host_that_cannot_be_one_is_refused_by_name(void **state) {
    (void)state;
    const char *const hosts[] = {"redis+cluster://a,b c",    "redis+cluster://a,[::1",
                                 "redis+cluster://a, b",     "redis+cluster://[::1,a]",
                                 "redis+cluster://a,.b",     "redis+cluster://a;b",
                                 "redis+cluster://a,[::1]x", "redis+sentinel://a%2c,b/m"};
    const char *const ports[] = {"redis+cluster://a,b:", "redis+cluster://a:0,b",
                                 "redis+cluster://a,b::1", "redis+sentinel://a:65536,b/m",
                                 "redis+sentinel://a,b:x/m"};
    assert_all_refused(hosts, COUNT(hosts), "host");
    assert_all_refused(ports, COUNT(ports), "port");
}

static void at_most_64_hosts_are_read(void **state) {
    (void)state;
    char url[200] = "redis+cluster://a";
    size_t length = strlen(url);
    for (size_t i = 1; i < LKI_SEEDS_MOST; i++, length += 2)
        memcpy(url + length, ",b", 3);
    lki_seeds seeds = read_url(url);
    assert_int_equal(seeds.count, LKI_SEEDS_MOST);
    assert_string_equal(seeds.seeds[LKI_SEEDS_MOST - 1].host, "b");
    lki_seeds_clear(&seeds);
    memcpy(url + length, ",c", 3);
    assert_refused(url, "list of hosts");
}

static void a_broken_escape_or_a_nul_is_refused_by_name(void **state) {
    (void)state;
    assert_refused("redis+sentinel://a%4:secret@h/m", "user");
    assert_refused("redis+cluster://ann:%00@h", "password");
    assert_refused("redis+sentinel://h/m%", "master");
    assert_refused("redis+sentinel://h/m%00", "master");
    assert_refused("redis+sentinel://h/m?sentinel_user=%gg&sentinel_password=s", "sentinel_user");
    assert_refused("redis+sentinel://h/m?sentinel_password=secret%", "sentinel_password");
    assert_refused("redis+sentinel://h/m?sentinel_password=sec%00ret", "sentinel_password");
}

static void signs_that_end_a_part_are_explained(void **state) {
    (void)state;
    const char *const urls[] = {"redis+sentinel://:pass/word@h/m",
                                "redis+sentinel://a:pass?word@h/m", "redis+cluster://:pass#word@h",
                                "redis+cluster://:pass/word@h,h2",
                                "redis+sentinel://h/m?sentinel_password=a@b"};
    assert_all_refused(urls, COUNT(urls), "user or password");
}

static void a_fragment_is_refused_by_name(void **state) {
    (void)state;
    const char *const urls[] = {"redis+cluster://h#", "redis+cluster://h/0#x",
                                "redis+sentinel://h/m#",
                                "redis+sentinel://h/m?sentinel_password=a#b"};
    assert_all_refused(urls, COUNT(urls), "fragment");
}

static void a_url_tells_whether_it_has_passwords(void **state) {
    (void)state;
    assert_true(lki_url_has_password("redis+sentinel://:a@h/m"));
    assert_true(lki_url_has_password("valkeys+cluster://u:a@h,h2"));
    assert_false(lki_url_has_password("redis+cluster://u@h"));
    assert_false(lki_url_has_password("redis+sentinel://h/m?sentinel_password=s"));
    assert_true(lki_url_has_sentinel_password("redis+sentinel://h/m?sentinel_password=s"));
    assert_true(
        lki_url_has_sentinel_password("VALKEY+sentinel://h/m?sentinel_user=u&sentinel_password=s"));
    assert_false(lki_url_has_sentinel_password("redis+sentinel://:a@h/m?sentinel_password="));
    assert_false(lki_url_has_sentinel_password("redis+sentinel://:a@h/m"));
    assert_false(lki_url_has_sentinel_password("redis+cluster://h?sentinel_password=s"));
    assert_true(lki_url_is_of_sentinels("rediss+sentinel://h/m"));
    assert_false(lki_url_is_of_sentinels("rediss+cluster://h"));
    assert_false(lki_url_is_of_sentinels("redis://h"));
    assert_false(lki_url_is_of_sentinels("local:"));
}

/* ------------------------------------------------------------------------------------- showing */

static void what_is_shown_is_a_url_without_passwords(void **state) {
    (void)state;
    assert_shown("redis+sentinel://ann:secret@h1,[::1]:7/m/2",
                 "redis+sentinel://ann@h1:26379,[::1]:7/m/2");
    assert_shown("valkey+sentinel://h/m?sentinel_password=s&sentinel_user=u",
                 "valkey+sentinel://h:26379/m?sentinel_user=u");
    assert_shown("rediss+cluster://:secret@h1,h2:7000", "rediss+cluster://h1:6379,h2:7000");
}

static void what_is_shown_is_safe_to_print(void **state) {
    (void)state;
    assert_shown("redis+sentinel://a%0a:s@h/%1b%5b2J%2f?sentinel_user=%40%0a&sentinel_password=s",
                 "redis+sentinel://a%0A@h:26379/%1B%5B2J%2F?sentinel_user=%40%0A");
}

static void what_is_shown_can_be_read_again(void **state) {
    (void)state;
    lki_seeds first = read_url("redis+sentinel://a%2f:s@h1,[::1]/m%2f%3f/7"
                               "?sentinel_user=u%26%3d&sentinel_password=s");
    lki_seeds again = read_with(first.shown, "s", "s");
    assert_string_equal(again.server.user, first.server.user);
    assert_string_equal(again.seeds[0].user, first.seeds[0].user);
    assert_string_equal(again.master, first.master);
    assert_int_equal(again.server.db, first.server.db);
    assert_string_equal(again.shown, first.shown);
    lki_seeds_clear(&first);
    lki_seeds_clear(&again);
}

static void each_seed_is_shown_as_one_server(void **state) {
    (void)state;
    lki_seeds seeds =
        read_url("valkeys+sentinel://ann:a@h1,[::1]/m/2?sentinel_user=u&sentinel_password=s");
    assert_string_equal(seeds.seeds[0].shown, "valkeys://u@h1:26379");
    assert_string_equal(seeds.seeds[1].shown, "valkeys://u@[::1]:26379");
    lki_seeds_clear(&seeds);
    seeds = read_url("redis+cluster://ann:a@h1");
    assert_string_equal(seeds.seeds[0].shown, "redis://ann@h1:6379");
    lki_seeds_clear(&seeds);
}

/* Whatever byte of the URL is replaced by whichever sign, or wherever it is cut. */
static void assert_no_secret_shown(const char *good, const char *const *secrets, size_t count) {
    static const char signs[] = ":/?#@%[]&=, \n";
    size_t length = strlen(good);
    for (size_t at = 0; at < length; at++) {
        for (size_t i = 0; i < sizeof signs; i++) { /* the NUL too: cut there */
            char url[200];
            lki_seeds seeds = {0};
            lki_error error = {0};
            memcpy(url, good, length + 1);
            url[at] = signs[i];
            lk_status status = lki_seeds_read(url, NULL, NULL, &seeds, &error);
            assert_true(status == LK_OK || status == LK_INVALID);
            for (size_t j = 0; j < count && status == LK_INVALID; j++)
                for (size_t from = 0; from + 4 <= strlen(secrets[j]); from++) {
                    char piece[5] = {0};
                    memcpy(piece, secrets[j] + from, 4);
                    assert_null(strstr(error.text, piece));
                }
            lki_seeds_clear(&seeds);
        }
    }
}

static void no_refusal_shows_a_password(void **state) {
    (void)state;
    static const char *const secrets[] = {"hunter2xyz", "tiger3uvw"};
    assert_no_secret_shown("redis+sentinel://ann:hunter2xyz@h:1,k/m/2"
                           "?sentinel_user=bob&sentinel_password=tiger3uvw",
                           secrets, 2);
    assert_no_secret_shown("redis+cluster://ann:hunter2xyz@h:1,k/0", secrets, 1);
}

/* A secret in the place of each part, so that this part is refused. */
static void no_refusal_quotes_the_part_that_is_wrong(void **state) {
    (void)state;
    const char *const urls[] = {"hunter2://h",
                                "redis+cluster://hunter2%@h",
                                "redis+cluster://:hunter2%@h",
                                "redis+cluster://hunter2:",
                                "redis+cluster://h,hunter2!",
                                "redis+cluster://[hunter2]",
                                "redis+cluster://h:hunter2",
                                "redis+cluster://h/hunter2",
                                "redis+cluster://h?hunter2",
                                "redis+cluster://h#hunter2",
                                "redis+sentinel://h/hunter2%",
                                "redis+sentinel://h/m/hunter2",
                                "redis+sentinel://h/m?hunter2=1",
                                "redis+sentinel://h/m?sentinel_user=hunter2",
                                "redis+sentinel://h/m?sentinel_user=hunter2%",
                                "redis+sentinel://h/m?sentinel_password=hunter2%",
                                "redis+sentinel://h/m?sentinel_password=hunter2@",
                                "redis+sentinel://h/m#hunter2"};
    for (size_t i = 0; i < COUNT(urls); i++) {
        lki_seeds seeds = {0};
        lki_error error = {0};
        assert_int_equal(lki_seeds_read(urls[i], NULL, NULL, &seeds, &error), LK_INVALID);
        assert_null(strstr(error.text, "hunter2"));
    }
}

/* ---------------------------------------------------------------------------------- endpoints */

static void a_server_is_logged_in_to_as_the_url_says(void **state) {
    (void)state;
    lki_seeds seeds = read_url("redis+sentinel://ann:secret@h/m/3?sentinel_password=s");
    lki_endpoint server;
    assert_true(lki_seeds_endpoint(&seeds, "10.0.0.7", "6380", &server));
    lki_seeds_clear(&seeds);
    assert_address(&server, "10.0.0.7", "6380");
    assert_login(&server, "ann", "secret");
    assert_int_equal(server.db, 3);
    assert_string_equal(server.shown, "redis://ann@10.0.0.7:6380/3");
    lki_endpoint_clear(&server);
}

/* Sentinels and nodes tell the addresses, and an address may be anything. */
static void the_address_of_a_server_is_safe_to_print(void **state) {
    (void)state;
    lki_seeds seeds = read_url("valkeys+cluster://h");
    lki_endpoint server;
    assert_true(lki_seeds_endpoint(&seeds, "fe80::1", "1", &server));
    assert_string_equal(server.shown, "valkeys://[fe80::1]:1");
    lki_endpoint_clear(&server);
    assert_true(lki_seeds_endpoint(&seeds, "a\n\x1b[2J", "1\r", &server));
    assert_string_equal(server.host, "a\n\x1b[2J");
    assert_string_equal(server.shown, "valkeys://a%0A%1B%5B2J:1%0D");
    lki_endpoint_clear(&server);
    lki_seeds_clear(&seeds);
}

static void cleared_seeds_are_empty(void **state) {
    (void)state;
    lki_seeds seeds = read_url("redis+sentinel://ann:a@h1,h2/m?sentinel_password=s"), empty = {0};
    lki_seeds_clear(&seeds);
    assert_memory_equal(&seeds, &empty, sizeof empty);
    lki_seeds_clear(&seeds);
}

/* -------------------------------------------------------------------------------------- memory */

static int allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

static void each_allocation_of_reading_may_fail(void **state) {
    (void)state;
    const char *const urls[] = {"redis+sentinel://ann:a@h1,h2/m/3?sentinel_user=u",
                                "redis+cluster://h1,h2"};
    for (size_t i = 0; i < 2; i++) {
        lk_status status = LK_NOMEM;
        for (refused_one = 1; status != LK_OK; refused_one++) {
            lki_seeds seeds = {0};
            lki_error error = {0};
            allocations = 0;
            lki_memory_refuse(refuses);
            status = lki_seeds_read(urls[i], "given", "for sentinels", &seeds, &error);
            lki_memory_refuse(NULL);
            assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
            assert_int_equal(error.status, status);
            assert_int_equal(seeds.seeds != NULL, status == LK_OK);
            lki_seeds_clear(&seeds);
        }
        assert_true(refused_one > 10);
    }
}

static void each_allocation_of_a_server_may_fail(void **state) {
    (void)state;
    lki_seeds seeds = read_url("redis+cluster://ann:secret@h");
    lki_endpoint server = {0};
    bool made = false;
    for (refused_one = 1; !made; refused_one++) {
        allocations = 0;
        lki_memory_refuse(refuses);
        made = lki_seeds_endpoint(&seeds, "h", "1", &server);
        lki_memory_refuse(NULL);
        assert_int_equal(made, allocations < refused_one);
        assert_int_equal(made, server.host != NULL);
    }
    assert_true(refused_one > 5);
    lki_endpoint_clear(&server);
    lki_seeds_clear(&seeds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentinels_have_a_port_of_their_own_and_a_master),
        cmocka_unit_test(the_login_of_the_url_is_for_the_servers_alone),
        cmocka_unit_test(sentinels_have_a_login_of_their_own),
        cmocka_unit_test(passwords_of_the_url_come_before_the_given_ones),
        cmocka_unit_test(an_empty_user_or_password_of_sentinels_is_none),
        cmocka_unit_test(a_user_needs_a_password),
        cmocka_unit_test(the_name_of_a_master_is_decoded),
        cmocka_unit_test(a_missing_master_is_refused_by_name),
        cmocka_unit_test(a_master_of_more_than_255_bytes_is_refused_by_name),
        cmocka_unit_test(a_slash_without_a_number_is_db_0),
        cmocka_unit_test(a_db_that_is_no_number_is_refused_by_name),
        cmocka_unit_test(a_query_that_is_not_known_is_refused_by_name),
        cmocka_unit_test(nodes_of_a_cluster_have_the_port_and_login_of_servers),
        cmocka_unit_test(a_cluster_has_db_0_alone),
        cmocka_unit_test(schemes_with_an_s_behind_mean_tls_everywhere),
        cmocka_unit_test(an_unknown_scheme_is_refused_by_name),
        cmocka_unit_test(a_missing_host_is_refused_by_name),
        cmocka_unit_test(a_host_that_cannot_be_one_is_refused_by_name),
        cmocka_unit_test(at_most_64_hosts_are_read),
        cmocka_unit_test(a_broken_escape_or_a_nul_is_refused_by_name),
        cmocka_unit_test(signs_that_end_a_part_are_explained),
        cmocka_unit_test(a_fragment_is_refused_by_name),
        cmocka_unit_test(a_url_tells_whether_it_has_passwords),
        cmocka_unit_test(what_is_shown_is_a_url_without_passwords),
        cmocka_unit_test(what_is_shown_is_safe_to_print),
        cmocka_unit_test(what_is_shown_can_be_read_again),
        cmocka_unit_test(each_seed_is_shown_as_one_server),
        cmocka_unit_test(no_refusal_shows_a_password),
        cmocka_unit_test(no_refusal_quotes_the_part_that_is_wrong),
        cmocka_unit_test(a_server_is_logged_in_to_as_the_url_says),
        cmocka_unit_test(the_address_of_a_server_is_safe_to_print),
        cmocka_unit_test(cleared_seeds_are_empty),
        cmocka_unit_test(each_allocation_of_reading_may_fail),
        cmocka_unit_test(each_allocation_of_a_server_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
