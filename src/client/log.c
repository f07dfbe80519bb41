/* Log lines are user code's to write, so they go the way of callbacks. */
#include "base/memory.h"
#include "client/client.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct {
    lki_callback callback;
    lk_log_fn *log;
    void *arg;
    lk_log_level level;
    char text[LKI_ERROR_MOST];
} log_line;

static void write_line(lki_callback *callback) {
    log_line *line = (log_line *)(void *)callback;
    line->log(line->level, line->text, line->arg);
    lki_free(line);
}

void lki_log(lk_client *client, lk_log_level level, const char *format, ...) {
    if (!client->settings.log)
        return;
    log_line *line = lki_new(sizeof *line);
    if (!line)
        return; /* a line of a log is not worth failing for */
    line->callback.run = write_line;
    line->log = client->settings.log;
    line->arg = client->settings.log_arg;
    line->level = level;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
    lki_text_tame(line->text);
    lki_callbacks_add(&client->callbacks, &line->callback);
}
