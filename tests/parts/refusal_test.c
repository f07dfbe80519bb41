/* Error replies: which are for later, which are final, and what they mean to the caller. */
#include "engine/form.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *code;
    lki_refusal_kind kind;
    lk_status status;
} row;

static const row codes[] = {
    {"LOADING", LKI_REFUSED_LATER, LK_UNAVAILABLE},
    {"BUSY", LKI_REFUSED_LATER, LK_UNAVAILABLE},
    {"TRYAGAIN", LKI_REFUSED_LATER, LK_UNAVAILABLE},
    {"CLUSTERDOWN", LKI_REFUSED_LATER, LK_UNAVAILABLE},
    {"MASTERDOWN", LKI_REFUSED_LATER, LK_UNAVAILABLE},
    {"READONLY", LKI_REFUSED_FINAL, LK_UNAVAILABLE},
    {"OOM", LKI_REFUSED_FINAL, LK_UNAVAILABLE},
    {"MISCONF", LKI_REFUSED_FINAL, LK_UNAVAILABLE},
    {"NOREPLICAS", LKI_REFUSED_FINAL, LK_UNAVAILABLE},
    {"NOAUTH", LKI_REFUSED_FINAL, LK_DENIED},
    {"WRONGPASS", LKI_REFUSED_FINAL, LK_DENIED},
    {"NOPERM", LKI_REFUSED_FINAL, LK_DENIED},
    {"DENIED", LKI_REFUSED_FINAL, LK_DENIED},
    {"LKTYPE", LKI_REFUSED_FINAL, LK_INVALID},
    {"LKVERSION", LKI_REFUSED_FINAL, LK_INVALID},
    {"LKKEYS", LKI_REFUSED_RESEND, LK_INTERNAL},
    {"WRONGTYPE", LKI_REFUSED_FINAL, LK_INVALID},
    {"LKDEPTH", LKI_REFUSED_TOO_DEEP, LK_INVALID},
    {"MOVED", LKI_REFUSED_FINAL, LK_UNSUPPORTED},
    {"CROSSSLOT", LKI_REFUSED_FINAL, LK_UNSUPPORTED},
};

/* Whole texts, as servers and our scripts say them. */
static const row texts[] = {
    {"LOADING Redis is loading the dataset in memory", LKI_REFUSED_LATER, LK_UNAVAILABLE},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     LKI_REFUSED_LATER, LK_UNAVAILABLE},
    {"READONLY You can't write against a read only replica.", LKI_REFUSED_FINAL, LK_UNAVAILABLE},
    {"OOM command not allowed when used memory > 'maxmemory'.", LKI_REFUSED_FINAL, LK_UNAVAILABLE},
    {"NOAUTH Authentication required.", LKI_REFUSED_FINAL, LK_DENIED},
    {"WRONGPASS invalid username-password pair or user is disabled.", LKI_REFUSED_FINAL, LK_DENIED},
    {"NOPERM this user has no permissions to run the 'evalsha' command", LKI_REFUSED_FINAL,
     LK_DENIED},
    {"ERR AUTH <password> called without any password configured for the default user. Are you "
     "sure your configuration is correct?",
     LKI_REFUSED_FINAL, LK_DENIED},
    {"ERR DB index is out of range", LKI_REFUSED_FINAL, LK_INVALID},
    {"ERR max number of clients reached", LKI_REFUSED_LATER, LK_UNAVAILABLE},
    {"DENIED Redis is running in protected mode because protected mode is enabled",
     LKI_REFUSED_FINAL, LK_DENIED},
    {"MOVED 3999 127.0.0.1:6381", LKI_REFUSED_FINAL, LK_UNSUPPORTED},
    {"LKTYPE lk:{a}: holds another type of value than this lock", LKI_REFUSED_FINAL, LK_INVALID},
    {"LKVERSION lk:{a}: holds a lock of another version of latchkey; stop the programs that use "
     "that "
     "version, then delete the key",
     LKI_REFUSED_FINAL, LK_INVALID},
    {"LKDEPTH mode: held 65535 times already", LKI_REFUSED_TOO_DEEP, LK_INVALID},
};

static void assert_refusal(const char *text, lki_refusal_kind kind, lk_status status) {
    lki_refusal refusal = lki_refusal_read(text, false);
    if (refusal.kind != kind || refusal.status != status)
        fail_msg("\"%s\" is read as kind %d, %s", text, (int)refusal.kind,
                 lk_status_name(refusal.status));
}

