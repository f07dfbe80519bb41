/*
 * What the library costs its caller, each figure beside a floor of the same run: the bare commands,
 * one thread, a bare message. It starts a server of its own. This file has the command line and
 * what ran; it measures nothing.
 */
#include "client_figures.h"
#include "client_parts.h"
#include "client_server.h"
#include "server.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef int part_fn(const bench_plan *);

static const struct {
    const char *what;
    part_fn *measure;
} parts[] = {
    {"one thread against a bare loop", measure_pair},  {"64 threads against one", measure_threads},
    {"hand-over between processes", measure_handover}, {"10,000 locks held", measure_held},
    {"commands for a hand-over", measure_queue},
};
enum { PARTS = sizeof parts / sizeof *parts };

typedef struct {
    const char *server;
    size_t only; /* 0: all parts */
    bool quick, check;
} options;

static const char usage[] =
    "usage: client_bench [--server PROGRAM] [--only N] [--quick] [--check]\n"
    "  --server PROGRAM  the server to start; redis-server, or valkey-server if that is missing\n"
    "  --only N          one part, 1 to 5: one thread, 64 threads, hand-over, 10,000 locks held,\n"
    "                    commands for a hand-over\n"
    "  --quick           fewer rounds\n"
    "  --check           fail when something is over its limit\n";

static _Noreturn void show_usage(FILE *where, int status) {
    fputs(usage, where);
    exit(status);
}

static options read_options(int count, char **words) {
    enum { SERVER, ONLY, QUICK, CHECK, HELP };
    static const struct option known[] = {
        {"server", required_argument, NULL, SERVER}, {"only", required_argument, NULL, ONLY},
        {"quick", no_argument, NULL, QUICK},         {"check", no_argument, NULL, CHECK},
        {"help", no_argument, NULL, HELP},           {0},
    };
    options chosen = {.server = test_server_any()};
    for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;) {
        if (option == SERVER)
            chosen.server = optarg;
        else if (option == ONLY && *optarg >= '1' && *optarg < '1' + PARTS && !optarg[1])
            chosen.only = (size_t)(*optarg - '0');
        else if (option == QUICK)
            chosen.quick = true;
        else if (option == CHECK)
            chosen.check = true;
        else
            show_usage(option == HELP ? stdout : stderr, option == HELP ? EXIT_SUCCESS : 2);
    }
    if (optind != count)
        show_usage(stderr, 2);
    return chosen;
}

static void print_what_ran(const options *chosen, const char *address, int count, char **words) {
    redisContext *context = server_connect(address);
    char *version = server_version(context);
    struct utsname system;
    uname(&system);
    printf("command   client_bench");
    for (int i = 1; i < count; i++)
        printf(" %s", words[i]);
    printf("\nlibrary   latchkey %s\n", lk_version());
    printf("server    %s, %s, on a Unix socket unless said otherwise, no persistence\n",
           chosen->server, version);
    printf("machine   %s %s %s, %ld processors\n", system.sysname, system.release, system.machine,
           sysconf(_SC_NPROCESSORS_ONLN));
    fflush(stdout);
    free(version);
    redisFree(context);
}

int main(int count, char **words) {
    options chosen = read_options(count, words);
    char port[16], tcp_address[32];
    snprintf(port, sizeof port, "%d", test_server_free_port());
    snprintf(tcp_address, sizeof tcp_address, "127.0.0.1:%s", port);
    const char *const listens[] = {"--port", port, "--bind", "127.0.0.1", NULL};
    test_server *server = test_server_start(chosen.server, listens);
    if (!server)
        return EXIT_FAILURE;
    bench_plan plan = {test_server_socket(server), tcp_address, test_server_pid(server),
                       chosen.quick};
    print_what_ran(&chosen, plan.address, count, words);
    int over = 0;
    for (size_t i = 0; i < PARTS; i++) {
        if (chosen.only && chosen.only != i + 1)
            continue;
        bench_progress("%zu of %d: %s", i + 1, PARTS, parts[i].what);
        over += parts[i].measure(&plan);
    }
    printf("\n%d over the limit\n", over);
    test_server_stop(server);
    return chosen.check && over > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
