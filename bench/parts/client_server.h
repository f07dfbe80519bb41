/*
 * A bare connection to the server, and the server's own account of what it has done: its commands
 * (INFO commandstats) and its processor time. It knows nothing of locks.
 */
#ifndef BENCH_CLIENT_SERVER_H
#define BENCH_CLIENT_SERVER_H

#include <hiredis/hiredis.h>
#include <stdint.h>

/* The path of a socket, or host:port. */
redisContext *server_connect(const char *address);

/* One command, from its words; the reply is the caller's to free, and never an error. */
redisReply *server_ask(redisContext *, int count, const char **words);
redisReply *server_ask_bytes(redisContext *, int count, const char **words, const size_t *lengths);

typedef struct {
    uint64_t scripts, script_us; /* EVALSHA and EVAL, and the time in them */
    uint64_t commands;           /* that clients sent, scripts among them; looking is not counted */
    uint64_t published;          /* messages, from clients and from scripts */
    double cpu_s;                /* all of the server's threads, user and system */
} server_account;

server_account server_look(redisContext *);
server_account server_between(server_account before, server_account after);

/* "Redis 7.0.15"; to be freed. */
char *server_version(redisContext *);

#endif
