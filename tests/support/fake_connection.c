/*
 * One connection of the fake server: commands in, decided one after the other, answers out. Knows
 * nothing of other connections. See fake_server.h.
 */
#include "fake_private.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_MS = 1 };

static socket_connection *open_connection(void *owner, int fd) {
    fake_server *server = owner;
    int upstream = server->upstream ? unix_connect(server->upstream) : -1;
    if (server->upstream && upstream < 0)
        return NULL;
    fake_connection *connection = test_alloc(1, sizeof *connection);
    connection->server = server;
    connection->number = server->loop.ever;
    connection->fd = fd;
    connection->upstream = upstream;
    return &connection->base;
}

static void close_connection(socket_connection *base) {
    fake_connection *connection = (fake_connection *)base;
    unix_close(connection->fd);
    unix_close(connection->upstream);
    free(connection->in.bytes);
    free(connection->out.bytes);
    free(connection->from_upstream.bytes);
    free(connection->to_upstream.bytes);
    free(connection);
}

bool fake_connection_listens(const fake_connection *connection) {
    return connection->subscribed && !connection->silent && !connection->closing &&
           !connection->client_gone;
}

static void say(fake_connection *connection, const char *bytes, size_t length) {
    if (!connection->silent && !connection->client_gone)
        test_text_add(&connection->out, bytes, length);
}

static void record(fake_connection *connection, const resp_command *command) {
    fake_received *received = test_alloc(1, sizeof *received);
    received->command = *command;
    *connection->server->record_end = received;
    connection->server->record_end = &received->next;
    if (connection->first)
        connection->last->next_queued = received;
    else
        connection->first = received;
    connection->last = received;
}

static void receive_commands(fake_connection *connection) {
    static const char error[] = "-ERR Protocol error\r\n";
    if (connection->client_gone)
        return;
    if (!unix_receive(connection->fd, &connection->in))
        connection->client_gone = true;
    size_t read = 0;
    while (read < connection->in.length && !connection->closing) {
        resp_command command;
        size_t length =
            resp_command_read(&command, connection->in.bytes + read, connection->in.length - read);
        if (length == 0)
            break;
        if (length == RESP_BROKEN) {
            say(connection, error, strlen(error));
            connection->closing = true;
            break;
        }
        record(connection, &command);
        read += length;
    }
    unix_text_cut(&connection->in, read);
}

/* The answer to the first command is complete. */
static void finish(fake_connection *connection) {
    const fake_received *done = connection->first;
    connection->first = done->next_queued;
    connection->closing = connection->closing || done->decision.then_drop;
}

static void say_answer(fake_connection *connection, const char *bytes, size_t length) {
    const fake_decision *decision = &connection->first->decision;
    if (decision->then_drop)
        return;
    if (decision->in_pieces)
        connection->in_pieces = true;
    say(connection, bytes, length);
}

static void receive_answers(fake_connection *connection) {
    test_text *from = &connection->from_upstream;
    bool connected = unix_receive(connection->upstream, from);
    size_t read = 0;
    while (read < from->length) {
        const char *value = from->bytes + read;
        size_t length = resp_value_length(value, from->length - read);
        if (length == 0)
            break;
        if (length == RESP_BROKEN)
            length = from->length - read;
        read += length;
        bool message = connection->subscribed && resp_is_message(value, length);
        if (message || connection->awaited == 0) {
            say(connection, value, length);
        } else {
            say_answer(connection, value, length);
            if (--connection->awaited == 0)
                finish(connection);
        }
    }
    unix_text_cut(from, read);
    if (!connected) {
        connection->first = NULL;
        connection->awaited = 0;
        connection->closing = true;
    }
}

/* Answers the first command, or sees to it that the upstream does. */
static void answer(fake_connection *connection) {
    const fake_received *first = connection->first;
    if (resp_command_subscribes(&first->command))
        connection->subscribed = true;
    if (!first->decision.reply && connection->upstream >= 0) {
        test_text_add(&connection->to_upstream, first->command.bytes, first->command.length);
        connection->awaited = resp_command_answers(&first->command);
        return;
    }
    test_text own = {0};
    if (first->decision.reply)
        test_text_add(&own, first->decision.reply, strlen(first->decision.reply));
    else
        fake_answer(connection, &first->command, &own);
    say_answer(connection, own.bytes, own.length);
    free(own.bytes);
    finish(connection);
}

static void advance(fake_connection *connection) {
    while (connection->first && !connection->awaited && !connection->closing &&
           !connection->silent) {
        fake_received *first = connection->first;
        fake_rules_decide(&connection->server->rules, &first->command, &first->decision);
        switch (first->decision.what) {
        case FAKE_UNDECIDED: /* not after fake_rules_decide */
        case FAKE_HELD:
            return;
        case FAKE_DROPPED:
            connection->closing = true;
            break;
        case FAKE_SILENCED:
            connection->silent = true;
            break;
        case FAKE_ANSWER:
            answer(connection);
            break;
        }
    }
}

static void send_all(fake_connection *connection) {
    if (connection->upstream >= 0)
        unix_send(connection->upstream, &connection->to_upstream, SIZE_MAX);
    if (connection->client_gone || connection->out.length == 0)
        return;
    size_t most = SIZE_MAX;
    if (connection->in_pieces)
        most = unix_all_read(connection->fd) ? 1 : 0;
    if (!unix_send(connection->fd, &connection->out, most))
        connection->client_gone = true;
    if (connection->out.length == 0)
        connection->in_pieces = false;
}

static int serve_connection(socket_connection *base) {
    fake_connection *connection = (fake_connection *)base;
    socket_loop *loop = &connection->server->loop;
    receive_commands(connection);
    if (connection->upstream >= 0)
        receive_answers(connection);
    advance(connection);
    send_all(connection);

    bool idle = !connection->first || connection->silent || connection->closing;
    if (connection->client_gone ? idle : connection->closing && connection->out.length == 0) {
        base->over = true;
        return -1;
    }
    bool more = connection->out.length > 0 && !connection->client_gone;
    if (!connection->client_gone)
        socket_loop_watch(loop, connection->fd, false);
    if (more && !connection->in_pieces)
        socket_loop_watch(loop, connection->fd, true);
    if (connection->upstream >= 0 && !connection->closing)
        socket_loop_watch(loop, connection->upstream, false);
    if (connection->to_upstream.length > 0)
        socket_loop_watch(loop, connection->upstream, true);
    return more && connection->in_pieces ? PIECE_MS : -1;
}

const socket_service fake_service = {open_connection, serve_connection, close_connection};
