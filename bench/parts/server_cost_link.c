/* See server_cost_link.h. */
#include "server_cost_link.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { ANSWER_MOST_S = 60 };

/* A reply that has not been read yet: an account, if `account` is set, or else an answer. */
typedef struct {
    bench_expectation expected;
    server_account *account;
} pending;

struct bench_link {
    redisContext *context;
    pending *pending;
    size_t pending_count;
};

bench_link *link_open(const char *socket) {
    bench_link *link = test_alloc(1, sizeof *link);
    link->context = redisConnectUnix(socket);
    if (!link->context || link->context->err) {
        fprintf(stderr, "%s: %s\n", socket,
                link->context ? link->context->errstr : "out of memory");
        exit(EXIT_FAILURE);
    }
    redisSetTimeout(link->context, (struct timeval){.tv_sec = ANSWER_MOST_S});
    return link;
}

void link_close(bench_link *link) {
    redisFree(link->context);
    free(link->pending);
    free(link);
}

void command_add_bytes(bench_command *command, const char *bytes, size_t length) {
    test_text_print(&command->body, "$%zu\r\n", length);
    test_text_add(&command->body, bytes, length);
    test_text_add(&command->body, "\r\n", 2);
    command->words++;
}

void command_add(bench_command *command, const char *text) {
    command_add_bytes(command, text, strlen(text));
}

void command_add_number(bench_command *command, uint64_t number) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    command_add_bytes(command, digits, (size_t)length);
}

static void expect(bench_link *link, pending one) {
    link->pending = test_grow(link->pending, link->pending_count, sizeof *link->pending);
    link->pending[link->pending_count++] = one;
}

static void append(bench_link *link, const char *bytes, size_t length) {
    if (redisAppendFormattedCommand(link->context, bytes, length) != REDIS_OK) {
        fprintf(stderr, "cannot send: %s\n", link->context->errstr);
        exit(EXIT_FAILURE);
    }
}

void link_send(bench_link *link, bench_command *command, bench_expectation expected) {
    char count[24];
    int length = snprintf(count, sizeof count, "*%zu\r\n", command->words);
    append(link, count, (size_t)length);
    append(link, command->body.bytes, command->body.length);
    expect(link, (pending){.expected = expected});
    free(command->body.bytes);
    *command = (bench_command){0};
}

void link_look(bench_link *link, server_account *out) {
    static const char look[] = "*2\r\n$4\r\nINFO\r\n$12\r\ncommandstats\r\n";
    append(link, look, sizeof look - 1);
    expect(link, (pending){.account = out});
}

static redisReply *read_reply(bench_link *link) {
    void *reply = NULL;
    if (redisGetReply(link->context, &reply) != REDIS_OK) {
        fprintf(stderr, "the server does not answer: %s\n", link->context->errstr);
        exit(EXIT_FAILURE);
    }
    return reply;
}

/* Whether it is this, or a line that begins with this word. */
static bool is(const redisReply *reply, const char *text) {
    if (reply->type == REDIS_REPLY_INTEGER) {
        char digits[24];
        snprintf(digits, sizeof digits, "%lld", reply->integer);
        return strcmp(digits, text) == 0;
    }
    if (reply->type == REDIS_REPLY_ARRAY)
        return reply->elements > 0 && is(reply->element[0], text);
    size_t length = strlen(text);
    return reply->str && strncmp(reply->str, text, length) == 0 &&
           (!reply->str[length] || reply->str[length] == ' ');
}

static const char *words_of(const redisReply *reply) {
    if (reply->type == REDIS_REPLY_ARRAY)
        return reply->elements > 0 ? words_of(reply->element[0]) : "an empty array";
    return reply->str ? reply->str : "a number or nothing";
}

static void check_answer(const redisReply *reply, const bench_expectation *expected) {
    const redisReply *looked_at = reply;
    const char *wanted = expected->answer;
    bool good = is(reply, wanted);
    for (size_t i = 1; good && expected->entry && i < reply->elements; i++) {
        looked_at = reply->element[i];
        wanted = expected->entry;
        good = is(looked_at, wanted);
    }
    if (!good) {
        fprintf(stderr, "the server answered \"%s\" where \"%s\" was due\n", words_of(looked_at),
                wanted);
        exit(EXIT_FAILURE);
    }
    if (expected->third && sscanf(reply->str, "%*s %*s %" SCNu64, expected->third) != 1) {
        fprintf(stderr, "the server's answer \"%s\" has no third word\n", reply->str);
        exit(EXIT_FAILURE);
    }
}

/* Lines `cmdstat_<command>:calls=<n>,usec=<n>,…`. */
static void read_account(const char *text, server_account *out) {
    out->count = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        account_row row;
        if (sscanf(line, "cmdstat_%23[^:]:calls=%" SCNu64 ",usec=%" SCNu64, row.command, &row.calls,
                   &row.usec) != 3)
            continue;
        if (out->count == ACCOUNT_ROWS) {
            fprintf(stderr, "the server ran more than %d kinds of commands\n", ACCOUNT_ROWS);
            exit(EXIT_FAILURE);
        }
        out->rows[out->count++] = row;
    }
}

void link_flush(bench_link *link) {
    for (size_t i = 0; i < link->pending_count; i++) {
        redisReply *reply = read_reply(link);
        if (link->pending[i].account)
            read_account(reply->str, link->pending[i].account);
        else
            check_answer(reply, &link->pending[i].expected);
        freeReplyObject(reply);
    }
    free(link->pending);
    link->pending = NULL;
    link->pending_count = 0;
}

account_row account_of(const server_account *account, const char *command) {
    for (size_t i = 0; i < account->count; i++) {
        if (strcmp(account->rows[i].command, command) == 0)
            return account->rows[i];
    }
    return (account_row){0};
}

void account_between(const server_account *before, const server_account *after,
                     server_account *out) {
    out->count = 0;
    for (size_t i = 0; i < after->count; i++) {
        account_row row = after->rows[i];
        account_row old = account_of(before, row.command);
        row.calls -= old.calls;
        row.usec -= old.usec;
        if (row.calls > 0 && strcmp(row.command, "info") != 0)
            out->rows[out->count++] = row;
    }
}

char *link_info(bench_link *link, const char *field) {
    char *value = NULL;
    redisAppendCommand(link->context, "INFO server");
    redisReply *reply = read_reply(link);
    char *line = test_print("\n%s:", field);
    const char *found = reply->str ? strstr(reply->str, line) : NULL;
    if (found) {
        found += strlen(line);
        value = test_copy(found, strcspn(found, "\r\n"));
    }
    free(line);
    freeReplyObject(reply);
    return value;
}
