/* Answers of the scripts, read from replies; those of `inspect` made into an lk_info. */
#include "base/memory.h"
#include "engine/answer.h"
#include "engine/inspect.h"

#include "test_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------- replies */

/* An array of so many that the parser would ask for memory without end. */
static bool promises_too_many(const char *bytes, size_t length) {
    for (size_t i = 0; i + 1 < length; i++)
        if (bytes[i] == '*' && strspn(bytes + i + 1, "+-0123456789") > 4)
            return true;
    return false;
}

/* A reply from its bytes, which have a NUL behind, or NULL if they are none. */
static redisReply *parse(const char *bytes, size_t length) {
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    assert_non_null(reader);
    if (promises_too_many(bytes, length) || redisReaderFeed(reader, bytes, length) != REDIS_OK ||
        redisReaderGetReply(reader, &reply) != REDIS_OK)
        reply = NULL;
    redisReaderFree(reader);
    return reply;
}

/*
 * Replies are written as [granted 100 7]: arrays in brackets, digits are integers, other words
 * texts. '7 is a text too, ~ stands for a space in one, and nil for nothing.
 */
static const char *encode_value(test_text *out, const char *at);

static const char *encode_array(test_text *out, const char *at) {
    test_text inside = {0};
    size_t count = 0;
    for (at++; *at && *at != ']'; count++) {
        at = encode_value(&inside, at);
        at += strspn(at, " ");
    }
    test_text_print(out, "*%zu\r\n", count);
    test_text_add(out, inside.bytes ? inside.bytes : "", inside.length);
    free(inside.bytes);
    return at + (*at == ']');
}

static const char *encode_value(test_text *out, const char *at) {
    at += strspn(at, " ");
    if (*at == '[')
        return encode_array(out, at);
    size_t length = strcspn(at, " []"), quote = *at == '\'';
    if (length && strspn(at, "-0123456789") >= length) {
        test_text_print(out, ":%.*s\r\n", (int)length, at);
    } else if (length == 3 && strncmp(at, "nil", 3) == 0) {
        test_text_print(out, "$-1\r\n");
    } else {
        test_text_print(out, "$%zu\r\n", length - quote);
        size_t from = out->length;
        test_text_print(out, "%.*s\r\n", (int)(length - quote), at + quote);
        for (char *c = out->bytes + from; *c; c++)
            *c = *c == '~' ? ' ' : *c;
    }
    return at + length;
}

static redisReply *make(const char *notation) {
    test_text bytes = {0};
    encode_value(&bytes, notation);
    redisReply *reply = parse(bytes.bytes, bytes.length);
    assert_non_null(reply);
    free(bytes.bytes);
    return reply;
}

/* The same with every number as a text. */
static redisReply *make_of_texts(const char *notation) {
    test_text quoted = {0};
    for (const char *c = notation; *c; c++) {
        if (strchr("0123456789", *c) && strchr(" [", c[-1]))
            test_text_add(&quoted, "'", 1);
        test_text_add(&quoted, c, 1);
    }
    redisReply *reply = make(quoted.bytes);
    free(quoted.bytes);
    return reply;
}

/* ------------------------------------------------------------------------------------- answers */

static const struct {
    const char *reply;
    lki_answer answer;
} answers[] = {
    {"granted~9~7~30000~5",
     {.word = LKI_ANSWER_GRANTED, .server_us = 9, .fence = 7, .ms = 30000, .flags = 5}},
    {"granted~1700000000000000~9007199254740992~86400000~7",
     {.word = LKI_ANSWER_GRANTED,
      .server_us = 1700000000000000,
      .fence = UINT64_C(1) << 53,
      .ms = 86400000,
      .flags = 7}},
    {"queued~9~3~250", {.word = LKI_ANSWER_QUEUED, .server_us = 9, .position = 3, .ms = 250}},
    {"busy~9~250", {.word = LKI_ANSWER_BUSY, .server_us = 9, .ms = 250}},
    {"deadlock~9", {.word = LKI_ANSWER_DEADLOCK, .server_us = 9}},
    {"not-held~9", {.word = LKI_ANSWER_NOT_HELD, .server_us = 9}},
    {"stale~9", {.word = LKI_ANSWER_STALE, .server_us = 9}},
    {"released~9~2~1", {.word = LKI_ANSWER_RELEASED, .server_us = 9, .reads = 2, .writes = 1}},
    {"[renewed~9 lease~5]", {.word = LKI_ANSWER_RENEWED, .server_us = 9}},
    {"cancelled~9", {.word = LKI_ANSWER_CANCELLED, .server_us = 9}},
    {"forced~9~12", {.word = LKI_ANSWER_FORCED, .server_us = 9, .count = 12}},
    {"[lock~9 ' 0 0 0 0 [] []]", {.word = LKI_ANSWER_LOCK, .server_us = 9}},
};

