/* Plays scenarios against several forms of the lock at once, in lock step. */
#ifndef CONFORMANCE_PLAY_H
#define CONFORMANCE_PLAY_H

#include "cast.h"
#include "form.h"
#include "request.h"

enum { PLAY_FORMS_MOST = 4 };

typedef struct {
    lock_form *const *forms;
    size_t form_count;
    const scenario *scene;
    cast all;
    char *lock; /* the name that the steps mean now */
    size_t lock_length;
} play;

/* Says on stdout what failed first, if something did. */
bool play_scenario(lock_form *const *forms, size_t form_count, const scenario *);

/*
 * For the constructs that are played as several operations: runs one in every form that plays the
 * step, and holds the forms against each other. Returns NULL, or what is wrong, to be freed; then,
 * and only then, `first` is what the first form did.
 */
char *play_call(play *, const step *, const form_call *, form_result *first);

/* arrivals.c */
char *play_arrivals(play *, const step *);

#endif
