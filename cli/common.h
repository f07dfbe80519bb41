/* The options that every subcommand has, and the client that they lead to. */
#ifndef CLI_COMMON_H
#define CLI_COMMON_H

#include "latchkey.h"
#include "options.h"

typedef struct {
    const char *url; /* NULL: LATCHKEY_URL, a configuration file, or local: */
    const char *prefix, *tls_ca, *tls_cert, *tls_key, *tls_server_name;
    bool json;       /* for those whose tables have it */
    const char *app; /* who we are, for others to see; NULL: the program's name */
    /* Called when the server is away: whether to try again. NULL: no. */
    bool (*retry)(void *retry_arg);
    void *retry_arg;
} common;

/* The end of each table of options. */
#define COMMON_OPTIONS                                                                       \
    {'u', "url", "URL", "the server; otherwise LATCHKEY_URL, latchkey.conf, or local:"},     \
        {0, "prefix", "TEXT", "of the keys; lk"},                                            \
        {0, "tls-ca", "FILE", "certificates to trust; the system's"},                        \
        {0, "tls-cert", "FILE", "our certificate"},                                          \
        {0, "tls-key", "FILE", "its key; in the file of the certificate"},                   \
        {0, "tls-server-name", "NAME", "that the server's certificate must have; the host"}, \
        {0, "verbose", NULL, "log to stderr"}, {'h', "help", NULL, "print this, and end"}, { \
        0, NULL, NULL, NULL                                                                  \
    }

/*
 * Takes an option of that part of the table, or --json; an option_taken. A password in the URL of the
 * command line is covered up there, where ps would show it.
 */
int common_taken(void *common, const option *, char *value);

/*
 * The server that the machine chooses where -u does not, and who said so; NULL with -u. 0, or the
 * code to end with: a configuration that cannot be used is said here, before anything is done.
 */
int common_defaults(const common *, lk_defaults **out);

/* A client of that server, and what there is to know of it. 0, or the code to end with. */
int common_open(const common *, lk_client **out);
int common_examine(const common *, lk_facts **out);

#endif
