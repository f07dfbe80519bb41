/* `latchkey help`: the list of commands, or the help of one. */
#include "command.h"
#include "global_options.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

static void list_commands(void) {
    printf("usage: latchkey [OPTION…] COMMAND [OPTION…] [ARGUMENT…]\n\n"
           "Reader-writer locks by name, across machines, on a Redis or Valkey server.\n\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    printf(
        "\nRead more with `latchkey COMMAND --help`, in latchkey(1), and about locks in "
        "latchkey(7).\n"
        "-u URL, LATCHKEY_URL or url in latchkey.conf(5) names the server. Without them, it is a\n"
        "private server of this user (local:). Options that all commands have may also come\n"
        "before COMMAND, for example latchkey -u URL ls.\n");
}

/* The options of all commands are accepted here, and have no effect. */
static int take_option(void *arg, const option *row, char *value) {
    (void)arg;
    (void)value;
    return option_is(row, "help") ? CODE_HELP : 0;
}

static int run(int count, char **words) {
    int rest;
    int code = options_parse(global_options, false, count, words, take_option, NULL, &rest);
    if (code != 0)
        return code;
    if (!words[rest]) {
        list_commands();
        return 0;
    }
    if (words[rest + 1])
        return say_usage("give only one command");
    const command *wanted = command_find(words[rest]);
    if (!wanted)
        return say_usage("there is no command %s", words[rest]);
    command_help(wanted);
    return 0;
}

const command help_command = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "list the commands, or show the help of one",
    .text = "Prints the list of commands, or the help of one command.",
    .examples = "  latchkey help run\n",
    .run = run,
};
