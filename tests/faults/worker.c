/* A process of clients; see worker.h. hand.c has its threads, watcher.c the watcher. */
#include "hand.h"
#include "test_memory.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { HANDS = 4, TICK_MS = 20, SLOW_MS = 250, OPEN_PAUSE_MS = 50 };

void worker_odd(const worker_self *self, const char *what, const char *word) {
    fprintf(stderr, "worker %u: %s: %s: %s\n", self->order.number, what, word, lk_last_error());
    journal_odd(self->notes);
}

/* ------------------------------------------------------------------------------ starting */

enum { WORDS = 9 };

static char *number_word(unsigned number) {
    return test_print("%u", number);
}

pid_t worker_start(const worker_order *order) {
    pid_t pid;
    char *parent = number_word((unsigned)getpid());
    char *role = number_word((unsigned)order->role), *number = number_word(order->number);
    char *words[WORDS + 1] = {"/proc/self/exe",
                              "--worker",
                              parent,
                              role,
                              number,
                              (char *)order->url,
                              (char *)order->history,
                              (char *)order->journal,
                              (char *)order->store,
                              NULL};
    int failed = posix_spawn(&pid, words[0], NULL, NULL, words, environ);
    free(parent);
    free(role);
    free(number);
    return failed ? -1 : pid;
}

bool worker_is_asked_for(int count, char **words) {
    return count == WORDS && strcmp(words[1], "--worker") == 0;
}

/* ------------------------------------------------------------------------------ running */

/* With FAULTS_TRACE in the environment, stderr has what the clients log, with the times of the journal. */
static void trace(lk_log_level level, const char *line, void *context) {
    const worker_self *self = context;
    fprintf(stderr, "%lld ns: worker %u: %d: %s\n", (long long)history_now_ns(), self->order.number,
            (int)level, line);
}

/* Retries while the server is away. NULL: the round is over. */
static lk_client *open_client(worker_self *self) {
    const journal_settings *settings = journal_get_settings(self->notes);
    lk_client_options options = {.command_timeout_ms = settings->command_timeout_ms,
                                 .connect_timeout_ms = settings->command_timeout_ms,
                                 .min_replicas = settings->min_replicas,
                                 .log = getenv("FAULTS_TRACE") ? trace : NULL,
                                 .log_arg = self};
    lk_client *client = NULL;
    while (!history_is_over(self->past)) {
        lk_status status = lk_open(self->order.url, &options, &client);
        if (status == LK_OK)
            break;
        if (status != LK_UNAVAILABLE)
            worker_odd(self, "opening", lk_status_name(status));
        usleep(OPEN_PAUSE_MS * 1000);
    }
    return client;
}

/* Notes when this process did not run: a client that is too slow may lose its place in a queue. */
static void *tick(void *context) {
    const worker_self *self = context;
    int64_t last_ns = history_now_ns();
    while (!history_is_over(self->past)) {
        usleep(TICK_MS * 1000);
        int64_t now_ns = history_now_ns();
        if (now_ns - last_ns > SLOW_MS * INT64_C(1000000))
            journal_stalled(self->notes, (journal_stall){self->order.number, last_ns, now_ns});
        last_ns = now_ns;
    }
    return NULL;
}

static void hold_locks(worker_self *self) {
    hand hands[HANDS];
    unsigned seed = journal_get_settings(self->notes)->seed + self->order.number * 7919;
    for (unsigned i = 0; i < HANDS; i++) {
        hands[i] = (hand){.worker = self, .seed = seed + i * 104729};
        if (pthread_create(&hands[i].thread, NULL, hand_run, &hands[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < HANDS; i++)
        pthread_join(hands[i].thread, NULL);
}

static void work(worker_self *self) {
    pthread_t ticker;
    self->client_number = history_new_client(self->past);
    self->client = open_client(self);
    if (!self->client)
        return;
    if (pthread_create(&ticker, NULL, tick, self) != 0)
        abort();
    if (self->order.role == WORKER_WATCHES)
        worker_watch(self);
    else
        hold_locks(self);
    pthread_join(ticker, NULL);
    lk_close(self->client);
}

int worker_main(char **words) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)strtol(words[2], NULL, 10)) /* it died before the line above */
        return 1;
    signal(SIGPIPE, SIG_IGN);
    worker_self self = {.order = {.role = (worker_role)strtoul(words[3], NULL, 10),
                                  .number = (unsigned)strtoul(words[4], NULL, 10),
                                  .url = words[5]},
                        .past = history_open(words[6]),
                        .notes = journal_open(words[7]),
                        .cells = store_open(words[8])};
    if (!self.past || !self.notes || !self.cells)
        return 2;
    work(&self);
    history_free(self.past);
    journal_free(self.notes);
    store_free(self.cells);
    return 0;
}
