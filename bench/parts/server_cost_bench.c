/*
 * What the Lua scripts cost the server: the commands that they run inside, and the time that it
 * counts for them, with few and with many at a lock. It starts a server of its own. This file has
 * the command line and the table; it measures nothing.
 */
#include "server.h"
#include "server_cost_calls.h"
#include "server_cost_requests.h"
#include "server_cost_rounds.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    FEW = 10,
    MANY = 10000,
    ROUNDS = 300,
    INSPECT_ROUNDS = 15,
    ROUNDS_MOST = 100000,
    MANY_MOST = 1000000
};

static const double ratio_limit = 2.0; /* of many to few */

typedef struct {
    const char *server;
    rounds_plan plan;
    bool check;
} options;

static const char usage[] =
    "usage: server_cost_bench [--server PROGRAM] [--many N] [--rounds N] [--check]\n"
    "  --server PROGRAM  the server to start; redis-server\n"
    "  --many N          how many hold or wait at a busy lock; 10000\n"
    "  --rounds N        of ten operations each, of which the median is taken; 300\n"
    "  --check           fail when something is over its limit\n";

static size_t number_option(const char *name, const char *text, size_t least, size_t most) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || number < least || number > most) {
        fprintf(stderr, "server_cost_bench: --%s: must be %zu to %zu\n", name, least, most);
        exit(2);
    }
    return number;
}

static options read_options(int count, char **words) {
    enum { SERVER, MANY_OPTION, ROUNDS_OPTION, CHECK, HELP };
    static const struct option known[] = {
        {"server", required_argument, NULL, SERVER},
        {"many", required_argument, NULL, MANY_OPTION},
        {"rounds", required_argument, NULL, ROUNDS_OPTION},
        {"check", no_argument, NULL, CHECK},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    options chosen = {"redis-server", {FEW, MANY, ROUNDS, INSPECT_ROUNDS}, false};
    for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;) {
        if (option == SERVER) {
            chosen.server = optarg;
        } else if (option == MANY_OPTION) {
            chosen.plan.many = number_option("many", optarg, FEW, MANY_MOST);
        } else if (option == ROUNDS_OPTION) {
            chosen.plan.rounds = number_option("rounds", optarg, 1, ROUNDS_MOST);
        } else if (option == CHECK) {
            chosen.check = true;
        } else {
            fputs(usage, option == HELP ? stdout : stderr);
            exit(option == HELP ? EXIT_SUCCESS : 2);
        }
    }
    if (optind != count) {
        fputs(usage, stderr);
        exit(2);
    }
    return chosen;
}

static void print_model(void) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            printf(",%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
            break;
        }
    }
    if (file)
        fclose(file);
}

static void print_what_ran(bench_link *link, const options *chosen, int count, char **words) {
    printf("command     server_cost_bench");
    for (int i = 1; i < count; i++)
        printf(" %s", words[i]);
    char *valkey = link_info(link, "valkey_version");
    char *version = valkey ? valkey : link_info(link, "redis_version");
    printf("\nserver      %s, %s %s\n", chosen->server, valkey ? "Valkey" : "Redis",
           version ? version : "of unknown version");
    free(version);
    struct utsname system;
    uname(&system);
    printf("machine     %s %s, %ld processors", system.sysname, system.machine,
           sysconf(_SC_NPROCESSORS_ONLN));
    print_model();
    printf("\n");
}

/* Counts what is over. */
static int print_calls(const calls_table *table) {
    int over = 0;
    printf("\n%-44s %5s %5s\n", "Commands inside a script", "calls", "limit");
    for (size_t i = 0; i < table->count; i++) {
        const calls_row *row = &table->rows[i];
        bool good = !row->limited || row->calls <= CALLS_LIMIT;
        over += !good;
        printf("%-44s %5" PRIu64, row->what, row->calls);
        if (row->limited)
            printf(" %5d %-4s", CALLS_LIMIT, good ? "ok" : "over");
        else
            printf(" %5s %-4s", "", "");
        for (size_t k = 0; k < row->ran.count; k++) {
            printf("  %s", row->ran.rows[k].command);
            if (row->ran.rows[k].calls > 1)
                printf(" ×%" PRIu64, row->ran.rows[k].calls);
        }
        printf("\n");
    }
    return over;
}

