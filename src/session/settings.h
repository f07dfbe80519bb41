/* The options of a client. client/settings.c checks and copies them; they never change after. */
#ifndef LKI_SESSION_SETTINGS_H
#define LKI_SESSION_SETTINGS_H

#include "net/transport.h"

typedef struct {
    char *prefix;
    char *who;             /* SPEC 10.1: "<pid> <host> <app>" */
    char *connection_name; /* for CLIENT LIST */
    char *tls_ca, *tls_cert, *tls_key, *tls_server_name;
    int64_t connect_timeout_ms, command_timeout_ms;
    int min_replicas; /* 0: a grant counts when the server has it */
    int64_t replica_timeout_ms;
    bool dispatch;
    lk_log_fn *log;
    void *log_arg;
} lki_settings;

lki_tls_files lki_settings_tls(const lki_settings *);

#endif
