/*
 * A server that is away when `run` starts: it is tried again as long as the options permit, and
 * somebody is told. No signal is blocked yet, so that each ends this as usual.
 */
#include "duration.h"
#include "moment.h"
#include "run.h"
#include "say.h"

#include <poll.h>
#include <unistd.h>

enum { PAUSE_LEAST_MS = 50, PAUSE_MOST_MS = 1000 };

static void tell(run_opening *self) {
    char waited[DURATION_SIZE];
    if (isatty(STDERR_FILENO))
        run_line_put("waiting for the server, for %s: %s",
                     duration_write(moment_ms() - self->began_ms, waited), lk_last_error());
    else if (!self->pause_ms)
        say_failure(0, "waiting for the server: %s", lk_last_error());
}

bool run_opening_goes_on(void *arg) {
    run_opening *self = arg;
    int64_t left_ms = self->until_ms - moment_ms();
    if (left_ms <= 0) {
        run_line_clear();
        return false;
    }
    tell(self);
    self->pause_ms = self->pause_ms ? 2 * self->pause_ms : PAUSE_LEAST_MS;
    if (self->pause_ms > PAUSE_MOST_MS)
        self->pause_ms = PAUSE_MOST_MS;
    poll(NULL, 0, (int)(left_ms < self->pause_ms ? left_ms : self->pause_ms));
    return true;
}
