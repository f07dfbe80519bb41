/* Operations as commands: their words are those that SPEC 10 and 11 ask for, in that order. */
#include "base/memory.h"
#include "engine/form.h"
#include "engine/scan.h"

#include "packed.h"
#include "resp.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HANDLE "00112233445566778899aabbccddeeff-0000000000a7"

enum { HEAD = 3 };

static const lki_key lock_a = {"lk", "a", false}, wide_a = {"lk", "a", true};
static lki_form form; /* the server lacks nothing */
static const uint64_t greatest = UINT64_C(1) << 53;

static const lki_acquire_arguments acquire_words = {.handle = HANDLE,
                                                    .req = 7,
                                                    .fence = 8,
                                                    .mode = LK_WRITE,
                                                    .wait = true,
                                                    .lease_ms = 30000,
                                                    .policy = LK_PHASE_FAIR,
                                                    .floor = 9,
                                                    .owner = "owner",
                                                    .group = "group",
                                                    .who = "1 host app"};

static void make_acquire(lki_form *asked, lki_bytes *out, lki_key key) {
    lki_form_acquire(asked, out, key, &acquire_words);
}

static void make_release(lki_form *asked, lki_bytes *out, lki_key key) {
    lki_release_arguments words = {HANDLE, 7, 8, LK_WRITE, true};
    lki_form_release(asked, out, key, &words);
}

static void make_renew(lki_form *asked, lki_bytes *out, lki_key key) {
    lki_renew_entry entry = {key, HANDLE, 8, 7, 30000};
    lki_form_renew(asked, out, &entry, 1);
}

static void make_convert(lki_form *asked, lki_bytes *out, lki_key key) {
    lki_form_convert(asked, out, key, HANDLE, 7, 8);
}

static void make_cancel(lki_form *asked, lki_bytes *out, lki_key key) {
    lki_form_cancel(asked, out, key, HANDLE, 7, 6);
}

static void make_inspect(lki_form *asked, lki_bytes *out, lki_key key) {
    lki_form_inspect(asked, out, key, 1000);
}

static void make_force(lki_form *asked, lki_bytes *out, lki_key key) {
    lki_form_force(asked, out, key, "owner");
}

/* The words of SPEC 10, and a word that stands in this script alone. */
static const struct {
    void (*make)(lki_form *, lki_bytes *, lki_key);
    const char *name, *own_word;
    const char *arguments[12];
} operations[] = {
    {make_acquire,
     "acquire",
     "'deadlock ",
     {HANDLE, "7", "8", "write", "1", "30000", "phase-fair", "9", "owner", "group", "1 host app"}},
    {make_release, "release", "'released ", {HANDLE, "7", "8", "write", "1"}},
    {make_renew, "renew", "'renewed ", {HANDLE, "8", "7", "30000"}},
    {make_convert, "convert", NULL, {HANDLE, "7", "8"}},
    {make_cancel, "cancel", "'cancelled ", {HANDLE, "7", "6"}},
    {make_inspect, "inspect", "'lock ", {"1000"}},
    {make_force, "force", "'forced ", {"owner"}},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* Reads the one command that is there, and frees the bytes. */
static resp_command parse(lki_bytes *bytes) {
    resp_command command = {0};
    assert_false(bytes->failed);
    assert_int_equal(resp_command_read(&command, bytes->data, bytes->length), bytes->length);
    lki_bytes_free(bytes);
    return command;
}

/* The bytes of a command from one word on; the word has a NUL of its own behind it. */
static size_t word_length(const resp_command *command, size_t word) {
    const char *at = command->bytes;
    size_t length = 0;
    for (size_t i = 0; i <= word; i++) {
        at = strchr(at, '$') + 1;
        length = strtoul(at, NULL, 10);
        at = strstr(at, "\r\n") + 2 + (i < word ? length : 0);
    }
    return length;
}

static void make_operation(size_t i, lki_bytes *out, bool text, lki_key key) {
    lki_form asked = {0};
    for (size_t script = 0; script < LKI_SCRIPTS; script++)
        asked.lacks[script] = text;
    operations[i].make(&asked, out, key);
}

static resp_command parse_operation(size_t i, bool text) {
    lki_bytes bytes = {0};
    make_operation(i, &bytes, text, lock_a);
    return parse(&bytes);
}

/* Whether a word of a command is the packed arguments (SPEC 11.5). */
static void assert_arguments(const resp_command *command, size_t word, const char *op,
                             const char *const arguments[]) {
    char *words[PACKED_WORDS_MOST];
    size_t count;
    assert_int_equal(packed_read(op, command->words[word], words, &count),
                     word_length(command, word));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(words[i], arguments[i]);
        free(words[i]);
    }
}