/* A script that the server lacks: see lki_form_refused(). */
static void a_missing_script_is_sent_again_with_its_text(void **state) {
    (void)state;
    static const char noscript[] = "NOSCRIPT No matching script. Please use EVAL.";
    lki_form form = {0};
    lki_bytes bytes = {0};
    lki_key key = {"lk", "a", false};
    lki_sent sent = lki_form_force(&form, &bytes, key, "");
    assert_false(sent.with_text);
    assert_int_equal(lki_form_refused(&form, sent, noscript).kind, LKI_REFUSED_RESEND);
    assert_true(lki_form_force(&form, &bytes, key, "").with_text);
    assert_false(lki_form_force(&form, &bytes, key, "").with_text);
    assert_false(lki_form_inspect(&form, &bytes, key, 1).with_text);
    lki_bytes_free(&bytes);
}

static void a_script_that_is_missing_although_its_text_was_sent_is_for_later(void **state) {
    (void)state;
    lki_form form = {0};
    lki_sent sent = {.script = LKI_SCRIPT_FORCE, .with_text = true};
    lki_refusal refusal = lki_form_refused(&form, sent, "NOSCRIPT");
    assert_int_equal(refusal.kind, LKI_REFUSED_LATER);
    assert_int_equal(refusal.status, LK_INTERNAL);
    assert_true(form.lacks[LKI_SCRIPT_FORCE]);
}

static void a_command_without_a_script_lacks_none(void **state) {
    (void)state;
    lki_form form = {0};
    lki_sent sent = {.script = LKI_SCRIPTS};
    assert_int_equal(lki_form_refused(&form, sent, "NOSCRIPT").kind, LKI_REFUSED_FINAL);
}

static void a_lock_with_an_index_is_asked_again_with_both_keys(void **state) {
    (void)state;
    static const char needs_both[] = "LKKEYS lk:{a}: the lock has many holds and waiters; pass its "
                                     "second key, too";
    lki_form form = {0};
    lki_bytes bytes = {0};
    lki_sent sent = lki_form_force(&form, &bytes, (lki_key){"lk", "a", false}, "");
    lki_refusal refusal = lki_form_refused(&form, sent, needs_both);
    assert_int_equal(refusal.kind, LKI_REFUSED_RESEND);
    assert_true(refusal.needs_both_keys);
    assert_false(lki_form_force(&form, &bytes, (lki_key){"lk", "a", true}, "").with_text);
    lki_bytes_free(&bytes);
}

/* Otherwise a fault of the server would make the client send without a pause. */
static void a_lock_that_asks_for_both_keys_although_it_has_them_is_for_later(void **state) {
    (void)state;
    lki_form form = {0};
    lki_bytes bytes = {0};
    lki_sent sent = lki_form_force(&form, &bytes, (lki_key){"lk", "a", true}, "");
    lki_refusal refusal = lki_form_refused(&form, sent, "LKKEYS lk:{a}: ask again");
    assert_int_equal(refusal.kind, LKI_REFUSED_LATER);
    assert_true(refusal.needs_both_keys);
    lki_bytes_free(&bytes);
}

static void each_code_has_its_meaning(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_refusal(codes[i].code, codes[i].kind, codes[i].status);
}

static void each_code_has_it_whatever_stands_behind(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s unknown command -OOM No permissions", codes[i].code);
        assert_refusal(text, codes[i].kind, codes[i].status);
    }
}

static void what_servers_and_scripts_say_is_known(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_refusal(texts[i].code, texts[i].kind, texts[i].status);
}

static void a_code_is_a_whole_word_in_capitals_at_the_beginning(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char text[128];
        snprintf(text, sizeof text, "%sX such", codes[i].code);
        assert_refusal(text, LKI_REFUSED_FINAL, LK_INTERNAL);
        snprintf(text, sizeof text, "ERR %s such", codes[i].code);
        assert_refusal(text, LKI_REFUSED_FINAL, LK_INTERNAL);
        snprintf(text, sizeof text, "%s such", codes[i].code);
        for (char *c = text; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        assert_refusal(text, LKI_REFUSED_FINAL, LK_INTERNAL);
    }
    assert_refusal("BUSYGROUP Consumer Group name already exists", LKI_REFUSED_FINAL, LK_INTERNAL);
}

