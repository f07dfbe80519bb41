/* `latchkey release`: takes a lock away from its holders. */
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
    {0, "owner", "OWNER", "release only the holds of this owner, as inspect shows it"},
    {'y', "yes", NULL, "do not ask for confirmation"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    const char *owner;
    bool yes;
} settings;

static int take_option(void *arg, const option *row, char *value) {
    settings *wanted = arg;
    if (option_is(row, "owner") && (!*value || strlen(value) > OWNER_MOST))
        return say_usage("--owner must be 1 to %d bytes", OWNER_MOST);
    if (option_is(row, "owner"))
        wanted->owner = value;
    else if (option_is(row, "yes"))
        wanted->yes = true;
    else
        return common_take_option(&wanted->common, row, value);
    return 0;
}

static int confirm(const char *name, const char *owner) {
    char answer[16] = "", question[900];
    if (!isatty(STDIN_FILENO))
        return say_usage(
            "nobody can confirm this, since standard input is not a terminal; give --yes "
            "to release lock \"%s\" by force",
            name);
    snprintf(question, sizeof question, "This takes lock \"%s\" away from %s%s", name,
             owner ? "owner " : "its holders", owner ? owner : "");
    text_sanitize(question);
    fprintf(stderr, "%s, perhaps in the middle of their work. Release it? [y/N] ", question);
    if (!fgets(answer, sizeof answer, stdin) || (*answer != 'y' && *answer != 'Y'))
        return say_failure(EXIT_CONFLICT, "lock \"%s\" was not released", name);
    return 0;
}

static int run(int count, char **words) {
    settings wanted = {0};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, take_option, &wanted, &rest);
    if (code == 0 && (!words[rest] || words[rest + 1]))
        code = say_usage(words[rest] ? "give only one lock name" : "no lock name given");
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
    .summary = "take a lock away from its holders, by force",
    .text =
        "Every holder of NAME loses the lock, and the next waiters get it. A holder learns of\n"
        "this only later, and until then works at the same time as the next one. `latchkey run`\n"
        "ends its command. A writer that loses the lock this way leaves it abandoned. Asks for\n"
        "confirmation first.",
    .examples = "  latchkey release deploy:web\n"
                "  latchkey release --yes --owner ci-42 deploy:web\n",
    .options = options,
    .run = run,
};
