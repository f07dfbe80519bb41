/*
 * Processes take locks and watch each hold to its end, as in torture_processes_test.c, and the
 * clock of the server is stepped meanwhile.
 *
 * A step back makes leases longer, so holds still exclude each other. A lock that was free may draw
 * a fence that it had before, but no writer gets one that its client already knows.
 *
 * A step forward ends leases early in the server. So only a hold that lives through a step may
 * clash, and fences rise.
 *
 * In both no call hangs or returns a wrong status, and nothing is left. An argument is the seed;
 * without one it is drawn, and told.
 */
#include "torture_cast.h"

enum { PLAY_MS = 5000, OUTAGE_MS = 600, JUMPS_MOST = 500 };

static unsigned first_seed;
static history_span jumps[JUMPS_MOST];
static size_t jump_count;

static void step_back(unsigned *seed) {
    test_server_step_clock(server, -1000 * (int64_t)draw(seed, 300));
}

/*
 * The server may look at its clock once for all requests of a round: the second command is of
 * another round than the step.
 */
static void step_forward(unsigned *seed) {
    if (jump_count == JUMPS_MOST)
        return;
    jumps[jump_count].from_ns = history_now_ns();
    test_server_step_clock(server, 1000 * (int64_t)draw(seed, draw(seed, 4) ? 150 : 2000));
    ask("PING");
    ask("PING");
    jumps[jump_count++].to_ns = history_now_ns();
}

static void harm_beside_steps(proxy *net, unsigned *seed, void (*step)(unsigned *seed)) {
    int ms = draw_stall_ms(seed);
    switch (draw(seed, 8)) {
    case 0:
    case 1:
    case 2:
        step(seed);
        break;
    case 3:
        stop_server(ms);
        break;
    case 4:
        stop_player(2 * ms, seed);
        break;
    case 5:
        replace_player(net, seed);
        break;
    default:
        do_harm(net, OUTAGE_MS, seed);
        break;
    }
    sleep_ms(draw(seed, 200));
}

static void harm_and_step_back(proxy *net, unsigned *seed) {
    harm_beside_steps(net, seed, step_back);
}

static void harm_and_step_forward(proxy *net, unsigned *seed) {
    harm_beside_steps(net, seed, step_forward);
}

TEST(steps_back_never_break_exclusion) {
    unsigned seed = first_seed;
    run_play(PLAY_MS, harm_and_step_back, &seed);
    judge_play((history_rules){.clock_went_back = true});
}

TEST(steps_forward_break_only_what_lives_through_them_and_no_fence) {
    unsigned seed = first_seed;
    run_play(PLAY_MS, harm_and_step_forward, &seed);
    judge_play((history_rules){.jumps = jumps, .jump_count = jump_count});
}

int main(int count, char **words) {
    if (is_player(count, words))
        return player_main(words);
    first_seed = first_seed_of(count, words);
    return world_run(begin_clocked_world);
}