static void assert_keys(const resp_command *command, size_t from, const char *first_key,
                        bool wide) {
    char second_key[700];
    snprintf(second_key, sizeof second_key, "%s:i", first_key);
    assert_string_equal(command->words[from], first_key);
    if (wide)
        assert_string_equal(command->words[from + 1], second_key);
}

/* ---------------------------------------------------------------------------------- operations */

static void each_operation_has_the_words_of_the_spec(void **state) {
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        resp_command command = parse_operation(i, false);
        assert_int_equal(command.count, HEAD + 2);
        assert_string_equal(command.words[0], "EVALSHA");
        assert_string_equal(command.words[2], "1");
        assert_keys(&command, HEAD, "lk:{a}", false);
        assert_arguments(&command, HEAD + 1, operations[i].name, operations[i].arguments);
        resp_command_clear(&command);
    }
}

static void a_wide_key_goes_as_both_keys(void **state) {
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        lki_bytes bytes = {0};
        make_operation(i, &bytes, false, wide_a);
        resp_command command = parse(&bytes);
        assert_int_equal(command.count, HEAD + 3);
        assert_string_equal(command.words[2], "2");
        assert_keys(&command, HEAD, "lk:{a}", true);
        assert_arguments(&command, HEAD + 2, operations[i].name, operations[i].arguments);
        resp_command_clear(&command);
    }
}

/* struct.unpack('<d') reads these bytes on every server, whatever machine wrote them. */
static void a_number_is_a_little_endian_double(void **state) {
    (void)state;
    static const struct {
        uint64_t number;
        unsigned char bytes[8];
    } numbers[] = {
        {0, {0}},
        {1, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
        {1000, {0, 0, 0, 0, 0, 0x40, 0x8f, 0x40}},
        {(UINT64_C(1) << 53) - 1, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x43}},
        {UINT64_C(1) << 53, {0, 0, 0, 0, 0, 0, 0x40, 0x43}},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        lki_bytes bytes = {0};
        lki_form_inspect(&form, &bytes, lock_a, numbers[i].number);
        resp_command command = parse(&bytes);
        assert_int_equal(word_length(&command, HEAD + 1), 8);
        assert_memory_equal(command.words[HEAD + 1], numbers[i].bytes, 8);
        resp_command_clear(&command);
    }
}

static void a_script_that_the_server_lacks_goes_with_its_text(void **state) {
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        resp_command by_sha = parse_operation(i, false), by_text = parse_operation(i, true);
        assert_string_equal(by_text.words[0], "EVAL");
        assert_int_equal(by_text.count, by_sha.count);
        for (size_t j = 2; j < by_sha.count; j++)
            assert_string_equal(by_text.words[j], by_sha.words[j]);
        resp_command_clear(&by_sha);
        resp_command_clear(&by_text);
    }
}

static void the_sha_is_that_of_the_text(void **state) {
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        resp_command by_sha = parse_operation(i, false), by_text = parse_operation(i, true);
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned length;
        char digits[2 * 20 + 1];
        assert_true(EVP_Digest(by_text.words[1], strlen(by_text.words[1]), digest, &length,
                               EVP_sha1(), NULL));
        assert_int_equal(length, 20);
        for (size_t j = 0; j < 20; j++)
            snprintf(digits + 2 * j, 3, "%02x", digest[j]);
        assert_string_equal(by_sha.words[1], digits);
        resp_command_clear(&by_sha);
        resp_command_clear(&by_text);
    }
}