static void print_alone(const bench_costs *costs) {
    static const char *const names[ALONE_COSTS] = {
        [ALONE_RETURN] = "EVALSHA of `return 1`",
        [ALONE_SET] = "SET NX PX",
        [ALONE_DELETE] = "EVALSHA of compare and delete",
        [ALONE_ACQUIRE_READ] = "acquire read, lock free",
        [ALONE_RELEASE_READ] = "release read, the only hold",
        [ALONE_ACQUIRE_WRITE] = "acquire write, lock free",
        [ALONE_RELEASE_WRITE] = "release write, the only hold",
    };
    double floor = (costs->alone[ALONE_SET] + costs->alone[ALONE_DELETE]) / 2;
    printf("\n%-44s %8s %8s\n", "A lock of one's own", "µs", "× floor");
    for (size_t i = 0; i < ALONE_COSTS; i++)
        printf("%-44s %7.2f %8.2f\n", names[i], costs->alone[i], costs->alone[i] / floor);
    printf("%-44s %7.2f\n", "floor: (SET + compare and delete) / 2", floor);
}

static bool print_pair(const char *name, cost_pair pair, bool limited) {
    double ratio = pair.many / pair.few;
    bool good = !limited || ratio <= ratio_limit;
    printf("%-44s %7.2f %7.2f %6.2f", name, pair.few, pair.many, ratio);
    if (limited)
        printf(" %5.1f %s", ratio_limit, good ? "ok" : "over");
    printf("\n");
    return good;
}

static void print_pair_head(const char *title, const rounds_plan *plan) {
    printf("\n%-44s %7zu %7zu %6s %5s\n", title, plan->few, plan->many, "ratio", "limit");
}

/* Counts what is over. */
static int print_crowds(const bench_costs *costs, const rounds_plan *plan) {
    static const char *const crowd[CROWD_COSTS] = {
        [CROWD_JOIN] = "acquire, one more reader joins",
        [CROWD_LEAVE] = "release, it leaves",
        [CROWD_RENEW] = "renew, of one hold",
        [CROWD_INSPECT] = "inspect, limit 10",
    };
    static const char *const queue[QUEUE_COSTS] = {
        [QUEUE_ENQUEUE] = "acquire, queues",
        [QUEUE_CANCEL] = "cancel, of that waiter",
        [QUEUE_RENEW] = "renew, of one waiter",
        [QUEUE_HAND_OVER] = "release, hands over to the first",
        [QUEUE_INSPECT] = "inspect, limit 10",
    };
    static const char *const kinds[QUEUE_KINDS] = {
        [QUEUE_WRITERS] = "µs with so many writers waiting",
        [QUEUE_MIXED] = "µs with so many waiting, every second reads",
    };
    int over = 0;
    print_pair_head("µs with so many readers holding", plan);
    for (size_t i = 0; i < CROWD_COSTS; i++)
        over += !print_pair(crowd[i], costs->crowd[i], i != CROWD_INSPECT);
    for (size_t kind = 0; kind < QUEUE_KINDS; kind++) {
        print_pair_head(kinds[kind], plan);
        for (size_t i = 0; i < QUEUE_COSTS; i++)
            over += !print_pair(queue[i], costs->queue[kind][i], i != QUEUE_INSPECT);
    }
    return over;
}

int main(int count, char **words) {
    options chosen = read_options(count, words);
    test_server *server = test_server_start(chosen.server, NULL);
    if (!server)
        return EXIT_FAILURE;
    bench_link *link = link_open(test_server_socket(server));
    requests_load_scripts(link);

    calls_table calls;
    bench_costs costs;
    calls_count(link, &calls);
    rounds_run(link, chosen.plan, &costs);

    print_what_ran(link, &chosen, count, words);
    printf("operations  %zu for each time (inspect %zu): ten a round, with few and with many in "
           "turn\n"
           "time        what the server counts for the command (INFO commandstats): the median "
           "of\n            the rounds' means; nobody is subscribed\n",
           costs.operations, costs.inspections);
    int over = print_calls(&calls);
    print_alone(&costs);
    over += print_crowds(&costs, &chosen.plan);
    printf("\n%d over the limit\n", over);

    link_close(link);
    test_server_stop(server);
    return chosen.check && over > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
