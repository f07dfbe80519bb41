/* See common.h. */
#include "common.h"

#include "exits.h"
#include "say.h"
#include "sentence.h"

#include <stdlib.h>
#include <string.h>

/* The library gets a copy, since the word on the command line is overwritten. */
static const char *take_url(char *word) {
    static char *copy;
    free(copy);
    copy = strdup(word);
    cover_passwords(word, "");
    return copy;
}

int common_take_option(void *arg, const option *row, char *value) {
    common *self = arg;
    const char **texts[] = {&self->prefix, &self->tls_ca, &self->tls_cert, &self->tls_key,
                            &self->tls_server_name};
    static const char *const names[] = {"prefix", "tls-ca", "tls-cert", "tls-key",
                                        "tls-server-name"};
    if (option_is(row, "url")) {
        self->url = take_url(value);
        return self->url ? 0 : say_failure(EXIT_BROKEN, "out of memory");
    } else if (option_is(row, "verbose")) {
        say_set_verbose(true);
    } else if (option_is(row, "json")) {
        self->json = true;
    } else if (option_is(row, "help")) {
        return CODE_HELP;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (option_is(row, names[i]))
            *texts[i] = value;
    return 0;
}

static lk_client_options client_options(const common *self) {
    return (lk_client_options){.app = self->app,
                               .prefix = self->prefix,
                               .tls_ca = self->tls_ca,
                               .tls_cert = self->tls_cert,
                               .tls_key = self->tls_key,
                               .tls_server_name = self->tls_server_name,
                               .log = say_is_verbose() ? say_log : NULL};
}

int common_defaults(const common *self, lk_defaults **out) {
    *out = NULL;
    if (self->url)
        return 0;
    lk_status status = lk_defaults_read(out);
    if (status == LK_INVALID)
        return say_failure(EXIT_CONFIGURATION, "%s", lk_last_error());
    return status == LK_OK ? 0 : say_status(status);
}

static int check_configuration(const common *self) {
    lk_defaults *found;
    int code = common_defaults(self, &found);
    lk_defaults_free(found);
    return code;
}

/* With -u no file is read, and a variable counts as a part of the command line. */
static int report(const common *self, lk_status status) {
    bool is_configuration = status == LK_INVALID && !self->url &&
                            sentence_is_about_configuration(lk_last_error());
    int code = say_status(status);
    return is_configuration ? EXIT_CONFIGURATION : code;
}

int common_open(const common *self, lk_client **out) {
    lk_client_options options = client_options(self);
    int code = check_configuration(self);
    if (code != 0)
        return code;
    lk_status status;
    do {
        status = lk_open(self->url, &options, out);
    } while (status == LK_UNAVAILABLE && self->retry && self->retry(self->retry_arg));
    return status == LK_OK ? 0 : report(self, status);
}

int common_examine(const common *self, lk_facts **out) {
    lk_client_options options = client_options(self);
    int code = check_configuration(self);
    if (code != 0)
        return code;
    lk_status status = lk_examine(self->url, &options, out);
    return status == LK_OK ? 0 : report(self, status);
}
