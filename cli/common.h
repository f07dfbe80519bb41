/* The options that every subcommand has, and the client that they lead to. */
#ifndef CLI_COMMON_H
#define CLI_COMMON_H

#include "latchkey.h"
#include "options.h"

typedef struct {
    const char *url; /* NULL: LATCHKEY_URL, a configuration file, or local: */
    const char *prefix, *tls_ca, *tls_cert, *tls_key, *tls_server_name;
    bool json;       /* only for subcommands that have --json */
    const char *app; /* the name that other clients see; NULL: the program's name */
    /* Called when the server cannot be reached. True: try again. NULL: never. */
    bool (*retry)(void *retry_arg);
    void *retry_arg;
} common;

/* Each table of options ends with these. */
#define COMMON_OPTIONS                                                                             \
    {'u', "url", "URL", "the server. Default: LATCHKEY_URL, latchkey.conf, or local:"},            \
        {0, "prefix", "TEXT", "the prefix of all keys in the server. Default: lk"},                \
        {0, "tls-ca", "FILE", "the certificates to trust. Default: the system's"},                 \
        {0, "tls-cert", "FILE", "the client certificate"},                                         \
        {0, "tls-key", "FILE", "the client key. Default: in the file of --tls-cert"},              \
        {0, "tls-server-name", "NAME", "the name in the server's certificate. Default: the host"}, \
        {0, "verbose", NULL, "log to stderr"}, {'h', "help", NULL, "print this help"}, {           \
        0, NULL, NULL, NULL                                                                        \
    }

/*
 * The option_handler for COMMON_OPTIONS and --json. It overwrites a password in the URL on the
 * command line, where ps(1) would show it.
 */
int common_take_option(void *common, const option *, char *value);

/*
 * The server that the environment or the configuration chooses, and where it is set. *out is NULL
 * with -u. Returns 0, or the exit code. Reports a configuration that is not valid.
 */
int common_defaults(const common *, lk_defaults **out);

/* Opens a client, or reads the facts about the server. Returns 0, or the exit code. */
int common_open(const common *, lk_client **out);
int common_examine(const common *, lk_facts **out);

#endif
