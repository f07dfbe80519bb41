/* See script_link.h. */
#include "script_link.h"

#include "form_private.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static const char sync_channel[] = "lk:sync";
enum { ANSWER_MOST_S = 60 };

struct script_link {
    redisContext *commands, *messages;
    unsigned long syncs;
    script_change *changes;
    size_t change_count;
};

static redisContext *connect_to(const char *socket) {
    redisContext *context = redisConnectUnix(socket);
    if (!context || context->err) {
        fprintf(stderr, "%s: %s\n", socket, context ? context->errstr : "out of memory");
        if (context)
            redisFree(context);
        return NULL;
    }
    redisSetTimeout(context, (struct timeval){.tv_sec = ANSWER_MOST_S});
    return context;
}

static redisReply *read_reply(redisContext *context) {
    void *answer = NULL;
    if (redisGetReply(context, &answer) != REDIS_OK) {
        fprintf(stderr, "the server does not answer: %s\n", context->errstr);
        exit(EXIT_FAILURE);
    }
    return answer;
}

script_link *script_link_open(const char *socket) {
    script_link *link = test_alloc(1, sizeof *link);
    link->commands = connect_to(socket);
    link->messages = link->commands ? connect_to(socket) : NULL;
    if (!link->messages) {
        script_link_close(link);
        return NULL;
    }
    redisAppendCommand(link->messages, "PSUBSCRIBE *");
    freeReplyObject(read_reply(link->messages));
    redisAppendCommand(link->commands, "CONFIG SET notify-keyspace-events KA");
    freeReplyObject(read_reply(link->commands));
    return link;
}

static void forget_changes(script_link *link) {
    for (size_t i = 0; i < link->change_count; i++)
        free(link->changes[i].key);
    free(link->changes);
    link->changes = NULL;
    link->change_count = 0;
}

const script_change *script_link_changes(const script_link *link, size_t *count) {
    *count = link->change_count;
    return link->changes;
}

void script_link_close(script_link *link) {
    if (link->commands)
        redisFree(link->commands);
    if (link->messages)
        redisFree(link->messages);
    forget_changes(link);
    free(link);
}

void script_link_append(script_link *link, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (redisvAppendCommand(link->commands, format, arguments) != REDIS_OK)
        abort();
    va_end(arguments);
}

void script_link_append_words(script_link *link, const lkc_text *words, size_t count) {
    const char **bytes = test_alloc(count, sizeof *bytes);
    size_t *lengths = test_alloc(count, sizeof *lengths);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = words[i].bytes ? words[i].bytes : "";
        lengths[i] = words[i].length;
    }
    if (redisAppendCommandArgv(link->commands, (int)count, bytes, lengths) != REDIS_OK)
        abort();
    free(bytes);
    free(lengths);
}

static void convert(const redisReply *from, reply *to) {
    switch (from->type) {
    case REDIS_REPLY_INTEGER:
        reply_set_integer(to, from->integer);
        break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        reply_set_text(to, REPLY_TEXT, from->str, (size_t)from->len);
        break;
    case REDIS_REPLY_ERROR:
        reply_set_text(to, REPLY_ERROR, from->str, (size_t)from->len);
        break;
    case REDIS_REPLY_ARRAY:
        to->type = REPLY_ARRAY;
        for (size_t i = 0; i < from->elements; i++)
            convert(from->element[i], reply_add(to));
        break;
    default: /* SPEC 10: replies have nothing else; what is compared with it differs. */
        reply_clear(to);
        break;
    }
}

void script_link_read(script_link *link, reply *out) {
    redisReply *answer = read_reply(link->commands);
    convert(answer, out);
    freeReplyObject(answer);
}

/* A word of a line; a number is one only as it is printed, without zeros before it. */
static void add_word(reply *to, const char *word, size_t length) {
    bool number = length > 0 && length <= 16 && (word[0] != '0' || length == 1);
    for (size_t i = 0; i < length; i++)
        number = number && word[i] >= '0' && word[i] <= '9';
    if (number)
        reply_set_integer(reply_add(to), strtoll(word, NULL, 10));
    else
        reply_set_text(reply_add(to), REPLY_TEXT, word, length);
}

static void split_line(const char *line, size_t length, reply *to) {
    static const char error[] = "error ";
    to->type = REPLY_ARRAY;
    if (strncmp(line, error, strlen(error)) == 0) { /* its text is to the end */
        add_word(to, line, strlen(error) - 1);
        reply_set_text(reply_add(to), REPLY_TEXT, line + strlen(error), length - strlen(error));
        return;
    }
    for (size_t at = 0; at <= length;) {
        size_t word = strcspn(line + at, " ");
        add_word(to, line + at, word);
        at += word + 1;
    }
}

static bool begins_with(const redisReply *text, const char *beginning) {
    return text->type == REDIS_REPLY_STRING &&
           strncmp(text->str, beginning, strlen(beginning)) == 0;
}

/* SPEC 11.4. */
void script_link_read_answer(script_link *link, reply *out) {
    redisReply *answer = read_reply(link->commands);
    bool many = answer->type == REDIS_REPLY_ARRAY && answer->elements > 0;
    const redisReply *line = many ? answer->element[0] : answer;
    if (line->type != REDIS_REPLY_STRING) {
        convert(answer, out);
        freeReplyObject(answer);
        return;
    }
    split_line(line->str, (size_t)line->len, out);
    for (size_t i = 1; many && i < answer->elements; i++) {
        const redisReply *element = answer->element[i];
        if (begins_with(line, "renewed ") && element->type == REDIS_REPLY_STRING)
            split_line(element->str, (size_t)element->len, reply_add(out));
        else
            convert(element, reply_add(out));
    }
    freeReplyObject(answer);
}

void script_link_append_sync(script_link *link) {
    script_link_append(link, "PUBLISH %s %lu", sync_channel, ++link->syncs);
}

/* What the server says about a key on the channel that is named after the key. */
static void note_change(script_link *link, const char *key, size_t length, const char *event) {
    link->changes = test_grow(link->changes, link->change_count, sizeof *link->changes);
    link->changes[link->change_count++] = (script_change){
        .key = test_copy(key, length),
        .length = length,
        .gone = strcmp(event, "del") == 0 || strcmp(event, "expired") == 0,
    };
}

/* Notes a message, unless it is the mark that is waited for: true then. */
static bool note_message(script_link *link, const redisReply *heard, form_result *result) {
    static const char keyspace[] = "__keyspace@0__:";
    if (heard->type != REDIS_REPLY_ARRAY || heard->elements != 4) {
        form_fault(result, test_print("something other than a message came"));
        return false;
    }
    const redisReply *channel = heard->element[2], *text = heard->element[3];
    if (strcmp(channel->str, sync_channel) == 0)
        return strtoul(text->str, NULL, 10) == link->syncs;
    if (strncmp(channel->str, keyspace, strlen(keyspace)) == 0) {
        note_change(link, channel->str + strlen(keyspace), (size_t)channel->len - strlen(keyspace),
                    text->str);
        return false;
    }
    const char *colon = strrchr(channel->str, ':');
    size_t cut = colon ? (size_t)(colon + 1 - channel->str) : 0;
    form_message_add(result, channel->str + cut, (size_t)channel->len - cut, text->str,
                     (size_t)text->len);
    return false;
}

void script_link_read_sync(script_link *link, form_result *result) {
    redisReply *published = read_reply(link->commands);
    freeReplyObject(published);
    forget_changes(link);
    for (bool reached = false; !reached;) {
        redisReply *heard = read_reply(link->messages);
        reached = note_message(link, heard, result);
        freeReplyObject(heard);
    }
}
