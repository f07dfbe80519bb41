/* Random harm to servers and networks; see harm.h. */
#include "harm.h"

atomic_int oddities;

void odd(const char *what, const char *word) {
    fprintf(stderr, "%s: %s: %s\n", what, word, lk_last_error());
    atomic_fetch_add(&oddities, 1);
}

void expect(lk_status status, const char *what, const lk_status *some, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (status == some[i])
            return;
    odd(what, lk_status_name(status));
}

int draw(unsigned *seed, int below) {
    return rand_r(seed) % below;
}

unsigned first_seed_of(int count, char **words) {
    unsigned seed = count > 1 ? (unsigned)strtoul(words[1], NULL, 10) : (unsigned)time(NULL);
    print_message("the seed is %u\n", seed);
    return seed;
}

/* ------------------------------------------------------------------------------ the server */

static const char *const keeps_data[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};

/* The connection of the probe breaks when the server ends. */
static int begin_with(test_server *started) {
    signal(SIGPIPE, SIG_IGN);
    return begin_world_of(started);
}

int begin_harmed_world(void **state) {
    (void)state;
    return begin_with(test_server_start(test_server_any(), keeps_data));
}

int begin_clocked_world(void **state) {
    (void)state;
    return begin_with(test_server_start_with_clock(test_server_any(), keeps_data));
}

void stop_server(int ms) {
    kill(test_server_pid(server), SIGSTOP);
    sleep_ms(ms);
    kill(test_server_pid(server), SIGCONT);
}

void pause_clients(int ms) {
    ask("CLIENT PAUSE %d", ms);
    sleep_ms(ms);
}

/* The server refuses commands that need memory. */
static void fill_server(int ms) {
    ask("CONFIG SET maxmemory 1");
    sleep_ms(ms);
    ask("CONFIG SET maxmemory 0");
}

static void restart_server(int with_signal, int ms) {
    test_server_end(server, with_signal);
    sleep_ms(ms);
    assert_true(test_server_start_again(server));
    assert_int_equal(redisReconnect(probe), REDIS_OK);
}

static void harm_server(int ms, unsigned *seed) {
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

void stall(proxy *net, proxy_kinds kinds, int ms, unsigned *seed) {
    proxy_directions directions = (proxy_directions)(1 + draw(seed, 3));
    proxy_pause(net, kinds, directions);
    sleep_ms(ms);
    if (draw(seed, 3) == 0)
        proxy_cut_all(net, kinds);
    proxy_resume(net, kinds, directions);
}

static void refuse(proxy *net, proxy_kinds kinds, int ms) {
    proxy_refuse(net, true);
    proxy_cut_all(net, kinds);
    sleep_ms(ms);
    proxy_refuse(net, false);
}

static void harm_by_command(int which) {
    if (which == 0)
        ask("SCRIPT FLUSH");
    else if (which == 1)
        ask("CLIENT KILL TYPE normal SKIPME yes");
    else
        ask("CLIENT KILL TYPE pubsub");
}

static void harm_network(proxy *net, int ms, unsigned *seed) {
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
        harm_by_command(draw(seed, 3));
        break;
    }
}

void do_harm(proxy *net, int long_ms, unsigned *seed) {
    int ms = draw(seed, 6) ? draw(seed, 60) : long_ms / 4 + draw(seed, long_ms);
    if (draw(seed, 4))
        harm_network(net, ms, seed);
    else
        harm_server(ms, seed);
    sleep_ms(draw(seed, 60));
}

void stop_harm(proxy *net) {
    proxy_cut_after_request(net, PROXY_ALL, 0);
    proxy_cut_before_request(net, PROXY_ALL, 0);
}

void take_once_more(lk_client *calm, const char *name) {
    lk_lock *lock = new_lock(calm, name);
    assert_ok(lk_timedwrlock(lock, LONG_MS));
    assert_ok(lk_wrunlock(lock));
    free_lock(lock);
}