static void each_operation_runs_its_own_script(void **state) {
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        resp_command command = parse_operation(i, true);
        for (size_t j = 0; j < OPERATIONS; j++)
            if (operations[j].own_word)
                assert_int_equal(strstr(command.words[1], operations[j].own_word) != NULL, i == j);
        resp_command_clear(&command);
    }
}

static void modes_waits_and_policies_have_their_codes(void **state) {
    (void)state;
    static const char *const policies[] = {"fair", "phase-fair", "prefer-writer", "prefer-reader"};
    for (unsigned i = 0; i < 16; i++) {
        lki_acquire_arguments words = acquire_words;
        words.mode = i & 1 ? LK_WRITE : LK_READ;
        words.wait = i & 2;
        words.policy = (lk_policy)(i >> 2);
        lki_bytes bytes = {0};
        lki_form_acquire(&form, &bytes, lock_a, &words);
        resp_command command = parse(&bytes);
        const char *expected[12];
        memcpy(expected, operations[LKI_SCRIPT_ACQUIRE].arguments, sizeof expected);
        expected[3] = i & 1 ? "write" : "read";
        expected[4] = i & 2 ? "1" : "0";
        expected[6] = policies[i >> 2];
        assert_arguments(&command, HEAD + 1, "acquire", expected);
        assert_string_equal(lki_policy_text(words.policy), policies[i >> 2]);
        resp_command_clear(&command);
    }
}

static void a_release_says_its_mode_and_whether_a_caller_was_told(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        lki_bytes bytes = {0};
        lki_release_arguments words = {HANDLE, 7, 8, i & 1 ? LK_WRITE : LK_READ, i & 2};
        lki_form_release(&form, &bytes, lock_a, &words);
        resp_command command = parse(&bytes);
        const char *const expected[] = {HANDLE, "7", "8", i & 1 ? "write" : "read",
                                        i & 2 ? "1" : "0"};
        assert_arguments(&command, HEAD + 1, "release", expected);
        resp_command_clear(&command);
    }
}

static void numbers_and_texts_go_at_their_greatest(void **state) {
    (void)state;
    char owner[LKI_OWNER_MOST + 1] = {0}, group[LKI_GROUP_MOST + 1] = {0},
                                who[LKI_WHO_MOST + 1] = {0};
    memset(owner, '\n', LKI_OWNER_MOST);
    memset(group, '\xff', LKI_GROUP_MOST);
    memset(who, '\x01', LKI_WHO_MOST);
    lki_acquire_arguments words = {HANDLE,  greatest, greatest, LK_READ, false, 86400000,
                                   LK_FAIR, greatest, owner,    group,   who};
    lki_bytes bytes = {0};
    lki_form_acquire(&form, &bytes, lock_a, &words);
    resp_command command = parse(&bytes);
    const char *const expected[] = {HANDLE,
                                    "9007199254740992",
                                    "9007199254740992",
                                    "read",
                                    "0",
                                    "86400000",
                                    "fair",
                                    "9007199254740992",
                                    owner,
                                    group,
                                    who};
    assert_arguments(&command, HEAD + 1, "acquire", expected);
    resp_command_clear(&command);
}

static void an_empty_text_is_a_nul(void **state) {
    (void)state;
    lki_bytes bytes = {0};
    lki_form_force(&form, &bytes, lock_a, "");
    resp_command command = parse(&bytes);
    assert_int_equal(word_length(&command, HEAD + 1), 1);
    assert_int_equal(*command.words[HEAD + 1], 0);
    resp_command_clear(&command);
}

