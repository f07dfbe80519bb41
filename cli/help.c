/* `latchkey help`, and --help of each subcommand: printed from the tables. */
#include "command.h"
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
    printf("usage: latchkey COMMAND [OPTION…] [ARGUMENT…]\n\n"
           "Reader-writer locks by name, across machines, on a Redis or Valkey server.\n\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    printf(
        "\n`latchkey COMMAND --help` says more; the manual is latchkey(1), the model latchkey(7).\n"
        "The server is -u URL, LATCHKEY_URL, url of latchkey.conf(5), or else a private one of\n"
        "this user (local:).\n");
}

static int run(int count, char **words) {
    if (count < 2) {
        list_commands();
        return 0;
    }
    if (count > 2)
        return say_usage("one command at a time");
    bool of_help = strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0;
    const command *asked = command_find(of_help ? "help" : words[1]);
    if (!asked)
        return say_usage("there is no command %s", words[1]);
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
