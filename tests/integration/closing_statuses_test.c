/*
 * The statuses of calls that are pending when their client is closed: of every blocking call, and
 * of async calls. support/checked_calls.h checks around every call that the header lists its
 * status.
 *
 * A fake server before the real one sees each request arrive, so that a test knows that a call is
 * pending before it closes the client.
 */
#include "every_call.h"

/* Each command_timeout_ms: the tests wait for the short one, and not for the long one. */
enum { SHORT_TIMEOUT_MS = 1000, LONG_TIMEOUT_MS = 30000 };

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

static void fake_before_server(void) {
    fake = start_fake();
    memset(&done, 0, sizeof done);
    begun = 0;
}

/* ------------------------------------------------------------------------------ beginning */

static void *run_call(void *context) {
    pending_call *self = context;
    self->status = make_call(self->kind, client, self->lock);
    snprintf(self->said, sizeof self->said, "%s", self->status ? lk_last_error() : "");
    return NULL;
}

/* Returns when the server has received the request. */
static void begin(pending_call *self) {
    size_t before = requests_received(fake, self->kind);
    self->thread = thread_start(run_call, self);
    eventually(requests_received(fake, self->kind) > before);
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

/* Begins every call after `obstruct`, each on a lock of its own, and async calls behind each. */
static void begin_all(void (*obstruct)(void)) {
    for (size_t i = 0; i < EVERY_CALL; i++)
        calls[i] = (pending_call){.kind = &every_call[i], .lock = lock_for(client, &every_call[i])};
    obstruct();
    for (size_t i = 0; i < EVERY_CALL; i++) {
        begin(&calls[i]);
        begin_async(calls[i].lock);
    }
}

/* ------------------------------------------------------------------------------ closing */

/* Closes the client, and returns when all calls have returned. */
static void close_meanwhile(void) {
    close_bounded(client);
    assert_int_equal(atomic_load(&done.count), begun);
    assert_int_equal(atomic_load(&done.with[LK_OK]), 0);
    for (size_t i = 0; i < EVERY_CALL; i++)
        if (calls[i].kind)
            thread_join(calls[i].thread);
}

static void assert_returned(const pending_call *self, bool may_be_unavailable) {
    if (self->status == LK_CANCELED || (may_be_unavailable && self->status == LK_UNAVAILABLE))
        return;
    fail_msg("%s: %s: %s", self->kind->name, lk_status_name(self->status), self->said);
}

/* ------------------------------------------------------------------------------ the tests */

/* Each call ends by its own timeout or by the close, whichever comes first. */
TEST_WITH(fake_before_server, closing_ends_every_call_that_the_server_does_not_answer) {
    client = open_fake(fake, SHORT_TIMEOUT_MS);
    begin_all(hold_requests);
    close_meanwhile();
    for (size_t i = 0; i < EVERY_CALL; i++)
        assert_returned(&calls[i], true);
}

TEST_WITH(fake_before_server, closing_ends_every_call_that_the_server_puts_off) {
    client = open_fake(fake, SHORT_TIMEOUT_MS);
    begin_all(put_off_requests);
    close_meanwhile();
    for (size_t i = 0; i < EVERY_CALL; i++)
        assert_returned(&calls[i], true);
}

TEST_WITH(fake_before_server, closing_ends_every_call_while_the_server_is_away) {
    client = open_fake(fake, SHORT_TIMEOUT_MS);
    begin_all(hold_requests);
    stop_fake(fake);
    close_meanwhile();
    for (size_t i = 0; i < EVERY_CALL; i++)
        assert_returned(&calls[i], true);
}

/* The client holds nothing, so the close need not wait for the server. */
TEST_WITH(fake_before_server, closing_cancels_calls_about_other_clients_that_the_server_puts_off) {
    lk_client *holder = open_client();
    lk_lock *held = new_lock(holder, "force_release");
    assert_ok(lk_wrlock(held));
    client = open_fake(fake, LONG_TIMEOUT_MS);
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
            assert_returned(&calls[i], is_forced_release(calls[i].kind));
    assert_true(is_holder(holder, "force_release", held));
}

int main(void) {
    return world_run(begin_world);
}