/* Every third lock is wide: the script tells the keys of the entries apart by their ends. */
static void assert_renew(size_t count) {
    static char names[LKI_RENEW_MOST][16], handles[LKI_RENEW_MOST][LKI_HANDLE_LENGTH + 1];
    lki_renew_entry entries[LKI_RENEW_MOST];
    lki_bytes bytes = {0};
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "name:%zu", i);
        snprintf(handles[i], sizeof handles[i], "%032x-%012zx", 1, i);
        lki_key key = {"pre", names[i], i % 3 == 0};
        entries[i] =
            (lki_renew_entry){key, handles[i], i % 2 ? 0 : greatest - i, i + 1, 100 + (int64_t)i};
    }
    lki_form_renew(&form, &bytes, entries, count);
    resp_command command = parse(&bytes);
    size_t keys = count + (count + 2) / 3, at = HEAD;
    assert_int_equal(command.count, HEAD + keys + count);
    assert_int_equal(strtoul(command.words[2], NULL, 10), keys);
    for (size_t i = 0; i < count; i++) {
        char key[32], fence[32], req[32], lease_ms[32];
        const char *const expected[] = {handles[i], fence, req, lease_ms};
        snprintf(key, sizeof key, "pre:{name:%zu}", i);
        snprintf(fence, sizeof fence, "%ju", (uintmax_t)entries[i].fence);
        snprintf(req, sizeof req, "%zu", i + 1);
        snprintf(lease_ms, sizeof lease_ms, "%zu", 100 + i);
        assert_keys(&command, at, key, entries[i].key.is_wide);
        at += entries[i].key.is_wide ? 2 : 1;
        assert_arguments(&command, HEAD + keys + i, "renew", expected);
    }
    resp_command_clear(&command);
}

static void one_entry_is_renewed(void **state) {
    (void)state;
    assert_renew(1);
}

static void a_hundred_entries_are_renewed_in_one_command(void **state) {
    (void)state;
    assert_renew(LKI_RENEW_MOST);
}

static void a_command_stands_behind_what_is_there_already(void **state) {
    (void)state;
    lki_bytes bytes = {0};
    for (size_t i = 0; i < OPERATIONS; i++)
        make_operation(i, &bytes, i % 2, lock_a);
    size_t at = 0;
    for (size_t i = 0; i < OPERATIONS; i++) {
        resp_command expected = parse_operation(i, i % 2);
        assert_true(bytes.length - at >= expected.length);
        assert_memory_equal(bytes.data + at, expected.bytes, expected.length);
        at += expected.length;
        resp_command_clear(&expected);
    }
    assert_int_equal(at, bytes.length);
    lki_bytes_free(&bytes);
}

static bool refuse_all(void) {
    return true;
}

static void a_command_without_memory_is_remembered_as_failed(void **state) {
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        lki_bytes bytes = {0};
        lki_memory_refuse(refuse_all);
        make_operation(i, &bytes, true, lock_a);
        lki_memory_refuse(NULL);
        assert_true(bytes.failed);
        lki_bytes_free(&bytes);
    }
}

/* ---------------------------------------------------------------------------------------- keys */

static resp_command command_of(const char *prefix, const char *name) {
    lki_bytes bytes = {0};
    lki_form_inspect(&form, &bytes, (lki_key){prefix, name, true}, 1);
    return parse(&bytes);
}

static void odd_names_have_the_keys_of_the_spec(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"a", "lk:{a}"},       {"}x", "lk:{%}x}"},        {"%x", "lk:{%%x}"}, {"{a}b", "lk:{{a}b}"},
        {"a}b", "lk:{a}b}"},   {"a%b", "lk:{a%b}"},       {"}", "lk:{%}}"},   {"%", "lk:{%%}"},
        {"%}x", "lk:{%%}x}"},  {"{", "lk:{{}"},           {"{}", "lk:{{}}"},  {"a:i", "lk:{a:i}"},
        {"\r\n", "lk:{\r\n}"}, {"\xff*?", "lk:{\xff*?}"}, {" ", "lk:{ }"},    {"a}:i", "lk:{a}:i}"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        resp_command command = command_of("lk", names[i][0]);
        assert_keys(&command, HEAD, names[i][1], true);
        resp_command_clear(&command);
    }
}

static void the_longest_prefix_and_name_fit(void **state) {
    (void)state;
    char prefix[LKI_PREFIX_MOST + 1] = {0}, name[LKI_NAME_MOST + 1] = {0}, key[700];
    memset(prefix, 'p', LKI_PREFIX_MOST);
    memset(name, '%', LKI_NAME_MOST);
    snprintf(key, sizeof key, "%s:{%%%s}", prefix, name);
    resp_command command = command_of(prefix, name);
    assert_keys(&command, HEAD, key, true);
    resp_command_clear(&command);
}

