/* What form.c and the forms share; see form.h. */
#ifndef TEST_FORM_PRIVATE_H
#define TEST_FORM_PRIVATE_H

#include "form.h"

typedef struct {
    void (*run)(lock_form *, uint64_t now_us, const form_call *, form_result *);
    void (*look)(lock_form *, uint64_t now_us, form_result *);
    void (*reset)(lock_form *);
    char *(*configure)(lock_form *, const char *option, const char *value); /* NULL: no server */
    char *(*plant)(lock_form *, lkc_text name, const char *suffix, const char *type);
    void (*free)(lock_form *);
} form_methods;

/* The first member of each form. */
struct lock_form {
    const form_methods *methods;
    char *name;
    bool indexed; /* scripts whose locks are indexed early */
};

/* Sets the fault, unless there is one already; takes the text. */
void form_fault(form_result *, char *text);
void form_message_add(form_result *, const char *client, size_t client_length, const char *text,
                      size_t length);
void form_rest_add(form_result *, lkc_text name, uint64_t expires_ms);

#endif
