/* See differential_cover.h. */
#include "differential_cover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER "must be a number of at most 16 digits, up to 2^53"

/* What must be seen; what else is seen is counted too. Errors: their texts up to what varies. */
static const char *const wanted[] = {
    "acquire granted",
    "acquire queued",
    "acquire busy",
    "acquire deadlock",
    "acquire not-held",
    "acquire stale",
    "release released",
    "release not-held",
    "release stale",
    "renew lease",
    "renew queued",
    "renew granted",
    "renew not-held",
    "renew error",
    "convert granted",
    "convert not-held",
    "convert stale",
    "cancel cancelled",
    "cancel granted",
    "inspect lock",
    "force forced",
    "message lost",
    "message granted",
    "message watch",
    "granted with flags 0",
    "granted with flags 1",
    "granted with flags 2",
    "granted with flags 3",
    "granted with flags 4",
    "granted with flags 5",
    "granted with flags 6",
    "granted with flags 7",
    "error LKARG keys: expected 1 or 2,",
    "error LKARG keys: expected 1 or 2 for each",
    "error LKARG keys: not the keys of one lock",
    "error LKARG name: must be 1 to 512 bytes without NUL",
    "error LKARG arguments:",
    "error LKARG handle: must be 32 hex digits, a dash and 12 hex digits",
    "error LKARG req: " NUMBER,
    "error LKARG fence: " NUMBER,
    "error LKARG told: " NUMBER,
    "error LKARG wait: " NUMBER,
    "error LKARG lease_ms: " NUMBER,
    "error LKARG floor: " NUMBER,
    "error LKARG target: " NUMBER,
    "error LKARG limit: " NUMBER,
    "error LKARG req: must be at least 1",
    "error LKARG target: must be at least 1",
    "error LKARG mode: must be read or write",
    "error LKARG told: must be 0 or 1",
    "error LKARG wait: must be 0 or 1",
    "error LKARG lease_ms: must be 100 to 86400000",
    "error LKARG policy: must be fair, phase-fair, prefer-writer or prefer-reader",
    "error LKARG floor: is more than a day ahead of the server's clock",
    "error LKARG owner: must be at most 128 bytes without NUL",
    "error LKARG group: must be at most 64 bytes without NUL",
    "error LKARG who: must be at most 255 bytes without NUL",
    "error LKARG limit: must be at most 100000",
    "event several granted at once",
    "event granted provisionally",
    "event provisional claimed",
    "event provisional ran out",
    "event hold ran out",
    "event waiter ran out",
    "event hold replaced",
    "event waiter replaced",
    "event re-entry before waiters",
    "event queued behind others",
    "event upgrade granted by settling",
    "event upgrade became a writer-waiter",
    "event upgrade dropped",
    "event upgrade cancelled",
    "event mark set",
    "event mark cleared by release",
    "event mark cleared by convert",
    "event mark forgotten",
    "event mark is all that is left",
    "event mark withdrawn by coming back",
    "event mark withdrawn by cancel",
    "event missed one waits again",
    "event missed one granted again",
    "event fence is all that is left",
    "event clock went back",
};

static cover_count *find(const cover *seen, const char *what) {
    for (size_t i = 0; i < seen->count; i++) {
        const char *known = seen->counts[i].what;
        bool is_error = strncmp(known, "error ", 6) == 0;
        if (is_error ? strncmp(known, what, strlen(known)) == 0 : strcmp(known, what) == 0)
            return &seen->counts[i];
    }
    return NULL;
}

static cover_count *find_or_add(cover *seen, const char *what) {
    cover_count *found = find(seen, what);
    if (found)
        return found;
    seen->counts = test_grow(seen->counts, seen->count, sizeof *seen->counts);
    seen->counts[seen->count].what = test_copy(what, strlen(what));
    return &seen->counts[seen->count++];
}

void cover_begin(cover *seen) {
    *seen = (cover){0};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        find_or_add(seen, wanted[i]);
}

void cover_end(cover *seen) {
    for (size_t i = 0; i < seen->count; i++)
        free(seen->counts[i].what);
    free(seen->counts);
    *seen = (cover){0};
}

