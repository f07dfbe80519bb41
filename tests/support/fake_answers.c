/* What the fake server answers when neither a rule nor an upstream does. See fake_server.h. */
#include "fake_private.h"

#include <stdlib.h>
#include <string.h>

static void add(test_text *out, const char *raw) {
    test_text_add(out, raw, strlen(raw));
}

static void add_info(const fake_server *server, test_text *out) {
    char *info = test_print("# Server\r\nredis_version:7.0.15\r\nrun_id:%s\r\n\r\n"
                            "# Replication\r\nrole:master\r\n",
                            server->run_id);
    resp_add_bulk(out, info, strlen(info));
    free(info);
}

static void add_confirmation(test_text *out, const char *kind, const char *channel, size_t count) {
    add(out, "*3\r\n");
    resp_add_bulk(out, kind, strlen(kind));
    if (channel)
        resp_add_bulk(out, channel, strlen(channel));
    else
        add(out, "$-1\r\n");
    test_text_print(out, ":%zu\r\n", count);
}

static void unsubscribe(fake_connection *connection, const resp_command *command, test_text *out) {
    if (command->count < 2) {
        connection->channels = 0;
        add_confirmation(out, "unsubscribe", NULL, 0);
    }
    for (size_t i = 1; i < command->count; i++) {
        if (connection->channels > 0)
            connection->channels--;
        add_confirmation(out, "unsubscribe", command->words[i], connection->channels);
    }
}

void fake_answer(fake_connection *connection, const resp_command *command, test_text *out) {
    if (resp_command_matches(command, "PING"))
        add(out, connection->channels ? "*2\r\n$4\r\npong\r\n$0\r\n\r\n" : "+PONG\r\n");
    else if (resp_command_matches(command, "AUTH") || resp_command_matches(command, "SELECT") ||
             resp_command_matches(command, "CLIENT SETNAME"))
        add(out, "+OK\r\n");
    else if (resp_command_matches(command, "CLIENT ID"))
        test_text_print(out, ":%zu\r\n", connection->number);
    else if (resp_command_matches(command, "CLIENT KILL"))
        add(out, ":1\r\n");
    else if (resp_command_matches(command, "INFO"))
        add_info(connection->server, out);
    else if (resp_command_matches(command, "SUBSCRIBE *"))
        for (size_t i = 1; i < command->count; i++)
            add_confirmation(out, "subscribe", command->words[i], ++connection->channels);
    else if (resp_command_matches(command, "UNSUBSCRIBE"))
        unsubscribe(connection, command, out);
    else
        test_text_print(out, "-ERR unknown command '%s'\r\n", command->words[0]);
}
