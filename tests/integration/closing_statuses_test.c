/*
 * What calls return that are pending when their client is closed: all that block, and all that call
 * back. That a status is one that the header lists for the function is checked around every call
 * (support/checked_calls.h).
 *
 * A fake server before the real one sees each request arrive, so that a test knows that a call is
 * pending before it closes the client.
 */
#include "every_call.h"
#include "fake_server.h"
#include "old_world.h"

enum { PATIENT_MS = 30000, HASTY_MS = 1000 }; /* command_timeout_ms: HASTY_MS is waited for */

typedef struct {
    const call_kind *kind;
    lk_lock *lock;
    pthread_t thread;
    lk_status status;
    char said[512];
} pending_call;

static fake_server *fake;
static lk_client *client; /* of `fake` */
static pending_call calls[EVERY_CALL];
static tally done;
static int begun; /* operations that call back */

static int set_up(void **state) {
    world_begin(state);
    fake = fake_server_start(test_server_socket(world_server));
    memset(&done, 0, sizeof done);
    begun = 0;
    return fake ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    fake_server_stop(fake); /* does nothing that it has held */
    return 0;
}

/* ------------------------------------------------------------------------------ beginning */

static void *run_call(void *context) {
    pending_call *self = context;
    self->status = make_call(self->kind, client, self->lock);
    snprintf(self->said, sizeof self->said, "%s", self->status ? lk_last_error() : "");
    return NULL;
}

/* Returns when the server has received it. */
static void begin(pending_call *self) {
    size_t before = requests_received(fake, self->kind);
    self->thread = thread_start(run_call, self);
    assert_eventually(requests_received(fake, self->kind) > before);
}

static void begin_async(lk_lock *lock) {
    for (int mode = LK_READ; mode <= LK_WRITE; mode++) {
        assert_ok(lk_acquire_async(lock, (lk_mode)mode, -1, tally_done, &done));
        assert_ok(lk_release_async(lock, (lk_mode)mode, tally_done, &done));
        begun += 2;
    }
}

static void hold_requests(void) {
    for (size_t i = 0; i < EVERY_REQUEST; i++)
        fake_server_hold(fake, every_request[i]);
}

static void put_off_requests(void) {
    for (size_t i = 0; i < EVERY_REQUEST; i++)
        fake_server_on(fake, every_request[i], FAKE_FOREVER, "-LOADING the data from disk\r\n");
}

/* Begins every call after `obstruct`, each on a handle of its own, and async ones behind it. */
static void begin_all(void (*obstruct)(void)) {
    for (size_t i = 0; i < EVERY_CALL; i++)
        calls[i] =
            (pending_call){.kind = &every_call[i], .lock = handle_for(client, &every_call[i])};
    obstruct();
    for (size_t i = 0; i < EVERY_CALL; i++) {
        begin(&calls[i]);
        begin_async(calls[i].lock);
    }
}

/* ------------------------------------------------------------------------------ closing */

static void *close_client(void *context) {
    lk_close(context);
    return NULL;
}

/* Returns when all calls have. */
static void close_meanwhile(void) {
    thread_join(thread_start(close_client, client));
    assert_int_equal(atomic_load(&done.count), begun);
    assert_int_equal(atomic_load(&done.with[LK_OK]), 0);
    for (size_t i = 0; i < EVERY_CALL; i++)
        if (calls[i].kind)
            thread_join(calls[i].thread);
}

static bool is_force(const pending_call *self) {
    return self->kind->of_client == call_force_release;
}

static void assert_returned(const pending_call *self, bool may_be_unavailable) {
    if (self->status == LK_CANCELED || (may_be_unavailable && self->status == LK_UNAVAILABLE))
        return;
    fail_msg("%s: %s: %s", self->kind->name, lk_status_name(self->status), self->said);
}

static void free_all(void) {
    for (size_t i = 0; i < EVERY_CALL; i++)
        lk_lock_free(calls[i].lock);
}

/* ------------------------------------------------------------------------------ the tests */

/* Each call ends by its own timeout or by the close, whichever comes first. */
static void closing_ends_every_call_that_the_server_does_not_answer(void **state) {
    (void)state;
    client = open_fake(fake, HASTY_MS);
    begin_all(hold_requests);
    close_meanwhile();
    for (size_t i = 0; i < EVERY_CALL; i++)
        assert_returned(&calls[i], true);
    free_all();
}

static void closing_ends_every_call_that_the_server_puts_off(void **state) {
    (void)state;
    client = open_fake(fake, HASTY_MS);
    begin_all(put_off_requests);
    close_meanwhile();
    for (size_t i = 0; i < EVERY_CALL; i++)
        assert_returned(&calls[i], true);
    free_all();
}

static void closing_ends_every_call_while_the_server_is_away(void **state) {
    (void)state;
    client = open_fake(fake, HASTY_MS);
    begin_all(hold_requests);
    fake_server_stop(fake);
    fake = NULL;
    close_meanwhile();
    for (size_t i = 0; i < EVERY_CALL; i++)
        assert_returned(&calls[i], true);
    free_all();
}

/* The client holds nothing, so the close need not wait for the server. */
static void closing_cancels_calls_about_other_clients_that_the_server_puts_off(void **state) {
    (void)state;
    lk_client *holder = open_client();
    lk_lock *held = handle_of(holder, "force_release");
    assert_ok(lk_wrlock(held));
    client = open_fake(fake, PATIENT_MS);
    put_off_requests();
    for (size_t i = 0; i < EVERY_CALL; i++) {
        bool is_about_others = every_call[i].of_client;
        calls[i] = (pending_call){.kind = is_about_others ? &every_call[i] : NULL};
        if (is_about_others)
            begin(&calls[i]);
    }
    close_meanwhile();
    for (size_t i = 0; i < EVERY_CALL; i++)
        if (calls[i].kind) /* a forced release may be on its way once more when the close comes */
            assert_returned(&calls[i], is_force(&calls[i]));
    assert_true(is_holder(holder, "force_release", held));
    lk_lock_free(held);
    lk_close(holder);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(closing_ends_every_call_that_the_server_does_not_answer),
        TEST(closing_ends_every_call_that_the_server_puts_off),
        TEST(closing_ends_every_call_while_the_server_is_away),
        TEST(closing_cancels_calls_about_other_clients_that_the_server_puts_off),
    };
    return world_main(argc, argv, tests);
}
