/*
 * Processes take locks with short leases, and watch each hold to its very end, while all kinds of
 * harm come to them: the server stalls for about a lease, ends and starts again with its data, is
 * full; the network fails; processes are stopped for longer than a lease, or killed and replaced;
 * the processors are busy. Two holds that exclude each other are never valid at one instant, fences
 * rise, no call hangs or returns a wrong status, and nothing is left.
 *
 * The argument of the program is the seed. Default: the time.
 */
#include "torture_cast.h"

enum { PLAY_MS = 9000, OUTAGE_MS = 600 };

static unsigned first_seed;

static void harm_all(proxy *net, unsigned *seed) {
    int ms = draw_stall_ms(seed);
    switch (draw(seed, 9)) {
    case 0:
    case 1:
        stop_server(ms);
        break;
    case 2:
        pause_clients(ms);
        break;
    case 3:
        stall(net, PROXY_ALL, ms, seed);
        break;
    case 4:
        replace_player(net, seed);
        break;
    case 5:
    case 6:
        stop_player(2 * ms, seed);
        break;
    default:
        do_harm(net, OUTAGE_MS, seed);
        break;
    }
    sleep_ms(draw(seed, 200));
}

TEST(holds_of_processes_exclude_each_other_whatever_happens_to_them) {
    unsigned seed = first_seed;
    run_play(PLAY_MS, harm_all, &seed);
    judge_play((history_rules){0});
}

int main(int count, char **words) {
    if (is_player(count, words))
        return player_main(words);
    first_seed = first_seed_of(count, words);
    return world_run(begin_harmed_world);
}
