/* Processes full of holders, and their director; see torture_cast.h. */
#include "torture_cast.h"

#include <spawn.h>
#include <sys/prctl.h>

enum { PLAYERS = 4, BUSY_ONES = 2, PLAYER_CLIENTS = 2, PLAYER_THREADS = 4 };
enum { PLAYER_PATIENCE_MS = 400, PLAYER_EXIT_ODD = 3, HISTORY_ROOM = 100000 };

static history *past;

typedef struct {
    pid_t pid; /* 0: there is none */
    int64_t stopped_until_ms;
} player;

static player players[PLAYERS];
static pid_t busy_ones[BUSY_ONES];

/* ------------------------------------------------------------------------------ as a player */

/* Retries while the server is away. NULL: the play is over. */
static lk_client *player_open(history *shared, const char *socket) {
    lk_client_options options = {.command_timeout_ms = PLAYER_PATIENCE_MS,
                                 .connect_timeout_ms = PLAYER_PATIENCE_MS};
    char *url = test_print("unix://%s", socket);
    lk_client *client = NULL;
    while (!client && !history_is_over(shared))
        EXPECT(lk_open(url, &options, &client), "opening", LK_OK, LK_UNAVAILABLE);
    free(url);
    return client;
}

static int play(history *shared, const char *socket, unsigned seed) {
    lk_client *clients[PLAYER_CLIENTS] = {0};
    holder holders[PLAYER_CLIENTS][PLAYER_THREADS];
    for (unsigned c = 0; c < PLAYER_CLIENTS; c++) {
        clients[c] = player_open(shared, socket);
        unsigned number = history_new_client(shared);
        for (unsigned t = 0; t < PLAYER_THREADS && clients[c]; t++) {
            holder *self = &holders[c][t];
            *self = (holder){.past = shared,
                             .client = clients[c],
                             .number = number,
                             .name = t % HOLDER_LOCKS,
                             .seed = seed + c * 7919 + t * 104729};
            if (pthread_create(&self->thread, NULL, holder_run, self) != 0)
                abort();
        }
    }
    for (unsigned c = 0; c < PLAYER_CLIENTS; c++) {
        for (unsigned t = 0; t < PLAYER_THREADS && clients[c]; t++)
            pthread_join(holders[c][t].thread, NULL);
        lk_close(clients[c]);
    }
    return atomic_load(&oddities) ? PLAYER_EXIT_ODD : 0;
}

/* `words`: the program, "--player", its parent, the history, the socket, the seed. */
int player_main(char **words) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)strtol(words[2], NULL, 10)) /* it died before the line above */
        return 1;
    signal(SIGPIPE, SIG_IGN);
    alarm(PROGRAM_SECONDS);
    history *shared = history_open(words[3]);
    if (!shared)
        return 2;
    int result = 0;
    if (*words[4])
        result = play(shared, words[4], (unsigned)strtoul(words[5], NULL, 10));
    else
        while (!history_is_over(shared)) {} /* it keeps a processor busy */
    history_free(shared);
    return result;
}

bool is_player(int count, char **words) {
    return count == 6 && strcmp(words[1], "--player") == 0;
}

/* ------------------------------------------------------------------------------ the director */

/* socket: "" for one that only keeps a processor busy. */
static pid_t start_player(const char *socket, unsigned seed) {
    pid_t pid;
    char *words[] = {world_print("/proc/self/exe"),
                     world_print("--player"),
                     world_print("%d", (int)getpid()),
                     world_print("%s", history_path(past)),
                     world_print("%s", socket),
                     world_print("%u", seed),
                     NULL};
    assert_int_equal(posix_spawn(&pid, words[0], NULL, NULL, words, environ), 0);
    return pid;
}

/* Every second player is behind the proxy. */
static void cast_player(size_t index, proxy *net, unsigned *seed) {
    const char *socket = index % 2 ? test_server_socket(server) : proxy_socket(net);
    players[index] = (player){.pid = start_player(socket, (unsigned)rand_r(seed))};
}

