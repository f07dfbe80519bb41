/*
 * The status of every call when the server refuses it for good. support/checked_calls.h checks
 * around every call that the header lists its status.
 */
#include "every_call.h"

enum { LONG_TIMEOUT_MS = 30000 }; /* a command_timeout_ms that no test waits for */

static const struct {
    const char *reply;
    lk_status status;
} refusals[] = {
    {"-READONLY You can't write against a read only replica.\r\n", LK_UNAVAILABLE},
    {"-NOPERM this user has no permissions to run this command\r\n", LK_DENIED},
    {"-MOVED 1 127.0.0.1:1\r\n", LK_UNSUPPORTED},
    {"-ERR unknown command 'EVALSHA'\r\n", LK_UNSUPPORTED},
    {"-WRONGTYPE this key is no lock\r\n", LK_INVALID},
    {"-LKDEPTH too many holds\r\n", LK_INVALID},
    {"-ODD the moon is full\r\n", LK_INTERNAL},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

static fake_server *fake;

static void fake_before_server(void) {
    fake = start_fake();
}

static void refuse(const char *reply) {
    for (size_t i = 0; i < EVERY_REQUEST; i++)
        fake_server_on(fake, every_request[i], FAKE_FOREVER, reply);
}

static void assert_refused(lk_status got, size_t refusal, const char *what) {
    if (got != refusals[refusal].status)
        fail_msg("%s, answered with %s, is %s: %s", what, refusals[refusal].reply,
                 lk_status_name(got), got ? lk_last_error() : "");
}

TEST_WITH(fake_before_server, every_call_says_what_a_refusal_means) {
    lk_client *client = open_fake(fake, LONG_TIMEOUT_MS);
    for (size_t i = 0; i < REFUSALS; i++) {
        for (size_t j = 0; j < EVERY_CALL; j++) {
            lk_lock *lock = lock_for(client, &every_call[j]);
            refuse(refusals[i].reply);
            assert_refused(make_call(&every_call[j], client, lock), i, every_call[j].name);
            fake_server_forget(fake);
            free_lock(lock);
            ask("FLUSHALL"); /* the refused releases would be repeated only later */
        }
    }
}

TEST_WITH(fake_before_server, every_callback_says_what_a_refusal_means) {
    lk_client *client = open_fake(fake, LONG_TIMEOUT_MS);
    for (size_t i = 0; i < REFUSALS; i++) {
        tally taken = {0}, given = {0};
        lk_lock *locks[] = {new_lock(client, "taken"), new_lock(client, "given")};
        assert_ok(lk_wrlock(locks[1]));
        refuse(refusals[i].reply);
        assert_ok(lk_acquire_async(locks[0], LK_WRITE, -1, tally_done, &taken));
        assert_ok(lk_release_async(locks[1], LK_WRITE, tally_done, &given));
        eventually(atomic_load(&taken.count) && atomic_load(&given.count));
        assert_refused(atomic_load(&taken.status), i, "lk_acquire_async");
        assert_refused(atomic_load(&given.status), i, "lk_release_async");
        fake_server_forget(fake);
        free_locks(locks, 2);
        ask("FLUSHALL");
    }
}

/* lk_examine() returns LK_OK where the user only lacks a right; lk_open() does not. */
TEST_WITH(fake_before_server, opening_says_what_a_refusal_means) {
    static const char *const requests[] = {"AUTH", "SELECT"};
    char *url = world_print("unix://:secret@%s?db=1", fake_server_socket(fake));
    for (size_t i = 0; i < REFUSALS; i++) {
        if (strncmp(refusals[i].reply, "-LK", 3) == 0)
            continue; /* an error of the scripts, and opening runs none */
        for (size_t j = 0; j < sizeof requests / sizeof *requests; j++) {
            lk_client *client = NULL;
            lk_facts *facts = NULL;
            fake_server_on(fake, "AUTH", FAKE_FOREVER, "+OK\r\n");
            fake_server_on(fake, requests[j], FAKE_FOREVER, refusals[i].reply);
            assert_refused(lk_open(url, NULL, &client), i, "lk_open");
            if (lk_examine(url, NULL, &facts) == LK_OK)
                assert_int_equal(refusals[i].status, LK_DENIED);
            lk_facts_free(facts);
            fake_server_forget(fake);
        }
    }
}

int main(void) {
    return world_run(begin_world);
}
