/* See shape.h. */
#include "shape.h"

#include <string.h>

/* What stands behind the answer and the time; in an entry of renew there is no time. */
static const shape answers[] = {
    {"granted", {"fence", "ms", "flags"}},
    {"queued", {"place", "ms"}},
    {"busy", {"ms"}},
    {"deadlock", {0}},
    {"not-held", {0}},
    {"stale", {0}},
    {"released", {"reads", "writes"}},
    {"cancelled", {0}},
    {"forced", {"count"}},
    {"lease", {"ms"}},
    {"lock", {"policy", "fence", "abandoned", "holders", "waiters"}},
    {"error", {0}},
};

/* What stands behind the handle; `time` is checked without being named. */
static const shape messages[] = {
    {"granted", {"req", "fence", "time", "ms", "flags"}},
    {"watch", {"req", "fence", "time", "ms", "flags"}},
    {"lost", {"req", "fence", "time", "ms", "flags"}},
};

/* What stands behind the handle. */
static const shape rows[] = {
    {"hold",
     {"owner", "group", "reads", "writes", "left_ms", "held_ms", "fence", "provisional", "who"}},
    {"waiter", {"owner", "group", "mode", "left_ms", "waited_ms", "req", "who"}},
};

static const shape *find(const shape *shapes, size_t count, const char *word) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(shapes[i].word, word) == 0)
            return &shapes[i];
    return NULL;
}

const shape *shape_of_answer(const char *word) {
    return find(answers, sizeof answers / sizeof *answers, word);
}

const shape *shape_of_message(const char *word) {
    return find(messages, sizeof messages / sizeof *messages, word);
}

const shape *shape_of_row(const char *word) {
    return find(rows, sizeof rows / sizeof *rows, word);
}

int shape_field(const shape *of, const char *name) {
    for (int i = 0; of->fields[i]; i++)
        if (strcmp(of->fields[i], name) == 0)
            return i;
    return -1;
}

size_t shape_count(const shape *of) {
    size_t count = 0;
    while (of->fields[count])
        count++;
    return count;
}
