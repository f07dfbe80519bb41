/* Faults of one server: it stops, ends, forgets, is full, or has a clock that is wrong. */
#include "draw.h"
#include "nemesis.h"

#include <signal.h>

/* ------------------------------------------------------------------------------ commands */

static bool tell_all(const attack *self, const char *command) {
    for (size_t i = 0; i < site_server_count(self->servers); i++)
        if (!site_tell(self->servers, i, command))
            return false;
    return true;
}

bool script_flush(attack *self) {
    return tell_all(self, "SCRIPT FLUSH");
}

/* The server refuses commands that need memory. */
bool memory_full(attack *self) {
    return tell_all(self, "CONFIG SET maxmemory 1");
}

bool memory_free(attack *self) {
    return tell_all(self, "CONFIG SET maxmemory 0");
}

/* ------------------------------------------------------------------------------ the process */

static test_server *server_of(const attack *self) {
    return site_server(self->servers, 0);
}

bool server_stop(attack *self) {
    test_server_pause(server_of(self));
    return true;
}

bool server_continue(attack *self) {
    test_server_continue(server_of(self));
    return true;
}

bool server_kill(attack *self) {
    test_server_end(server_of(self), SIGKILL);
    return true;
}

bool server_end(attack *self) {
    test_server_end(server_of(self), SIGTERM);
    return true;
}

bool server_restart(attack *self) {
    return test_server_start_again(server_of(self));
}

/* ------------------------------------------------------------------------------ the clock */

static void step_clock(attack *self, int64_t us) {
    test_server_step_clock(server_of(self), us);
    self->clock_us += us;
}

/*
 * The server may look at its clock once for all requests of a round: the second command is of
 * another round than the step.
 */
bool clock_forward(attack *self) {
    step_clock(self, 1000 * (int64_t)draw(&self->seed, draw(&self->seed, 4) ? 300 : 3000));
    return tell_all(self, "PING") && tell_all(self, "PING");
}

bool clock_back(attack *self) {
    step_clock(self, -1000 * (int64_t)draw(&self->seed, 300));
    return true;
}