static void a_name_can_be_read_from_its_first_key(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    static const char *const prefixes[] = {"lk", "p", "a:b", ":", "%", "lk:"};
    for (int round = 0; round < 5000; round++) {
        char name[LKI_NAME_MOST + 1];
        size_t most = round % 20 ? 6 : LKI_NAME_MOST;
        size_t length = 1 + (size_t)nrand48(seed) % most, found_length = 0;
        for (size_t i = 0; i < length; i++)
            name[i] =
                (char)(nrand48(seed) % 2 ? "{}%:iw"[nrand48(seed) % 6] : 1 + nrand48(seed) % 255);
        name[length] = 0;
        const char *prefix = prefixes[(size_t)round % (sizeof prefixes / sizeof *prefixes)];
        resp_command command = command_of(prefix, name);
        const char *key = command.words[HEAD];
        const char *found = lki_key_name(prefix, key, strlen(key), &found_length);
        assert_non_null(found);
        assert_int_equal(found_length, length);
        assert_memory_equal(found, name, length);
        resp_command_clear(&command);
    }
}

static void assert_no_name(const char *prefix, const char *key, size_t key_length) {
    size_t length = 77;
    /* In memory of its own, so that reading too far is seen. */
    char *copy = malloc(key_length + !key_length);
    assert_non_null(copy);
    memcpy(copy, key, key_length);
    const char *name = lki_key_name(prefix, copy, key_length, &length);
    free(copy);
    if (name)
        fail_msg("a name was found in %.*s", (int)key_length, key);
    assert_int_equal(length, 77);
}

static void the_second_key_of_a_lock_has_no_name(void **state) {
    (void)state;
    resp_command command = command_of("lk", "a");
    assert_no_name("lk", command.words[HEAD + 1], strlen(command.words[HEAD + 1]));
    resp_command_clear(&command);
}

