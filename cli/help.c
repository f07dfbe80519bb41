/* `latchkey help`, and --help of each subcommand: printed from the tables. */
#include "command.h"
#include "lead.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

const command *command_find(const char *name) {
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

void command_help(const command *self) {
    printf("usage: latchkey %s%s%s%s\n\n%s\n", self->name, self->options ? " [OPTION…]" : "",
           *self->arguments ? " " : "", self->arguments, self->text);
    if (self->options) {
        printf("\noptions\n");
        options_print(self->options);
    }
    printf("\nexamples\n%s", self->examples);
}

static void list_commands(void) {
    printf("usage: latchkey [OPTION…] COMMAND [OPTION…] [ARGUMENT…]\n\n"
           "Reader-writer locks by name, across machines, on a Redis or Valkey server.\n\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    printf(
        "\n`latchkey COMMAND --help` says more; the manual is latchkey(1), the model latchkey(7).\n"
        "The server is -u URL, LATCHKEY_URL, url of latchkey.conf(5), or else a private one of\n"
        "this user (local:). Options that all commands have may stand before COMMAND:\n"
        "latchkey -u URL ls.\n");
}

/* Options of all commands change nothing here. */
static int taken(void *arg, const option *row, char *value) {
    (void)arg;
    (void)value;
    return option_is(row, "help") ? CODE_HELP : 0;
}

static int run(int count, char **words) {
    int rest;
    int code = options_parse(lead_options, false, count, words, taken, NULL, &rest);
    if (code != 0)
        return code;
    if (!words[rest]) {
        list_commands();
        return 0;
    }
    if (words[rest + 1])
        return say_usage("one command at a time");
    const command *asked = command_find(words[rest]);
    if (!asked)
        return say_usage("there is no command %s", words[rest]);
    command_help(asked);
    return 0;
}

const command help_command = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "what there is, and how it is used",
    .text = "Prints the list of commands, or the help of one.",
    .examples = "  latchkey help run\n",
    .run = run,
};