static void assert_answer(const lki_answer *read, const lki_answer *expected) {
    assert_int_equal(read->word, expected->word);
    assert_int_equal(read->server_us, expected->server_us);
    assert_int_equal(read->fence, expected->fence);
    assert_int_equal(read->position, expected->position);
    assert_int_equal(read->reads, expected->reads);
    assert_int_equal(read->writes, expected->writes);
    assert_int_equal(read->count, expected->count);
    assert_int_equal(read->ms, expected->ms);
    assert_int_equal(read->flags, expected->flags);
}

static void assert_read(redisReply *reply, const lki_answer *expected) {
    lki_answer answer = lki_answer_read(reply);
    assert_answer(&answer, expected);
    freeReplyObject(reply);
}

static void every_answer_is_read(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        assert_read(make(answers[i].reply), &answers[i].answer);
}

static void an_error_reply_is_an_error_with_its_text(void **state) {
    (void)state;
    static const char bytes[] = "-LKARG req: must be at least 1\r\n";
    redisReply *reply = parse(bytes, sizeof bytes - 1);
    lki_answer answer = lki_answer_read(reply);
    assert_int_equal(answer.word, LKI_ANSWER_ERROR);
    assert_string_equal(answer.text, "LKARG req: must be at least 1");
    freeReplyObject(reply);
}

static void what_no_lock_would_say_is_nonsense(void **state) {
    (void)state;
    static const char *const replies[] = {"5",
                                          "nil",
                                          "[]",
                                          "granted",
                                          "granted~9",
                                          "granted~9~7~30000",
                                          "granted~x~7~30000~5",
                                          "granted~~7~30000~5",
                                          "granted~9~7~~5",
                                          "granted~9~7~30000~-1",
                                          "granted~-9~7~30000~5",
                                          "granted~9~7~30000~12345678901234567",
                                          "queued~9~3",
                                          "busy~9",
                                          "released~9~2",
                                          "forced~9",
                                          "stale",
                                          "stale~",
                                          "5~9",
                                          "~9",
                                          "~stale~9",
                                          "'",
                                          "Stale~9",
                                          "stal~9",
                                          "stalest~9",
                                          "error~9",
                                          "[stale 9]",
                                          "[nil 9]",
                                          "[[stale~9]]"};
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        redisReply *reply = make(replies[i]);
        if (lki_answer_read(reply).word != LKI_ANSWER_NONSENSE)
            fail_msg("%s makes sense", replies[i]);
        assert_int_equal(lki_answer_entry(reply, 0).word, LKI_ANSWER_NONSENSE);
        freeReplyObject(reply);
    }
}

static void other_types_of_replies_are_nonsense(void **state) {
    (void)state;
    static const char *const replies[] = {"+stale 9\r\n", "*-1\r\n", "*1\r\n+renewed 9\r\n",
                                          "*2\r\n-stale 9\r\n:9\r\n"};
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        redisReply *reply = parse(replies[i], strlen(replies[i]));
        assert_non_null(reply);
        if (lki_answer_read(reply).word != LKI_ANSWER_NONSENSE)
            fail_msg("%s makes sense", replies[i]);
        assert_int_equal(lki_answer_entry(reply, 0).word, LKI_ANSWER_NONSENSE);
        freeReplyObject(reply);
    }
}

