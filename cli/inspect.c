/* `latchkey inspect`: one lock, with all its holders and waiters. */
#include "command.h"
#include "common.h"
#include "say.h"
#include "show.h"

#include <stdio.h>

static const option options[] = {
    {'j', "json", NULL, "print JSON, one object on one line"},
    COMMON_OPTIONS,
};

static int print(const lk_info *info, bool json) {
    if (json)
        return show_json(show_everything(info));
    show_lock(info, stdout);
    return 0;
}

static int run(int count, char **words) {
    common wanted = {0};
    lk_client *client;
    lk_info *info;
    int rest;
    int code = options_parse(options, false, count, words, common_take_option, &wanted, &rest);
    if (code == 0 && (!words[rest] || words[rest + 1]))
        code = say_usage(words[rest] ? "give only one lock name" : "no lock name given");
    if (code == 0)
        code = common_open(&wanted, &client);
    if (code != 0)
        return code;
    lk_status status = lk_inspect(client, words[rest], &info);
    code = status == LK_OK ? print(info, wanted.json) : say_status(status);
    if (status == LK_OK)
        lk_info_free(info);
    lk_close(client);
    return code;
}

const command inspect_command = {
    .name = "inspect",
    .arguments = "NAME",
    .summary = "show who holds a lock, who waits for it, and for how long",
    .text = "Shows one lock: its state and policy, the last fencing token, its server, its\n"
            "holders and its waiters. The waiter that comes next is first.",
    .examples = "  latchkey inspect deploy:web\n"
                "  latchkey inspect deploy:web --json | jq '.held_by[].host'\n",
    .options = options,
    .run = run,
};