static void begin_players(proxy *net, unsigned *seed) {
    past = history_new(HISTORY_ROOM);
    for (size_t i = 0; i < PLAYERS; i++)
        cast_player(i, net, seed);
    for (size_t i = 0; i < BUSY_ONES; i++)
        busy_ones[i] = start_player("", 0);
}

void replace_player(proxy *net, unsigned *seed) {
    size_t index = (size_t)draw(seed, PLAYERS);
    int status;
    kill(players[index].pid, SIGKILL);
    assert_int_equal(waitpid(players[index].pid, &status, 0), players[index].pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("player %zu ended by itself: %x", index, (unsigned)status);
    cast_player(index, net, seed);
}

/* continue_players() lets it go on after that time. */
void stop_player(int ms, unsigned *seed) {
    player *one = &players[draw(seed, PLAYERS)];
    kill(one->pid, SIGSTOP);
    one->stopped_until_ms = now_ms() + ms;
}

static void continue_players(int64_t now_ms) {
    for (size_t i = 0; i < PLAYERS; i++) {
        if (players[i].stopped_until_ms && players[i].stopped_until_ms <= now_ms) {
            kill(players[i].pid, SIGCONT);
            players[i].stopped_until_ms = 0;
        }
    }
}

static void end_player(pid_t *pid, const char *what) {
    int status = -1;
    eventually(waitpid(*pid, &status, WNOHANG) == *pid);
    *pid = 0;
    if (status != 0)
        fail_msg("%s ended with %x", what, (unsigned)status);
}

/* Fails the test if a player hangs. */
static void end_players(void) {
    continue_players(INT64_MAX);
    history_end(past);
    for (size_t i = 0; i < PLAYERS; i++)
        end_player(&players[i].pid, "a player");
    for (size_t i = 0; i < BUSY_ONES; i++)
        end_player(&busy_ones[i], "a busy one");
}

/* Marks of lost writers may be left; they go with the next writer. */
static void assert_locks_gone(void) {
    lk_client *calm = open_client_at(test_server_socket(server), PATIENT_MS);
    for (size_t i = 0; i < HOLDER_LOCKS; i++)
        take_once_more(calm, holder_names[i]);
    eventually(is_empty());
}

/* ------------------------------------------------------------------------------ the play */

int draw_stall_ms(unsigned *seed) {
    int lease_ms = (int)holder_leases_ms[draw(seed, HOLDER_LOCKS)];
    return draw(seed, 3) ? lease_ms - 15 + draw(seed, 30) : draw(seed, 3 * lease_ms);
}

static void kill_if_there(pid_t *pid) {
    if (!*pid)
        return;
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

/* A test that failed leaves players behind. */
static void clear_stage(void) {
    for (size_t i = 0; i < PLAYERS; i++)
        kill_if_there(&players[i].pid);
    for (size_t i = 0; i < BUSY_ONES; i++)
        kill_if_there(&busy_ones[i]);
    history_free(past);
    past = NULL;
}

void run_play(int64_t ms, void (*harm)(proxy *, unsigned *seed), unsigned *seed) {
    proxy *net = start_proxy();
    run_after_closing(clear_stage);
    begin_players(net, seed);
    for (int64_t end_ms = now_ms() + ms; now_ms() < end_ms;) {
        continue_players(now_ms());
        harm(net, seed);
    }
    stop_harm(net);
    end_players();
    assert_locks_gone();
}

void judge_play(history_rules rules) {
    size_t count, watched = 0;
    history_hold *holds = history_read(past, &count);
    for (size_t i = 0; i < count; i++)
        watched += holds[i].from_ns < holds[i].to_ns;
    history_verdict verdict = history_check(holds, count, rules, stderr);
    print_message("%zu holds, %zu of them watched for a while\n", count, watched);
    free(holds);
    assert_int_equal(verdict.clashes, 0);
    assert_int_equal(verdict.old_fences, 0);
    assert_true(watched > 0);
}