static void saw(cover *seen, const char *kind, const char *what) {
    char *text = test_print("%s %s", kind, what);
    find_or_add(seen, text)->times++;
    free(text);
}

static void saw_if(cover *seen, bool happened, const char *event) {
    if (happened)
        saw(seen, "event", event);
}

/* Answers and messages. */

static void saw_granted(cover *seen, const reply *answer, size_t flags) {
    if (reply_is(&answer->elements[0], "granted") && answer->count > flags) {
        char *text = test_print("%" PRId64, answer->elements[flags].integer);
        saw(seen, "granted with flags", text);
        free(text);
    }
}

static void saw_answer(cover *seen, const step *one, const reply *answer) {
    if (answer->type == REPLY_ERROR)
        saw(seen, "error", answer->text);
    if (answer->type != REPLY_ARRAY)
        return;
    if (one->op != LKC_OP_RENEW) {
        saw(seen, step_op_name(one->op), answer->elements[0].text);
        saw_granted(seen, answer, 4);
        saw_if(seen, reply_is(&answer->elements[0], "queued") && answer->elements[2].integer > 1,
               "queued behind others");
        return;
    }
    for (size_t i = 2; i < answer->count; i++) {
        const reply *entry = &answer->elements[i];
        saw(seen, "renew", entry->elements[0].text);
        if (reply_is(&entry->elements[0], "error"))
            saw(seen, "error", entry->elements[1].text);
        saw_granted(seen, entry, 3);
    }
}

static void saw_messages(cover *seen, const form_result *done) {
    size_t granted = 0;
    for (size_t i = 0; i < done->message_count; i++) {
        const char *line = done->messages[i].text;
        while (line) {
            size_t length = strcspn(line, " ");
            char *kind = test_copy(line, length);
            saw(seen, "message", kind);
            granted += strcmp(kind, "granted") == 0;
            free(kind);
            line = strchr(line, '\n');
            line = line ? line + 1 : NULL;
        }
    }
    saw_if(seen, granted > 1, "several granted at once");
}

/* Events. */

/* The one whose own request it is: what becomes of it is no accident. */
static int requester(const step *one) {
    if (one->op == LKC_OP_RENEW || one->argument_count == 0)
        return CAST_NOBODY;
    return cast_find(one->arguments[0].bytes, one->arguments[0].length);
}

static void saw_bystander(cover *seen, const step *one, const belief_party *was,
                          const belief_party *is) {
    bool lost = was->holds && !is->holds && one->op != LKC_OP_FORCE;
    bool left = was->waits && !is->waits;
    bool upgrade = was->waits && was->waits_for == LKC_WAITS_UPGRADE;
    saw_if(seen, lost && was->provisional, "provisional ran out");
    saw_if(seen, lost && !was->provisional, "hold ran out");
    saw_if(seen, left && !is->holds && !upgrade, "waiter ran out");
    saw_if(seen, left && upgrade && is->writes <= was->writes, "upgrade dropped");
}

static void saw_requester(cover *seen, const step *one, const reply *answer,
                          const belief_party *was, const belief_party *is) {
    bool upgrade = was->waits && was->waits_for == LKC_WAITS_UPGRADE;
    saw_if(seen, one->op == LKC_OP_CANCEL && upgrade && !is->waits && is->holds,
           "upgrade cancelled");
    if (one->op != LKC_OP_ACQUIRE || answer->type != REPLY_ARRAY || !was->holds)
        return;
    bool stranger = strcmp(one->arguments[2].bytes, "0") == 0;
    bool anew = is->waits ? !was->waits : is->fence != was->fence;
    saw_if(seen, stranger && anew && !was->waits, "hold replaced");
}

/* Its provisional hold is gone, or may have gone just now. */
static bool may_have_missed(const belief_party *was) {
    return was->missed || was->provisional;
}