static void an_unknown_error_is_final_and_a_fault_of_ours(void **state) {
    (void)state;
    const char *const unknown[] = {"",
                                   " ",
                                   "ERR",
                                   "ERR syntax error",
                                   "LKARG req: must be at least 1",
                                   "-",
                                   "LKARG handle: must be 32 hex digits, a dash and 12 hex digits"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_refusal(unknown[i], LKI_REFUSED_FINAL, LK_INTERNAL);
}

static void a_command_that_the_server_lacks_is_unsupported(void **state) {
    (void)state;
    assert_refusal("ERR unknown command `EVALSHA`, with args beginning with: ", LKI_REFUSED_FINAL,
                   LK_UNSUPPORTED);
    assert_refusal("ERR unknown command 'EVAL', with args beginning with: 'x'", LKI_REFUSED_FINAL,
                   LK_UNSUPPORTED);
}

static void a_floor_ahead_of_the_servers_clock_is_the_servers_trouble(void **state) {
    (void)state;
    assert_refusal("LKARG floor: is more than a day ahead of the server's clock", LKI_REFUSED_FINAL,
                   LK_UNAVAILABLE);
}

/* A refusal inside a script of an older server has ERR in front. */
static void a_refusal_inside_a_script_keeps_its_meaning(void **state) {
    (void)state;
    static const row inner[] = {
        {"-OOM command not allowed when used memory > 'maxmemory'.", 0, LK_UNAVAILABLE},
        {"-READONLY You can't write against a read only replica.", 0, LK_UNAVAILABLE},
        {"The user executing the script can't run this command or subcommand", 0, LK_DENIED},
        {"The user executing the script can't access at least one of the keys mentioned in the "
         "command arguments",
         0, LK_DENIED},
        {"ACL failure in script: No permissions to access a key", 0, LK_DENIED},
    };
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        char text[300];
        snprintf(text, sizeof text, "ERR Error running script (call to f_ab): @user_script:7: %s",
                 inner[i].code);
        assert_refusal(text, LKI_REFUSED_FINAL, inner[i].status);
    }
}

static void a_server_that_cannot_save_says_so_inside_a_script_too(void **state) {
    (void)state;
    assert_refusal(
        "ERR Error running script (call to f_ab): @user_script:7: @user_script: 7: "
        "-MISCONF Redis is configured to save RDB snapshots, but it is currently not able "
        "to persist on disk.",
        LKI_REFUSED_FINAL, LK_UNAVAILABLE);
}

/* It stands behind a semicolon. */
static void each_advice_is_a_clause(void **state) {
    (void)state;
    for (size_t i = 0; i <= sizeof codes / sizeof *codes; i++) {
        const char *advice =
            lki_refusal_read(i < sizeof codes / sizeof *codes ? codes[i].code : "ERR", false)
                .advice;
        assert_non_null(advice);
        assert_true(strlen(advice) > 8);
        assert_true(islower((unsigned char)advice[0]));
        assert_true(isalnum((unsigned char)advice[strlen(advice) - 1]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_script_is_sent_again_with_its_text),
        cmocka_unit_test(a_script_that_is_missing_although_its_text_was_sent_is_for_later),
        cmocka_unit_test(a_command_without_a_script_lacks_none),
        cmocka_unit_test(a_lock_with_an_index_is_asked_again_with_both_keys),
        cmocka_unit_test(a_lock_that_asks_for_both_keys_although_it_has_them_is_for_later),
        cmocka_unit_test(each_code_has_its_meaning),
        cmocka_unit_test(each_code_has_it_whatever_stands_behind),
        cmocka_unit_test(what_servers_and_scripts_say_is_known),
        cmocka_unit_test(a_code_is_a_whole_word_in_capitals_at_the_beginning),
        cmocka_unit_test(an_unknown_error_is_final_and_a_fault_of_ours),
        cmocka_unit_test(a_command_that_the_server_lacks_is_unsupported),
        cmocka_unit_test(a_floor_ahead_of_the_servers_clock_is_the_servers_trouble),
        cmocka_unit_test(a_refusal_inside_a_script_keeps_its_meaning),
        cmocka_unit_test(a_server_that_cannot_save_says_so_inside_a_script_too),
        cmocka_unit_test(each_advice_is_a_clause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
