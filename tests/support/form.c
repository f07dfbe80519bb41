/* What is the same for every form of the lock; see form.h. */
#include "form_private.h"

#include <stdlib.h>
#include <string.h>

static int compare_rests(const void *left, const void *right) {
    const form_rest *a = left, *b = right;
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->name, b->name, common);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* By insertion: few messages, and those to one client must keep their order. */
static void sort_messages(form_result *result) {
    for (size_t i = 1; i < result->message_count; i++) {
        form_message moving = result->messages[i];
        size_t j = i;
        for (; j > 0 && strcmp(result->messages[j - 1].client, moving.client) > 0; j--)
            result->messages[j] = result->messages[j - 1];
        result->messages[j] = moving;
    }
}

static void sort_rests(form_result *result) {
    if (result->rest_count > 1)
        qsort(result->rests, result->rest_count, sizeof *result->rests, compare_rests);
}

void form_run(lock_form *form, uint64_t now_us, const form_call *call, form_result *result) {
    *result = (form_result){0};
    form->methods->run(form, now_us, call, result);
    sort_messages(result);
    sort_rests(result);
}

void form_look(lock_form *form, uint64_t now_us, form_result *result) {
    *result = (form_result){0};
    form->methods->look(form, now_us, result);
    sort_rests(result);
}

void form_reset(lock_form *form) {
    form->methods->reset(form);
}

char *form_configure(lock_form *form, const char *option, const char *value) {
    return form->methods->configure(form, option, value);
}

char *form_plant(lock_form *form, lkc_text name, const char *suffix, const char *type) {
    return form->methods->plant(form, name, suffix, type);
}

bool form_has_server(const lock_form *form) {
    return form->methods->configure != NULL;
}

bool form_is_indexed(const lock_form *form) {
    return form->indexed;
}

const char *form_name(const lock_form *form) {
    return form->name;
}

void form_free(lock_form *form) {
    if (!form)
        return;
    free(form->name);
    form->methods->free(form);
}

void form_result_clear(form_result *result) {
    reply_clear(&result->answer);
    for (size_t i = 0; i < result->message_count; i++) {
        free(result->messages[i].client);
        free(result->messages[i].text);
    }
    for (size_t i = 0; i < result->rest_count; i++)
        free(result->rests[i].name);
    free(result->messages);
    free(result->rests);
    free(result->fault);
    *result = (form_result){0};
}

void form_fault(form_result *result, char *text) {
    if (result->fault)
        free(text);
    else
        result->fault = text;
}

void form_message_add(form_result *result, const char *client, size_t client_length,
                      const char *text, size_t length) {
    result->messages = test_grow(result->messages, result->message_count, sizeof(form_message));
    result->messages[result->message_count++] = (form_message){
        .client = test_copy(client, client_length),
        .text = test_copy(text, length),
        .length = length,
    };
}

void form_rest_add(form_result *result, lkc_text name, uint64_t expires_ms) {
    result->rests = test_grow(result->rests, result->rest_count, sizeof(form_rest));
    result->rests[result->rest_count++] = (form_rest){
        .name = test_copy(name.bytes, name.length),
        .length = name.length,
        .expires_ms = expires_ms,
        .key_count = 1,
    };
}
