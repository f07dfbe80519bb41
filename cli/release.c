/* `latchkey release`: takes a lock away from those who hold it. */
#include "command.h"
#include "common.h"
#include "exits.h"
#include "say.h"
#include "table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OWNER_MOST = 128 };

static const option options[] = {
    {0, "owner", "OWNER", "only the holds of this one, as inspect shows it"},
    {'y', "yes", NULL, "do not ask"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    const char *owner;
    bool yes;
} wishes;

static int taken(void *arg, const option *row, char *value) {
    wishes *wanted = arg;
    if (option_is(row, "owner") && (!*value || strlen(value) > OWNER_MOST))
        return say_usage("--owner must be 1 to %d bytes", OWNER_MOST);
    if (option_is(row, "owner"))
        wanted->owner = value;
    else if (option_is(row, "yes"))
        wanted->yes = true;
    else
        return common_taken(&wanted->common, row, value);
    return 0;
}

/* Nobody at a terminal: nobody who could say yes. */
static int confirm(const char *name, const char *owner) {
    char answer[16] = "", question[900];
    if (!isatty(STDIN_FILENO))
        return say_usage("there is nobody to ask; give --yes to release lock \"%s\" by force",
                         name);
    snprintf(question, sizeof question, "Whoever holds lock \"%s\"%s%s", name,
             owner ? " for owner " : "", owner ? owner : "");
    text_tame(question);
    fprintf(stderr, "%s loses it, perhaps in the middle of something. Release it? [y/N] ",
            question);
    if (!fgets(answer, sizeof answer, stdin) || (*answer != 'y' && *answer != 'Y'))
        return say_failure(EXIT_CONFLICT, "not released");
    return 0;
}

static int run(int count, char **words) {
    wishes wanted = {0};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, taken, &wanted, &rest);
    if (code == 0 && (!words[rest] || words[rest + 1]))
        code = say_usage(words[rest] ? "one lock at a time" : "which lock?");
    if (code == 0 && !wanted.yes)
        code = confirm(words[rest], wanted.owner);
    if (code == 0)
        code = common_open(&wanted.common, &client);
    if (code != 0)
        return code;
    lk_status status = lk_force_release(client, words[rest], wanted.owner);
    if (status == LK_NOT_HELD)
        code = say_failure(EXIT_FINDING, "%s", lk_last_error());
    else if (status != LK_OK)
        code = say_status(status);
    lk_close(client);
    return code;
}

const command release_command = {
    .name = "release",
    .arguments = "NAME",
    .summary = "take a lock away from who holds it, by force",
    .text = "Whoever holds NAME loses it: programs are told, `latchkey run` ends its command. "
            "Those who\n"
            "wait are granted. A writer that goes so leaves the lock abandoned. Asks first.",
    .examples = "  latchkey release deploy:web\n"
                "  latchkey release --yes --owner ci-42 deploy:web\n",
    .options = options,
    .run = run,
};