static void saw_party(cover *seen, const step *one, const belief_party *was,
                      const belief_party *is) {
    bool upgrade = was->waits && was->waits_for == LKC_WAITS_UPGRADE;
    saw_if(seen, was->waits && !was->holds && is->provisional, "granted provisionally");
    saw_if(seen, was->provisional && is->holds && !is->provisional && is->fence == was->fence,
           "provisional claimed");
    saw_if(seen, upgrade && !is->waits && is->writes > was->writes, "upgrade granted by settling");
    saw_if(seen,
           upgrade && is->waits && is->waits_for == LKC_WAITS_WRITE &&
               is->waits_req == was->waits_req,
           "upgrade became a writer-waiter");
    saw_if(seen, was->waits && is->waits && is->waits_req != was->waits_req, "waiter replaced");
    bool renewed = one->op == LKC_OP_RENEW;
    saw_if(seen, may_have_missed(was) && is->waits && is->waits_req == was->granted_req,
           "missed one waits again");
    saw_if(seen, may_have_missed(was) && renewed && is->holds && is->fence != was->fence,
           "missed one granted again");
}

static bool is_empty(const belief_lock *lock) {
    return lock->holders == 0 && lock->waiters == 0;
}

static void saw_lock(cover *seen, const step *one, const reply *answer, const belief_lock *was,
                     const belief_lock *is) {
    int self = requester(one);
    bool came_back = false;
    for (int i = 0; i < CAST_HANDLES; i++) {
        saw_party(seen, one, &was->parties[i], &is->parties[i]);
        bool stays = is->parties[i].holds && is->parties[i].fence == was->parties[i].fence;
        came_back = came_back || (may_have_missed(&was->parties[i]) && !stays &&
                                  (is->parties[i].waits || is->parties[i].holds));
        if (i == self)
            saw_requester(seen, one, answer, &was->parties[i], &is->parties[i]);
        else
            saw_bystander(seen, one, &was->parties[i], &is->parties[i]);
    }
    bool entered = one->op == LKC_OP_ACQUIRE && self != CAST_NOBODY && is->waiters > 0 &&
                   was->parties[self].holds &&
                   was->parties[self].reads + was->parties[self].writes <
                       is->parties[self].reads + is->parties[self].writes;
    saw_if(seen, entered, "re-entry before waiters");
    bool cleared = was->abandoned && !is->abandoned;
    saw_if(seen, !was->abandoned && is->abandoned, "mark set");
    saw_if(seen, cleared && one->op == LKC_OP_RELEASE, "mark cleared by release");
    saw_if(seen, cleared && one->op == LKC_OP_CONVERT, "mark cleared by convert");
    bool cancelled = one->op == LKC_OP_CANCEL && self != CAST_NOBODY &&
                     may_have_missed(&was->parties[self]);
    saw_if(seen, cleared && came_back && one->op == LKC_OP_RENEW, "mark withdrawn by coming back");
    saw_if(seen, cleared && cancelled, "mark withdrawn by cancel");
    saw_if(seen,
           cleared && one->op != LKC_OP_RELEASE && one->op != LKC_OP_CONVERT && !came_back &&
               !cancelled,
           "mark forgotten");
    saw_if(seen, is->abandoned && is_empty(is) && !is_empty(was), "mark is all that is left");
    saw_if(seen, is->fence > 0 && !is->abandoned && is_empty(is) && !is_empty(was),
           "fence is all that is left");
    if (is->holders > seen->holders_most)
        seen->holders_most = is->holders;
    if (is->waiters > seen->waiters_most)
        seen->waiters_most = is->waiters;
}

void cover_step(cover *seen, const belief *before, const belief *after, const step *one,
                const form_pair *pair) {
    saw_answer(seen, one, &pair->done.answer);
    saw_messages(seen, &pair->done);
    saw_if(seen, one->now_us < before->now_us, "clock went back");
    for (size_t i = 0; i < CAST_LOCKS; i++)
        saw_lock(seen, one, &pair->done.answer, &before->locks[i], &after->locks[i]);
}

size_t cover_print(const cover *seen) {
    size_t never = 0;
    for (size_t i = 0; i < seen->count; i++) {
        printf("%10" PRIu64 "  %s\n", seen->counts[i].times, seen->counts[i].what);
        never += seen->counts[i].times == 0;
    }
    printf("at most %u holds and %u waiters at once\n", seen->holders_most, seen->waiters_most);
    return never;
}
