/*
 * What a network and a server can do to clients, drawn from a seed: connections cut at any moment,
 * stalled or refused, scripts forgotten. And what the clients' calls may say then; threads note what
 * they may not, and the test looks at the end. Include after cmocka.h.
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

/* Once in a while for so long, as for the clients' patience or a lease to end. */
static inline void do_harm(proxy *net, int long_ms, unsigned *seed) {
    static const char *const commands[] = {"SCRIPT FLUSH", "CLIENT KILL TYPE normal SKIPME yes",
                                           "CLIENT KILL TYPE pubsub", "CLIENT PAUSE 50"};
    proxy_kinds kinds = (proxy_kinds)(1 + draw(seed, 3));
    int ms = draw(seed, 6) ? draw(seed, 60) : long_ms / 4 + draw(seed, long_ms);
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
        ask(eye, commands[draw(seed, 4)]);
        break;
    }
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
