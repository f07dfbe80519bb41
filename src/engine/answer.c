/* See answer.h. */
#include "engine/answer.h"

#include <string.h>

static const uint64_t number_most = UINT64_C(1) << 53;

static bool read_number(const char *digits, size_t length, uint64_t *out) {
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(digits[i] - '0');
    }
    if (!length || length > 16 || number > number_most)
        return false;
    *out = number;
    return true;
}

bool lki_reply_number(const redisReply *reply, uint64_t *out) {
    if (reply->type == REDIS_REPLY_STRING)
        return read_number(reply->str, (size_t)reply->len, out);
    uint64_t integer = (uint64_t)reply->integer; /* a negative one becomes greater than the limit */
    if (reply->type != REDIS_REPLY_INTEGER || integer > number_most)
        return false;
    *out = integer;
    return true;
}

/* The words, and how many numbers follow each. */
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
        answer->position = numbers[0];
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

/* Takes the next word from the line; length 0: there is none. */
static const char *next_word(const char **line, size_t *length) {
    const char *word = *line;
    *length = strcspn(word, " ");
    *line = word + *length + (word[*length] == ' ');
    return word;
}

/* Parses a word, then the time of the server (unless `server_us` is NULL), then the numbers. */
static lki_answer read_line(const char *line, uint64_t *server_us) {
    lki_answer answer = {.word = LKI_ANSWER_NONSENSE};
    uint64_t numbers[NUMBERS_MOST] = {0};
    size_t length, i = 0;
    const char *word = next_word(&line, &length);
    while (i < WORDS &&
           (strlen(words[i].text) != length || memcmp(words[i].text, word, length) != 0))
        i++;
    if (i == WORDS)
        return answer;
    if (server_us) {
        word = next_word(&line, &length);
        if (!read_number(word, length, server_us))
            return answer;
    }
    for (size_t n = 0; n < words[i].numbers; n++) {
        word = next_word(&line, &length);
        if (!read_number(word, length, &numbers[n]))
            return answer;
    }
    answer.word = words[i].word;
    name_numbers(&answer, numbers);
    return answer;
}

lki_answer lki_answer_read(const redisReply *reply) {
    if (reply->type == REDIS_REPLY_ERROR)
        return (lki_answer){.word = LKI_ANSWER_ERROR, .text = reply->str};
    const redisReply *line = reply;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0)
        line = reply->element[0]; /* renew and inspect reply with an array */
    if (line->type != REDIS_REPLY_STRING)
        return (lki_answer){.word = LKI_ANSWER_NONSENSE};
    uint64_t server_us = 0;
    lki_answer answer = read_line(line->str, &server_us);
    answer.server_us = server_us;
    return answer;
}

lki_answer lki_answer_entry(const redisReply *renewed, size_t index) {
    static const char error[] = "error ";
    lki_answer nonsense = {.word = LKI_ANSWER_NONSENSE};
    if (renewed->type != REDIS_REPLY_ARRAY || renewed->elements <= index + 1)
        return nonsense;
    const redisReply *entry = renewed->element[index + 1];
    if (entry->type != REDIS_REPLY_STRING)
        return nonsense;
    if (strncmp(entry->str, error, strlen(error)) == 0)
        return (lki_answer){.word = LKI_ANSWER_ERROR, .text = entry->str + strlen(error)};
    return read_line(entry->str, NULL);
}

bool lki_flags_abandoned(unsigned flags) {
    return flags & 1;
}

lk_policy lki_flags_policy(unsigned flags) {
    unsigned policy = flags >> 1;
    return policy <= LK_PREFER_READER ? (lk_policy)policy : LK_FAIR;
}
