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

/* All clients of a master, also sentinels. Replicas stay. */
bool clients_cut(attack *self) {
    return attack_aim(self) &&
           site_tell(self->servers, (size_t)self->target, "CLIENT KILL TYPE pubsub") &&
           site_tell(self->servers, (size_t)self->target, "CLIENT KILL TYPE normal");
}

/* ------------------------------------------------------------------------------ the process */

static test_server *target_of(const attack *self) {
    return site_server(self->servers, (size_t)self->target);
}

bool server_stop(attack *self) {
    if (!attack_aim(self))
        return false;
    test_server_pause(target_of(self));
    return true;
}

bool server_continue(attack *self) {
    test_server_continue(target_of(self));
    return attack_settle(self);
}

bool server_kill(attack *self) {
    if (!attack_aim(self))
        return false;
    test_server_end(target_of(self), SIGKILL);
    return true;
}

bool server_end(attack *self) {
    if (!attack_aim(self))
        return false;
    test_server_end(target_of(self), SIGTERM);
    return true;
}

bool server_restart(attack *self) {
    return test_server_start_again(target_of(self)) && attack_settle(self);
}

/* ------------------------------------------------------------------------------ the clock */

static bool step_clock(attack *self, int64_t ms) {
    if (!attack_aim(self))
        return false;
    test_server_step_clock(target_of(self), ms * 1000);
    return true;
}

/*
 * The server may look at its clock once for all requests of a round: the second command is of
 * another round than the step.
 */
bool clock_forward(attack *self) {
    return step_clock(self, draw(&self->seed, draw(&self->seed, 4) ? 300 : 3000)) &&
           tell_all(self, "PING") && tell_all(self, "PING");
}

bool clock_back(attack *self) {
    return step_clock(self, -draw(&self->seed, 300));
}
