/* See client_server.h. */
#include "client_server.h"

#include "client_figures.h"
#include "test_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisContext *connect_tcp(const char *address) {
    char host[64];
    int port;
    if (sscanf(address, "%63[^:]:%d", host, &port) != 2)
        bench_fail("%s: no host:port", address);
    return redisConnect(host, port);
}

redisContext *server_connect(const char *address) {
    redisContext *context = *address == '/' ? redisConnectUnix(address) : connect_tcp(address);
    if (!context || context->err)
        bench_fail("%s: %s", address, context ? context->errstr : "out of memory");
    return context;
}

redisReply *server_ask(redisContext *context, int count, const char **words) {
    return server_ask_bytes(context, count, words, NULL);
}

redisReply *server_ask_bytes(redisContext *context, int count, const char **words,
                             const size_t *lengths) {
    redisReply *reply = redisCommandArgv(context, count, words, lengths);
    if (!reply)
        bench_fail("%s: %s", words[0], context->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        bench_fail("%s: %s", words[0], reply->str);
    return reply;
}

static redisReply *ask_info(redisContext *context, const char *section) {
    const char *words[] = {"INFO", section};
    return server_ask(context, 2, words);
}

/*
 * The account has no column for who sent a command. So what the scripts run is left out by name:
 * no client sends these by itself, and a name that is missing here shows as a figure that is high.
 */
static bool is_from_a_script(const char *command) {
    static const char *const names[] = {
        "del",      "get",  "hget", "lrem",   "pexpireat",     "publish", "set",
        "setrange", "time", "zadd", "zcount", "zrangebyscore", "zrem",    "zrevrangebyscore",
        "zscore"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], command) == 0)
            return true;
    return false;
}

static void add_command(server_account *account, const char *line) {
    char name[32];
    uint64_t calls, us;
    if (sscanf(line, "cmdstat_%31[^:]:calls=%" SCNu64 ",usec=%" SCNu64, name, &calls, &us) != 3)
        return;
    if (strcmp(name, "publish") == 0)
        account->published += calls;
    if (strcmp(name, "info") == 0 || is_from_a_script(name))
        return;
    account->commands += calls;
    if (strcmp(name, "evalsha") == 0 || strcmp(name, "eval") == 0) {
        account->scripts += calls;
        account->script_us += us;
    }
}

static double cpu_of(const char *info) {
    double user = 0, system = 0;
    const char *user_at = strstr(info, "used_cpu_user:"),
               *system_at = strstr(info, "used_cpu_sys:");
    if (!user_at || sscanf(user_at, "used_cpu_user:%lf", &user) != 1 || !system_at ||
        sscanf(system_at, "used_cpu_sys:%lf", &system) != 1)
        bench_fail("the server does not tell its processor time");
    return user + system;
}

server_account server_look(redisContext *context) {
    server_account account = {0};
    redisReply *stats = ask_info(context, "commandstats");
    for (const char *line = stats->str; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        add_command(&account, line);
    }
    freeReplyObject(stats);
    redisReply *cpu = ask_info(context, "cpu");
    account.cpu_s = cpu_of(cpu->str);
    freeReplyObject(cpu);
    return account;
}

server_account server_between(server_account before, server_account after) {
    return (server_account){.scripts = after.scripts - before.scripts,
                            .script_us = after.script_us - before.script_us,
                            .commands = after.commands - before.commands,
                            .published = after.published - before.published,
                            .cpu_s = after.cpu_s - before.cpu_s};
}

char *server_version(redisContext *context) {
    redisReply *info = ask_info(context, "server");
    char version[32] = "of unknown version";
    const char *valkey = strstr(info->str, "valkey_version:");
    const char *redis = strstr(info->str, "redis_version:");
    const char *line = valkey ? valkey : redis;
    if (line)
        snprintf(version, sizeof version, "%.*s", (int)strcspn(strchr(line, ':') + 1, "\r\n"),
                 strchr(line, ':') + 1);
    freeReplyObject(info);
    return test_print("%s %s", valkey ? "Valkey" : "Redis", version);
}
