/*
 * What a network and a server can do to clients, drawn from a seed: connections cut at any moment,
 * stalled or refused, scripts forgotten; a server that stops, is full, or ends and starts again
 * with its data. And what the clients' calls may say then; threads note what they may not, and the
 * test looks at the end. Include after cmocka.h.
 */
#ifndef TEST_HARM_H
#define TEST_HARM_H

#include "faults_world.h"

static atomic_int oddities;

static inline void odd(const char *what, const char *word) {
    fprintf(stderr, "%s: %s: %s\n", what, word, lk_last_error());
    atomic_fetch_add(&oddities, 1);
}

static inline void expect(lk_status status, const char *what, const lk_status *some, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (status == some[i])
            return;
    odd(what, lk_status_name(status));
}

#define EXPECT(status, what, ...)                                           \
    do {                                                                    \
        static const lk_status expected[] = {__VA_ARGS__};                  \
        expect(status, what, expected, sizeof expected / sizeof *expected); \
    } while (0)

static inline int draw(unsigned *seed, int below) {
    return rand_r(seed) % below;
}

/* The argument of the program, or the time; told, so that a run can be repeated. */
static inline unsigned first_seed_of(int count, char **words) {
    unsigned seed = count > 1 ? (unsigned)strtoul(words[1], NULL, 10) : (unsigned)time(NULL);
    print_message("the seed is %u\n", seed);
    return seed;
}

/* ------------------------------------------------------------------------------ the server */

/* The world of a program whose server may be restarted: it keeps its data. */
static const char *const keeps_data[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};

static inline int begin_with(test_server *started) {
    alarm(PROGRAM_SECONDS);
    signal(SIGPIPE, SIG_IGN);
    assert_non_null(started);
    server = started;
    eye = look_into(server);
    return 0;
}

static inline int begin_harmed_world(void **state) {
    (void)state;
    return begin_with(test_server_start(test_server_any(), keeps_data));
}

/* The same, with a clock that can be stepped. */
static inline int begin_clocked_world(void **state) {
    (void)state;
    return begin_with(test_server_start_with_clock(test_server_any(), keeps_data));
}

static inline void stop_server(int ms) {
    kill(test_server_pid(server), SIGSTOP);
    nap_ms(ms);
    kill(test_server_pid(server), SIGCONT);
}

static inline void pause_clients(int ms) {
    char *command = test_print("CLIENT PAUSE %d", ms);
    ask(eye, command);
    free(command);
    nap_ms(ms);
}

/* It refuses what needs memory. */
static inline void fill_server(int ms) {
    ask(eye, "CONFIG SET maxmemory 1");
    nap_ms(ms);
    ask(eye, "CONFIG SET maxmemory 0");
}

static inline void restart_server(int with_signal, int ms) {
    test_server_end(server, with_signal);
    nap_ms(ms);
    assert_true(test_server_start_again(server));
    assert_int_equal(redisReconnect(eye), REDIS_OK);
}

static inline void harm_server(int ms, unsigned *seed) {
    switch (draw(seed, 4)) {
    case 0:
        stop_server(ms);
        break;
    case 1:
        pause_clients(ms);
        break;
    case 2:
        fill_server(ms);
        break;
    default:
        restart_server(draw(seed, 2) ? SIGTERM : SIGKILL, ms);
        break;
    }
}

/* ------------------------------------------------------------------------------ the network */

static inline void stall(proxy *net, proxy_kinds kinds, int ms, unsigned *seed) {
    proxy_directions directions = (proxy_directions)(1 + draw(seed, 3));
    proxy_pause(net, kinds, directions);
    nap_ms(ms);
    if (draw(seed, 3) == 0)
        proxy_cut_all(net, kinds);
    proxy_resume(net, kinds, directions);
}

static inline void refuse(proxy *net, proxy_kinds kinds, int ms) {
    proxy_refuse(net, true);
    proxy_cut_all(net, kinds);
    nap_ms(ms);
    proxy_refuse(net, false);
}

static inline void harm_network(proxy *net, int ms, unsigned *seed) {
    static const char *const commands[] = {"SCRIPT FLUSH", "CLIENT KILL TYPE normal SKIPME yes",
                                           "CLIENT KILL TYPE pubsub"};
    proxy_kinds kinds = (proxy_kinds)(1 + draw(seed, 3));
    switch (draw(seed, 6)) {
    case 0:
        proxy_cut_after_request(net, kinds, (size_t)(1 + draw(seed, 4)));
        break;
    case 1:
        proxy_cut_before_request(net, kinds, (size_t)(1 + draw(seed, 4)));
        break;
    case 2:
        proxy_cut_all(net, kinds);
        break;
    case 3:
        stall(net, kinds, ms, seed);
        break;
    case 4:
        refuse(net, kinds, ms);
        break;
    default:
        ask(eye, commands[draw(seed, 3)]);
        break;
    }
}

/* Once in a while for so long, as for the clients' patience or a lease to end. */
static inline void do_harm(proxy *net, int long_ms, unsigned *seed) {
    int ms = draw(seed, 6) ? draw(seed, 60) : long_ms / 4 + draw(seed, long_ms);
    if (draw(seed, 4))
        harm_network(net, ms, seed);
    else
        harm_server(ms, seed);
    nap_ms(draw(seed, 60));
}

/* Of the harm that has still to come. */
static inline void stop_harm(proxy *net) {
    proxy_cut_after_request(net, PROXY_ALL, 0);
    proxy_cut_before_request(net, PROXY_ALL, 0);
}

/* Everybody had it: what is still held goes, and so does the mark of lost writers. */
static inline void take_once_more(lk_client *calm, const char *name) {
    lk_lock *lock = new_lock(calm, name, 0);
    assert_status(lk_timedwrlock(lock, LONG_MS), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(lock);
}

#endif