static void keys_that_no_lock_has_are_refused(void **state) {
    (void)state;
    static const char *const keys[] = {"",        "lk",      "lk:",     "lk:{",    "lk:{}",
                                       "lk:{a",   "lk:a}",   "lk{a}",   "kl:{a}",  "lk2:{a}",
                                       "l:{a}",   "LK:{a}",  "lk:{a}x", "lk:(a)",  "lk::{a}",
                                       "xlk:{a}", "lk:{%a}", "lk:{%}",  "lk:{%{}", "lk:{% }"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_no_name("lk", keys[i], strlen(keys[i]));
    assert_no_name("lk", "lk:{a\0b}", 8);
    assert_no_name("lk", "lk:{\0}", 6);
}

/* The key of such a name has a percent sign. */
static void a_key_with_a_brace_that_is_not_escaped_is_no_locks(void **state) {
    (void)state;
    assert_no_name("lk", "lk:{}}", 6);
    assert_no_name("lk", "lk:{}x}", 7);
}

static void a_name_of_more_than_512_bytes_is_refused(void **state) {
    (void)state;
    char key[4 + 1 + 513 + 1];
    size_t length;
    memcpy(key, "lk:{", 4);
    memset(key + 4, 'n', sizeof key - 4);
    key[4 + 513] = '}';
    assert_no_name("lk", key, 4 + 513 + 1);
    key[4 + 512] = '}';
    assert_non_null(lki_key_name("lk", key, 4 + 512 + 1, &length));
    assert_int_equal(length, 512);
    key[4] = key[5] = '%'; /* the escape does not count */
    key[4 + 513] = '}';
    assert_non_null(lki_key_name("lk", key, 4 + 513 + 1, &length));
    assert_int_equal(length, 512);
}

/* ---------------------------------------------------------------------------------------- scan */

static void assert_scan(const char *prefix, const char *start, size_t start_length,
                        const char *pattern) {
    lki_bytes bytes = {0};
    lki_scan(&bytes, prefix, "42", start, start_length);
    resp_command command = parse(&bytes);
    const char *const words[] = {"SCAN", "42", "MATCH", pattern, "COUNT"};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(command.words[i], words[i]);
    assert_true(strtoul(command.words[5], NULL, 10) >= 1);
    assert_int_equal(command.count, 6);
    resp_command_clear(&command);
}

static void a_scan_asks_for_the_first_keys_of_names_with_that_start(void **state) {
    (void)state;
    assert_scan("lk", NULL, 0, "lk:{*}");
    assert_scan("lk", "", 0, "lk:{*}");
    assert_scan("lk", "order:", 6, "lk:{order:*}");
    assert_scan("lk", "order:*", 6, "lk:{order:*}");
}

static void what_a_pattern_would_understand_is_escaped(void **state) {
    (void)state;
    assert_scan("l*k", "a?b", 3, "l\\*k:{a\\?b*}");
    assert_scan("lk", "[a-z]\\^*", 8, "lk:{\\[a-z\\]\\\\^\\**}");
    assert_scan("[l]\\k?", NULL, 0, "\\[l\\]\\\\k\\?:{*}");
}

/* Their keys have a percent sign before it, and others of the same start may not. */
static void a_start_that_would_be_escaped_is_not_asked_for(void **state) {
    (void)state;
    assert_scan("lk", "}a", 2, "lk:{*}");
    assert_scan("lk", "%", 1, "lk:{*}");
    assert_scan("lk", "a%}", 3, "lk:{a%}*}");
}

static void the_longest_start_fits_when_all_of_it_is_escaped(void **state) {
    (void)state;
    char prefix[LKI_PREFIX_MOST + 1] = {0}, start[LKI_NAME_MOST + 1] = {0};
    char pattern[2 * (LKI_PREFIX_MOST + LKI_NAME_MOST) + 8];
    size_t length = 0;
    memset(prefix, '*', LKI_PREFIX_MOST);
    memset(start, '?', LKI_NAME_MOST);
    for (int i = 0; i < LKI_PREFIX_MOST; i++)
        length += (size_t)snprintf(pattern + length, sizeof pattern - length, "\\*");
    length += (size_t)snprintf(pattern + length, sizeof pattern - length, ":{");
    for (int i = 0; i < LKI_NAME_MOST; i++)
        length += (size_t)snprintf(pattern + length, sizeof pattern - length, "\\?");
    snprintf(pattern + length, sizeof pattern - length, "*}");
    assert_scan(prefix, start, LKI_NAME_MOST, pattern);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_has_the_words_of_the_spec),
        cmocka_unit_test(a_script_that_the_server_lacks_goes_with_its_text),
        cmocka_unit_test(the_sha_is_that_of_the_text),
        cmocka_unit_test(each_operation_runs_its_own_script),
        cmocka_unit_test(a_wide_key_goes_as_both_keys),
        cmocka_unit_test(a_number_is_a_little_endian_double),
        cmocka_unit_test(modes_waits_and_policies_have_their_codes),
        cmocka_unit_test(a_release_says_its_mode_and_whether_a_caller_was_told),
        cmocka_unit_test(numbers_and_texts_go_at_their_greatest),
        cmocka_unit_test(an_empty_text_is_a_nul),
        cmocka_unit_test(one_entry_is_renewed),
        cmocka_unit_test(a_hundred_entries_are_renewed_in_one_command),
        cmocka_unit_test(a_command_stands_behind_what_is_there_already),
        cmocka_unit_test(a_command_without_memory_is_remembered_as_failed),
        cmocka_unit_test(odd_names_have_the_keys_of_the_spec),
        cmocka_unit_test(the_longest_prefix_and_name_fit),
        cmocka_unit_test(a_name_can_be_read_from_its_first_key),
        cmocka_unit_test(the_second_key_of_a_lock_has_no_name),
        cmocka_unit_test(keys_that_no_lock_has_are_refused),
        cmocka_unit_test(a_key_with_a_brace_that_is_not_escaped_is_no_locks),
        cmocka_unit_test(a_name_of_more_than_512_bytes_is_refused),
        cmocka_unit_test(a_scan_asks_for_the_first_keys_of_names_with_that_start),
        cmocka_unit_test(what_a_pattern_would_understand_is_escaped),
        cmocka_unit_test(a_start_that_would_be_escaped_is_not_asked_for),
        cmocka_unit_test(the_longest_start_fits_when_all_of_it_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
