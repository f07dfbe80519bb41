/*
 * `arrivals fair write-held RWRW -> 1 | 2 | 3 | 4`: H holds, arrivals 1 to 9 ask in this order and
 * wait; then H and who was granted at once release, then each phase of granted ones in its order,
 * until nobody is left. The phases must be those listed.
 *
 * The arrivals are handles of one client, so that the lines of one message tell the order in
 * which a release grants.
 */
#include "match.h"
#include "play.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ARRIVALS_MOST = 9, WORDS_MOST = 11 };

static const actor_name holder = {.client = 'H', .number = 1};

typedef struct {
    play *on;
    const step *from;
    const char *policy, *modes;
    bool write_held;
    int64_t fences[ARRIVALS_MOST + 1]; /* of H, at 0, and of each arrival's hold */
    int64_t requests;
    unsigned phase[ARRIVALS_MOST]; /* numbers of those granted last */
    size_t phase_count;
    test_text seen; /* the phases, as they would be listed */
} table;

static actor_name arrival(unsigned number) {
    return number ? (actor_name){.client = 'A', .number = number} : holder;
}

static bool is_write(const table *of, unsigned number) {
    return number ? of->modes[number - 1] == 'W' : of->write_held;
}

/* Runs an operation; `words` stand behind the handle. */
static char *run(table *of, const char *op, unsigned number, const char *const *words, size_t count,
                 form_result *result) {
    char handle[HANDLE_LENGTH + 1];
    lkc_text arguments[WORDS_MOST] = {{handle, HANDLE_LENGTH}};
    lkc_text name = {of->on->lock, of->on->lock_length};
    actor_handle(arrival(number), handle);
    for (size_t i = 0; i < count; i++)
        arguments[1 + i] = (lkc_text){words[i], strlen(words[i])};
    form_call call = {.op = op,
                      .names = &name,
                      .name_count = 1,
                      .arguments = arguments,
                      .argument_count = 1 + count};
    return play_call(of->on, of->from, &call, result);
}

static void note_grant(table *of, unsigned number, int64_t fence) {
    of->fences[number] = fence;
    of->phase[of->phase_count++] = number;
    test_text_print(&of->seen, " %u", number);
}

static char *arrive(table *of, unsigned number) {
    char *req = test_print("%" PRId64, ++of->requests);
    const char *words[] = {
        req, "0", is_write(of, number) ? "write" : "read", "1", "30000", of->policy, "0", "",
        "",  ""};
    form_result result;
    char *problem = run(of, "acquire", number, words, sizeof words / sizeof *words, &result);
    free(req);
    const reply *answer = &result.answer;
    bool granted = answer->count == 5 && reply_is(&answer->elements[0], "granted");
    bool queued = answer->count == 4 && reply_is(&answer->elements[0], "queued");
    if (!problem && !granted && (!queued || number == 0))
        problem = test_print("%u is neither granted nor queued", number);
    else if (!problem && granted && number == 0)
        of->fences[0] = answer->elements[2].integer;
    else if (!problem && granted)
        note_grant(of, number, answer->elements[2].integer);
    form_result_clear(&result);
    return problem;
}

static char *note_messages(table *of, const form_result *result) {
    message_lines lines = {0};
    char *problem = match_read_messages(result, true, of->on->all.now_us, &lines);
    for (size_t i = 0; i < lines.count && !problem; i++) {
        const message_line *line = &lines.items[i];
        if (strcmp(line->shape->word, "granted") != 0)
            continue;
        if (of->phase_count == ARRIVALS_MOST)
            problem = test_print("somebody is granted twice");
        else
            note_grant(of, line->actor.number, line->fields[1].integer);
    }
    match_clear_messages(&lines);
    return problem;
}

static char *leave(table *of, unsigned number) {
    char *req = test_print("%" PRId64, ++of->requests);
    char *fence = test_print("%" PRId64, of->fences[number]);
    const char *words[] = {req, fence, is_write(of, number) ? "write" : "read", "1"};
    form_result result;
    char *problem = run(of, "release", number, words, sizeof words / sizeof *words, &result);
    if (!problem && !(result.answer.count == 4 && reply_is(&result.answer.elements[0], "released")))
        problem = test_print("%u cannot release", number);
    if (!problem)
        problem = note_messages(of, &result);
    form_result_clear(&result);
    free(req);
    free(fence);
    return problem;
}

/* The last phase leaves, and what that grants is the next one. */
static char *leave_all(table *of, bool with_holder) {
    unsigned leaving[ARRIVALS_MOST];
    size_t count = of->phase_count;
    memcpy(leaving, of->phase, sizeof leaving);
    of->phase_count = 0;
    char *problem = with_holder ? leave(of, 0) : NULL;
    for (size_t i = 0; i < count && !problem; i++)
        problem = leave(of, leaving[i]);
    return problem;
}

static char *play_all(table *of) {
    size_t arrivals = strlen(of->modes), phases = 0;
    char *problem = arrive(of, 0);
    test_text_print(&of->seen, "now");
    for (unsigned i = 1; i <= arrivals && !problem; i++)
        problem = arrive(of, i);
    while (!problem && (phases == 0 || of->phase_count > 0)) {
        test_text_print(&of->seen, " |");
        problem = leave_all(of, phases++ == 0);
    }
    return problem;
}

static char *listed(const step *from) {
    test_text text = {0};
    test_text_print(&text, "now");
    for (size_t i = 0; i < from->answer_count; i++) {
        test_text_print(&text, i ? " |" : "");
        for (size_t j = 0; j < from->answers[i].attributes.count; j++)
            test_text_print(&text, " %s", from->answers[i].attributes.items[j].text);
    }
    return text.bytes;
}

char *play_arrivals(play *on, const step *from) {
    const token *words = from->words.items;
    if (strspn(words[2].text, "RW") != words[2].length || words[2].length > ARRIVALS_MOST)
        return test_print("arrivals are up to 9 letters R and W");
    table of = {
        .on = on,
        .from = from,
        .policy = words[0].text,
        .modes = words[2].text,
        .write_held = token_is(&words[1], "write-held"),
    };
    if (!of.write_held && !token_is(&words[1], "read-held"))
        return test_print("H is write-held or read-held");
    char *problem = play_all(&of);
    char *wanted = listed(from);
    if (!problem) { /* the phase after the last is empty, and seen but not listed */
        char *seen = test_copy(of.seen.bytes, of.seen.length - strlen(" |"));
        if (strcmp(seen, wanted) != 0)
            problem = test_print("expected: %s\n     got: %s", wanted, seen);
        free(seen);
    }
    free(wanted);
    free(of.seen.bytes);
    return problem;
}
