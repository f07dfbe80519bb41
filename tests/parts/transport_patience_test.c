/* Reading that waits: it looks again for a while before it sleeps, and learns where that is in vain. */
#include "transport_world.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

enum { READS = 300, LOOK_NS = 10000, LOOKS = 6 /* as long as it does */, MOST_UNLOOKED = 255 };

/* ------------------------------------------------------------------- in place of the C library's */

static int looks;           /* in which there was nothing */
static int answers_at_look; /* at that one the peer answers; 0: not before the reader sleeps */
static int closes_at_look;  /* or closes */
static bool interrupted;    /* a signal comes while the reader sleeps */
static bool answers_signal; /* and so does the answer */
static int peer_fd;
static struct timespec now = {.tv_sec = 1};

int clock_gettime(clockid_t clock, struct timespec *out) {
    (void)clock;
    *out = now;
    return 0;
}

static void let_peer_answer(void) {
    assert_int_equal(send(peer_fd, "x", 1, 0), 1);
}

int sched_yield(void) {
    looks++;
    now.tv_nsec += LOOK_NS;
    if (now.tv_nsec >= 1000000000)
        now = (struct timespec){.tv_sec = now.tv_sec + 1};
    if (looks == answers_at_look)
        let_peer_answer();
    if (looks == closes_at_look)
        close(peer_fd);
    return 0;
}

ssize_t recv(int fd, void *buffer, size_t size, int flags) {
    if (flags == 0 && interrupted) {
        if (answers_signal)
            let_peer_answer();
        errno = EINTR;
        return -1;
    }
    if (flags == 0) /* it would sleep */
        let_peer_answer();
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}

/* ---------------------------------------------------------------------------------------- tests */

typedef struct {
    test_peer peer;
    lki_transport *transport;
} fixture;

static int set_up(void **state) {
    static fixture made;
    made.peer = listen_on_path();
    made.transport = open_to(&made.peer, &peer_fd);
    answers_at_look = closes_at_look = 0;
    interrupted = answers_signal = false;
    *state = &made;
    return 0;
}

static int tear_down(void **state) {
    fixture *made = *state;
    lki_transport_close(made->transport);
    if (closes_at_look == 0)
        close(peer_fd);
    stop(&made->peer);
    return 0;
}

static ssize_t read_byte(fixture *at, lki_error *error) {
    char byte;
    looks = 0;
    return lki_transport_read_patiently(at->transport, &byte, 1, error);
}

static int looks_of_a_read(fixture *at) {
    lki_error error;
    assert_int_equal(read_byte(at, &error), 1);
    return looks;
}

static void what_is_there_is_read_without_looking_twice(void **state) {
    let_peer_answer();
    assert_int_equal(looks_of_a_read(*state), 0);
}

static void an_answer_that_comes_soon_is_read_without_sleeping(void **state) {
    answers_at_look = 1;
    assert_int_equal(looks_of_a_read(*state), 1);
}

static void an_answer_that_does_not_come_soon_is_slept_for(void **state) {
    assert_int_equal(looks_of_a_read(*state), LOOKS);
}

/* Of reads that all have to sleep: how many do not look before the next that does. */
static int unlooked_until_next_look(fixture *at) {
    int unlooked = 0;
    while (looks_of_a_read(at) == 0)
        unlooked++;
    return unlooked;
}

static void looking_in_vain_is_done_less_and_less_often(void **state) {
    int expected = 0;
    for (int read = 0; read < READS; read += expected + 1) {
        assert_int_equal(unlooked_until_next_look(*state), expected);
        expected = expected < MOST_UNLOOKED ? 2 * expected + 1 : MOST_UNLOOKED;
    }
    assert_int_equal(unlooked_until_next_look(*state), MOST_UNLOOKED);
}

static void a_success_makes_good_for_all_that_was_in_vain(void **state) {
    for (int i = 0; i < 4; i++)
        unlooked_until_next_look(*state);
    answers_at_look = 1;
    unlooked_until_next_look(*state);
    assert_int_equal(looks_of_a_read(*state), 1);
    answers_at_look = 0;
    assert_int_equal(looks_of_a_read(*state), LOOKS);
    assert_int_equal(unlooked_until_next_look(*state), 1);
}

static void a_connection_that_ends_while_one_looks_is_broken(void **state) {
    lki_error error = {0};
    closes_at_look = 1;
    assert_int_equal(read_byte(*state, &error), LKI_BROKEN);
    assert_int_equal(error.status, LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "closed"));
}

/* Signals that come again and again must not keep it from looking at its time. */
static void a_signal_ends_the_sleep(void **state) {
    lki_error error;
    interrupted = true;
    assert_int_equal(read_byte(*state, &error), LKI_WOULD_BLOCK);
    answers_signal = true;
    assert_int_equal(read_byte(*state, &error), 1);
}

static void what_was_put_back_is_read_first(void **state) {
    fixture *at = *state;
    char bytes[4];
    lki_error error;
    let_peer_answer();
    assert_int_equal(lki_transport_put_back(at->transport, "ab", 2, &error), LK_OK);
    assert_int_equal(lki_transport_read_patiently(at->transport, bytes, sizeof bytes, &error), 2);
    assert_memory_equal(bytes, "ab", 2);
    assert_int_equal(lki_transport_read_patiently(at->transport, bytes, sizeof bytes, &error), 1);
    assert_memory_equal(bytes, "x", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_there_is_read_without_looking_twice, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answer_that_comes_soon_is_read_without_sleeping, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answer_that_does_not_come_soon_is_slept_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(looking_in_vain_is_done_less_and_less_often, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_success_makes_good_for_all_that_was_in_vain, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_connection_that_ends_while_one_looks_is_broken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_sleep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_put_back_is_read_first, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