static void entries_of_renew_are_read_one_by_one(void **state) {
    (void)state;
    redisReply *reply = make("[renewed~9 lease~5 not-held queued~3~250 granted~7~800~5 "
                             "error~LKARG~req lease~6]");
    static const lki_answer expected[] = {
        {.word = LKI_ANSWER_LEASE, .ms = 5},
        {.word = LKI_ANSWER_NOT_HELD},
        {.word = LKI_ANSWER_QUEUED, .position = 3, .ms = 250},
        {.word = LKI_ANSWER_GRANTED, .fence = 7, .ms = 800, .flags = 5},
        {.word = LKI_ANSWER_ERROR},
        {.word = LKI_ANSWER_LEASE, .ms = 6},
        {.word = LKI_ANSWER_NONSENSE}, /* there is no such entry */
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        lki_answer answer = lki_answer_entry(reply, i);
        assert_answer(&answer, &expected[i]);
    }
    assert_string_equal(lki_answer_entry(reply, 4).text, "LKARG req");
    assert_int_equal(lki_answer_entry(reply, 100).word, LKI_ANSWER_NONSENSE);
    freeReplyObject(reply);
}

static void an_entry_that_makes_no_sense_is_nonsense_by_itself(void **state) {
    (void)state;
    static const char *const entries[] = {
        "5",           "lease",    "nil",   "[]",           "lease~",    "lease~x", "~lease~5",
        "granted~7~8", "queued~3", "error", "granted~~8~5", "[lease~5]", "Lease~5", "'",
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        char notation[100];
        snprintf(notation, sizeof notation, "[renewed~9 %s lease~5]", entries[i]);
        redisReply *reply = make(notation);
        assert_int_equal(lki_answer_entry(reply, 0).word, LKI_ANSWER_NONSENSE);
        assert_int_equal(lki_answer_entry(reply, 1).word, LKI_ANSWER_LEASE);
        freeReplyObject(reply);
    }
}

static void flags_say_whether_it_is_abandoned_and_which_policy(void **state) {
    (void)state;
    for (unsigned flags = 0; flags < 8; flags++) {
        assert_int_equal(lki_flags_abandoned(flags), flags % 2);
        assert_int_equal(lki_flags_policy(flags), flags / 2);
    }
    assert_int_equal(lki_flags_policy(8), LK_FAIR);
    assert_int_equal(lki_flags_policy(~0u), LK_FAIR);
}

