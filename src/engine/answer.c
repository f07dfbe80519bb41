/* See answer.h. */
#include "engine/answer.h"

#include <string.h>

static const uint64_t number_most = UINT64_C(1) << 53;

bool lki_reply_number(const redisReply *reply, uint64_t *out) {
    if (reply->type == REDIS_REPLY_INTEGER) {
        uint64_t integer = (uint64_t)reply->integer; /* one below 0 is far above the most */
        if (integer <= number_most)
            *out = integer;
        return integer <= number_most;
    }
    if (reply->type != REDIS_REPLY_STRING || !reply->len || reply->len > 16)
        return false;
    uint64_t number = 0;
    for (size_t i = 0; i < (size_t)reply->len; i++) {
        if (reply->str[i] < '0' || reply->str[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(reply->str[i] - '0');
    }
    if (number > number_most)
        return false;
    *out = number;
    return true;
}

/* The words, and how many numbers stand behind each. */
static const struct {
    const char *text;
    lki_answer_word word;
    size_t numbers;
} words[] = {
    {"granted", LKI_ANSWER_GRANTED, 3},   {"queued", LKI_ANSWER_QUEUED, 2},
    {"busy", LKI_ANSWER_BUSY, 1},         {"deadlock", LKI_ANSWER_DEADLOCK, 0},
    {"not-held", LKI_ANSWER_NOT_HELD, 0}, {"stale", LKI_ANSWER_STALE, 0},
    {"released", LKI_ANSWER_RELEASED, 2}, {"renewed", LKI_ANSWER_RENEWED, 0},
    {"lease", LKI_ANSWER_LEASE, 1},       {"cancelled", LKI_ANSWER_CANCELLED, 0},
    {"forced", LKI_ANSWER_FORCED, 1},     {"lock", LKI_ANSWER_LOCK, 0},
};
enum { NUMBERS_MOST = 3, WORDS = sizeof words / sizeof *words };

static void name_numbers(lki_answer *answer, const uint64_t numbers[NUMBERS_MOST]) {
    switch (answer->word) {
    case LKI_ANSWER_GRANTED:
        answer->fence = numbers[0];
        answer->ms = (int64_t)numbers[1];
        answer->flags = (unsigned)numbers[2];
        break;
    case LKI_ANSWER_QUEUED:
        answer->place = numbers[0];
        answer->ms = (int64_t)numbers[1];
        break;
    case LKI_ANSWER_RELEASED:
        answer->reads = numbers[0];
        answer->writes = numbers[1];
        break;
    case LKI_ANSWER_FORCED:
        answer->count = numbers[0];
        break;
    case LKI_ANSWER_BUSY:
    case LKI_ANSWER_LEASE:
        answer->ms = (int64_t)numbers[0];
        break;
    default:
        break;
    }
}

/* The numbers of `word` stand in the reply from `at` on. */
static lki_answer read_array(const redisReply *reply, size_t at) {
    lki_answer answer = {.word = LKI_ANSWER_NONSENSE};
    uint64_t numbers[NUMBERS_MOST] = {0};
    size_t i = 0;
    while (i < WORDS && strcmp(words[i].text, reply->element[0]->str) != 0)
        i++;
    if (i == WORDS || reply->elements < at + words[i].numbers)
        return answer;
    for (size_t n = 0; n < words[i].numbers; n++)
        if (!lki_reply_number(reply->element[at + n], &numbers[n]))
            return answer;
    answer.word = words[i].word;
    name_numbers(&answer, numbers);
    return answer;
}

static bool is_array_with_word(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
           reply->element[0]->type == REDIS_REPLY_STRING;
}

lki_answer lki_answer_read(const redisReply *reply) {
    if (reply->type == REDIS_REPLY_ERROR)
        return (lki_answer){.word = LKI_ANSWER_ERROR, .text = reply->str};
    uint64_t server_us;
    if (!is_array_with_word(reply) || reply->elements < 2 ||
        !lki_reply_number(reply->element[1], &server_us))
        return (lki_answer){.word = LKI_ANSWER_NONSENSE};
    lki_answer answer = read_array(reply, 2);
    answer.server_us = server_us;
    return answer;
}

lki_answer lki_answer_entry(const redisReply *renewed, size_t index) {
    lki_answer nonsense = {.word = LKI_ANSWER_NONSENSE};
    if (renewed->elements <= index + 2)
        return nonsense;
    const redisReply *entry = renewed->element[index + 2];
    if (!is_array_with_word(entry))
        return nonsense;
    if (strcmp(entry->element[0]->str, "error") == 0)
        return entry->elements > 1 && entry->element[1]->type == REDIS_REPLY_STRING
                   ? (lki_answer){.word = LKI_ANSWER_ERROR, .text = entry->element[1]->str}
                   : nonsense;
    return read_array(entry, 1);
}

bool lki_flags_abandoned(unsigned flags) {
    return flags & 1;
}

lk_policy lki_flags_policy(unsigned flags) {
    unsigned policy = flags >> 1;
    return policy <= LK_PREFER_READER ? (lk_policy)policy : LK_FAIR;
}
