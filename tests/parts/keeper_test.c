/*
 * The keeper, with events of the test in place of handles: a kick is never lost, also when it comes
 * while the keeper is awake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "client/settings.h"
#include "session/session.h"
#include "world.h"

/* What the keeper finds; with the monitor held. */
typedef struct {
    lki_session session;
    unsigned rounds;    /* of the keeper */
    unsigned kicks;     /* that `due` is still to give */
    int64_t next_us;    /* when something is due */
    unsigned due_calls; /* since it was due */
} scene;

static int64_t next_due_us(const void *context) {
    return ((const scene *)context)->next_us;
}

static void due(void *context, int64_t now_us) {
    scene *self = context;
    self->rounds++;
    if (now_us >= self->next_us) {
        self->next_us = LKI_NEVER;
        self->due_calls++;
    }
    if (self->kicks) {
        self->kicks--;
        lki_keeper_kick(&self->session);
    }
}

static bool drain(void *context) {
    (void)context;
    return false;
}

static void ignore_server(void *context, lki_server *at) {
    (void)context;
    (void)at;
}

static const lki_session_events events = {.connected = ignore_server,
                                          .disconnected = ignore_server,
                                          .subscribed = ignore_server,
                                          .messages_missing = ignore_server,
                                          .next_due_us = next_due_us,
                                          .due = due,
                                          .drain = drain};

static void open_scene(scene *self) {
    lki_error error;
    lk_client_options options = {0};
    *self = (scene){.next_us = LKI_NEVER};
    lki_session_init(&self->session, &events, self);
    assert_int_equal(lki_settings_read(&options, &self->session.settings, &error), LK_OK);
    assert_int_equal(lki_topology_open(server_url, NULL, NULL, &self->session.topology, &error),
                     LK_OK);
    assert_int_equal(lki_session_open(&self->session, &error), LK_OK);
}

static void close_scene(scene *self) {
    lki_session *session = &self->session;
    lki_session_stop(session);
    pthread_mutex_lock(&session->monitor);
    session->closing = session->closed = true;
    lki_session_break(session);
    pthread_mutex_unlock(&session->monitor);
    lki_callbacks_stop(&session->callbacks);
    session->topology->methods->close(session->topology);
    lki_settings_clear(&session->settings);
    lki_session_free(session);
}

static unsigned read_field(scene *self, const unsigned *field) {
    pthread_mutex_lock(&self->session.monitor);
    unsigned value = *field;
    pthread_mutex_unlock(&self->session.monitor);
    return value;
}

static bool is_asleep(scene *self) {
    pthread_mutex_lock(&self->session.monitor);
    bool is = self->session.keeper.asleep;
    pthread_mutex_unlock(&self->session.monitor);
    return is;
}

TEST(a_kick_while_the_keeper_is_awake_is_another_round) {
    enum { KICKS = 5 };
    static scene self;
    open_scene(&self);
    eventually(is_asleep(&self));
    pthread_mutex_lock(&self.session.monitor);
    unsigned before = self.rounds;
    self.kicks = KICKS;
    lki_keeper_kick(&self.session);
    pthread_mutex_unlock(&self.session.monitor);
    eventually(read_field(&self, &self.rounds) >= before + 1 + KICKS);
    close_scene(&self);
}

TEST(a_sleeping_keeper_wakes_for_what_is_due_sooner) {
    static scene self;
    open_scene(&self);
    eventually(is_asleep(&self));
    pthread_mutex_lock(&self.session.monitor);
    self.next_us = lki_after_ms(lki_now_us(), 10);
    lki_keeper_due(&self.session, self.next_us);
    pthread_mutex_unlock(&self.session.monitor);
    eventually(read_field(&self, &self.due_calls) == 1);
    close_scene(&self);
}

int main(void) {
    return world_run(begin_world);
}