static void a_number_is_an_integer_or_digits(void **state) {
    (void)state;
    static const struct {
        const char *reply;
        bool is_number;
        uint64_t number;
    } rows[] = {{"0", true, 0},
                {"9007199254740992", true, UINT64_C(1) << 53},
                {"'0", true, 0},
                {"'0012", true, 12},
                {"'9007199254740992", true, UINT64_C(1) << 53},
                {"'12345678901234567", false, 0},
                {"-1", false, 0},
                {"'-1", false, 0},
                {"'+1", false, 0},
                {"'~1", false, 0},
                {"'1~", false, 0},
                {"'1.0", false, 0},
                {"'1e3", false, 0},
                {"'", false, 0},
                {"x", false, 0},
                {"nil", false, 0},
                {"[]", false, 0},
                {"[1]", false, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        redisReply *reply = make(rows[i].reply);
        uint64_t number = 77;
        assert_int_equal(lki_reply_number(reply, &number), rows[i].is_number);
        assert_int_equal(number, rows[i].is_number ? rows[i].number : 77);
        freeReplyObject(reply);
    }
}

/* ------------------------------------------------------------------------------------- inspect */

#define HOLD_ROW "[h1 o1 g1 2 1 4000 70 8 1 12~host~the~app]"
#define WAITER_ROW "[w1 o2 g2 upgrade 900 60 5 13~other~]"
#define LOCK_OF(holds, waiters) "[lock~9 phase-fair 7 1 20 30 [" holds "] [" waiters "]]"

static const lki_inspected inspected = {"name", "host:1"};

static lk_info *inspect_reply(redisReply *reply) {
    lk_info *info = NULL;
    lki_error error = {0};
    if (lki_inspect_read(reply, &inspected, &info, &error) != LK_OK)
        fail_msg("%s", error.text);
    freeReplyObject(reply); /* before anybody looks at the info */
    return info;
}

static lk_info *inspect(const char *notation) {
    return inspect_reply(make(notation));
}

static void a_lock_that_nobody_uses_has_nobody_in_it(void **state) {
    (void)state;
    lk_info *info = inspect("[lock~9 ' 0 0 0 0 [] []]");
    assert_string_equal(info->name, "name");
    assert_string_equal(info->server, "host:1");
    assert_int_equal(info->server_time_us, 9);
    assert_int_equal(info->policy, LK_FAIR);
    assert_int_equal(info->fence, 0);
    assert_false(info->abandoned);
    assert_int_equal(info->holder_total + info->waiter_total, 0);
    assert_int_equal(info->holder_count + info->waiter_count, 0);
    lki_free(info);
}

static void assert_all_columns(lk_info *info) {
    const lk_holder_info *holder = &info->holders[1];
    const lk_waiter_info *waiter = &info->waiters[1];
    assert_int_equal(info->policy, LK_PHASE_FAIR);
    assert_int_equal(info->fence, 7);
    assert_true(info->abandoned);
    assert_int_equal(info->holder_total, 20);
    assert_int_equal(info->waiter_total, 30);
    assert_int_equal(info->holder_count, 2);
    assert_int_equal(info->waiter_count, 3);
    assert_string_equal(info->holders[0].handle, "h0");
    assert_string_equal(holder->handle, "h1");
    assert_string_equal(holder->owner, "o1");
    assert_string_equal(holder->group, "g1");
    assert_int_equal(holder->reads, 2);
    assert_int_equal(holder->writes, 1);
    assert_int_equal(holder->left_ms, 4000);
    assert_int_equal(holder->held_ms, 70);
    assert_int_equal(holder->fence, 8);
    assert_true(holder->provisional);
    assert_false(info->holders[0].provisional);
    assert_int_equal(holder->pid, 12);
    assert_string_equal(holder->host, "host");
    assert_string_equal(holder->app, "the app");
    assert_string_equal(waiter->handle, "w1");
    assert_string_equal(waiter->owner, "o2");
    assert_string_equal(waiter->group, "g2");
    assert_int_equal(waiter->left_ms, 900);
    assert_int_equal(waiter->waited_ms, 60);
    assert_int_equal(waiter->pid, 13);
    assert_string_equal(waiter->host, "other");
    assert_string_equal(waiter->app, "");
    assert_true(info->waiters[0].mode == LK_READ && !info->waiters[0].upgrade);
    assert_true(info->waiters[1].mode == LK_WRITE && info->waiters[1].upgrade);
    assert_true(info->waiters[2].mode == LK_WRITE && !info->waiters[2].upgrade);
    lki_free(info);
}

#define WHOLE                                   \
    LOCK_OF("[h0 o ' 1 0 5 6 7 0 '] " HOLD_ROW, \
            "[w0 o ' read 1 2 3 '] " WAITER_ROW " [w2 o ' write 1 2 4 ']")

static void every_column_is_read(void **state) {
    (void)state;
    assert_all_columns(inspect(WHOLE));
}

static void columns_of_numbers_may_be_texts(void **state) {
    (void)state;
    assert_all_columns(inspect_reply(make_of_texts(WHOLE)));
}

static void every_policy_is_known(void **state) {
    (void)state;
    static const char *const policies[] = {"fair", "phase-fair", "prefer-writer", "prefer-reader"};
    for (size_t i = 0; i < 4; i++) {
        char notation[100];
        snprintf(notation, sizeof notation, "[lock~9 %s 0 0 0 0 [] []]", policies[i]);
        lk_info *info = inspect(notation);
        assert_int_equal(info->policy, i);
        lki_free(info);
    }
}

static void who_is_split_where_it_has_the_usual_form(void **state) {
    (void)state;
    static const struct {
        const char *who;
        int64_t pid;
        const char *host, *app;
    } rows[] = {{"1~h~a", 1, "h", "a"},
                {"4194304~h.example.com~a~b~~c", 4194304, "h.example.com", "a b  c"},
                {"1~h~", 1, "h", ""},
                {"1~~a", 1, "", "a"},
                {"'", 0, "", ""},
                {"'1", 0, "", "1"},
                {"'1~h", 0, "", "1 h"},
                {"'0~h~a", 0, "", "0 h a"},
                {"'-1~h~a", 0, "", "-1 h a"},
                {"x~h~a", 0, "", "x h a"},
                {"1x~h~a", 0, "", "1x h a"},
                {"1.5~h~a", 0, "", "1.5 h a"},
                {"~~~", 0, "", "   "},
                {"some~program", 0, "", "some program"},
                {"\xff\x01\n", 0, "", "\xff\x01\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char notation[200];
        snprintf(notation, sizeof notation,
                 LOCK_OF("[h o g 1 0 1 1 1 0 %s]", "[w o g read 1 1 1 %s]"), rows[i].who,
                 rows[i].who);
        lk_info *info = inspect(notation);
        assert_int_equal(info->holders[0].pid, rows[i].pid);
        assert_string_equal(info->holders[0].host, rows[i].host);
        assert_string_equal(info->holders[0].app, rows[i].app);
        assert_int_equal(info->waiters[0].pid, rows[i].pid);
        assert_string_equal(info->waiters[0].host, rows[i].host);
        assert_string_equal(info->waiters[0].app, rows[i].app);
        lki_free(info);
    }
}

static void an_inspect_of_the_wrong_shape_is_an_error(void **state) {
    (void)state;
    static const char *const replies[] = {"5",
                                          "[]",
                                          "[lock]",
                                          "[stale~9]",
                                          "[lock~9 fair 7 1 20 30 []]",
                                          "[lock~9 fair 7 1 20 30 [] [] []]",
                                          "[lock~x fair 7 1 20 30 [] []]",
                                          "[lock~9 fair x 1 20 30 [] []]",
                                          "[lock~9 fair 7 nil 20 30 [] []]",
                                          "[lock~9 fair 7 1 [] 30 [] []]",
                                          "[lock~9 fair 7 1 20 x [] []]",
                                          "[lock~9 fair 7 1 20 30 5 []]",
                                          "[lock~9 fair 7 1 20 30 [] nil]",
                                          LOCK_OF("5", ""),
                                          LOCK_OF("[]", ""),
                                          LOCK_OF("", "[]"),
                                          LOCK_OF("", "w"),
                                          LOCK_OF("[h1 o1 g1 2 1 4000 70 8 1]", ""),
                                          LOCK_OF("[h1 o1 g1 2 1 4000 70 8 1 w x]", ""),
                                          LOCK_OF("[5 o1 g1 2 1 4000 70 8 1 w]", ""),
                                          LOCK_OF("[h1 nil g1 2 1 4000 70 8 1 w]", ""),
                                          LOCK_OF("[h1 o1 [g1] 2 1 4000 70 8 1 w]", ""),
                                          LOCK_OF("[h1 o1 g1 x 1 4000 70 8 1 w]", ""),
                                          LOCK_OF("[h1 o1 g1 2 1 4000 70 8 1 nil]", ""),
                                          LOCK_OF("[h1 o1 g1 2 1 4000 70 8 1 []]", HOLD_ROW),
                                          LOCK_OF(WAITER_ROW, ""),
                                          LOCK_OF("", "[w1 o2 g2 5 900 60 5 w]"),
                                          LOCK_OF("", "[w1 o2 g2 read x 60 5 w]"),
                                          LOCK_OF("", "[w1 o2 g2 read 900 60 5 12]")};
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        redisReply *reply = make(replies[i]);
        lk_info untouched, *info = &untouched;
        lki_error error = {0};
        if (lki_inspect_read(reply, &inspected, &info, &error) != LK_INTERNAL)
            fail_msg("%s makes sense", replies[i]);
        assert_int_equal(error.status, LK_INTERNAL);
        assert_ptr_equal(info, &untouched);
        freeReplyObject(reply);
    }
}

static bool refuse_all(void) {
    return true;
}

static void inspect_without_memory_says_so(void **state) {
    (void)state;
    redisReply *reply = make(WHOLE);
    lk_info untouched, *info = &untouched;
    lki_error error = {0};
    lki_memory_refuse(refuse_all);
    lk_status status = lki_inspect_read(reply, &inspected, &info, &error);
    lki_memory_refuse(NULL);
    assert_int_equal(status, LK_NOMEM);
    assert_ptr_equal(info, &untouched);
    freeReplyObject(reply);
}

/* ----------------------------------------------------------------------------------- mutations */

/* Reads it as everything that it could be, and all of what comes out. */
static bool read_all_ways(const redisReply *reply) {
    lk_info *info = NULL;
    lki_error error = {0};
    uint64_t number;
    lki_answer answer = lki_answer_read(reply);
    assert_in_range(answer.word, LKI_ANSWER_GRANTED, LKI_ANSWER_NONSENSE);
    lki_reply_number(reply, &number);
    for (size_t i = 0; i < 4; i++) {
        lki_answer entry = lki_answer_entry(reply, i);
        if (entry.word == LKI_ANSWER_ERROR)
            assert_non_null(entry.text);
    }
    if (lki_inspect_read(reply, &inspected, &info, &error) == LK_OK) {
        for (size_t i = 0; i < info->holder_count; i++)
            assert_true(strlen(info->holders[i].handle) + strlen(info->holders[i].app) +
                            strlen(info->holders[i].host) + strlen(info->holders[i].group) <
                        1000);
        for (size_t i = 0; i < info->waiter_count; i++)
            assert_true(strlen(info->waiters[i].owner) + strlen(info->waiters[i].app) < 1000);
        lki_free(info);
    }
    return answer.word != LKI_ANSWER_NONSENSE;
}

static void mutate_bytes(test_text *text, unsigned short seed[3]) {
    size_t at = (size_t)nrand48(seed) % text->length;
    if (nrand48(seed) % 3 == 0) {
        size_t from = (size_t)nrand48(seed) % text->length;
        size_t length = (size_t)nrand48(seed) % 12;
        length = length < text->length - from ? length : text->length - from;
        length = length < text->length - at ? length : text->length - at;
        memmove(text->bytes + at, text->bytes + from, length);
    } else {
        text->bytes[at] =
            (char)(nrand48(seed) % 3 ? "$*:+-_#,%~>=019\r\n"[nrand48(seed) % 17] : nrand48(seed));
    }
}

/* Puts another value in the place of one. */
static void mutate_values(char *notation, unsigned short seed[3]) {
    static const char *const values[] = {"[]",  "nil", "5",       "'5",  "x",       "'",
                                         "[5]", "-1",  "lease~5", "] [", "granted", "error"};
    char old[500];
    size_t at = (size_t)nrand48(seed) % strlen(notation);
    snprintf(old, sizeof old, "%s", notation);
    at += strcspn(old + at, " [");
    at += old[at] != 0;
    const char *tail = old + at + strcspn(old + at, " []");
    snprintf(notation + at, 500 - at, "%s%s",
             values[(size_t)nrand48(seed) % (sizeof values / sizeof *values)], tail);
}

static void no_mutation_of_a_reply_is_read_beyond_it(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    size_t good = sizeof answers / sizeof *answers, sense = 0, nonsense = 0;
    for (int round = 0; round < 40000; round++) {
        test_text bytes = {0};
        char notation[500];
        size_t chosen = (size_t)nrand48(seed) % (good + 3);
        snprintf(notation, sizeof notation, "%s",
                 chosen < good    ? answers[chosen].reply
                 : chosen == good ? "[renewed~9 lease~5 error~LKARG~req granted~7~8~5]"
                                  : WHOLE);
        if (round % 2)
            mutate_values(notation, seed);
        encode_value(&bytes, notation);
        for (long times = round % 2 ? 0 : 1 + nrand48(seed) % 4; times > 0; times--)
            mutate_bytes(&bytes, seed);
        redisReply *reply = parse(bytes.bytes, bytes.length);
        if (reply && read_all_ways(reply))
            sense++;
        else
            nonsense++;
        if (reply)
            freeReplyObject(reply);
        free(bytes.bytes);
    }
    assert_true(sense > 4000 && nonsense > 4000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_read),
        cmocka_unit_test(an_error_reply_is_an_error_with_its_text),
        cmocka_unit_test(what_no_lock_would_say_is_nonsense),
        cmocka_unit_test(other_types_of_replies_are_nonsense),
        cmocka_unit_test(entries_of_renew_are_read_one_by_one),
        cmocka_unit_test(an_entry_that_makes_no_sense_is_nonsense_by_itself),
        cmocka_unit_test(flags_say_whether_it_is_abandoned_and_which_policy),
        cmocka_unit_test(a_number_is_an_integer_or_digits),
        cmocka_unit_test(a_lock_that_nobody_uses_has_nobody_in_it),
        cmocka_unit_test(every_column_is_read),
        cmocka_unit_test(columns_of_numbers_may_be_texts),
        cmocka_unit_test(every_policy_is_known),
        cmocka_unit_test(who_is_split_where_it_has_the_usual_form),
        cmocka_unit_test(an_inspect_of_the_wrong_shape_is_an_error),
        cmocka_unit_test(inspect_without_memory_says_so),
        cmocka_unit_test(no_mutation_of_a_reply_is_read_beyond_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
