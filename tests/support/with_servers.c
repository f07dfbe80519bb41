/*
 * with_servers sentinels|cluster|masters COMMAND [ARG…]: runs a command beside servers that belong
 * together, and ends them afterwards. `masters` is a cluster without replicas. The servers keep their
 * data. The command finds in its environment:
 *
 *   TEST_URL        the URL of all of them
 *   TEST_SERVERS    the ports of the servers, on 127.0.0.1: "7001 7002 7003"
 *   TEST_SENTINELS  the ports of the sentinels
 *
 * No failover happens unless the command causes one: a node must be silent for half a minute. The
 * exit status is the command's; 128 + the signal's number if one ended it; 70 if a server does not
 * start.
 */
#include "cluster.h"
#include "sentinels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000, PORTS_SIZE = 512, CANNOT_RUN = 70, USAGE = 64 };

static void publish(const char *variable, test_node *const *nodes, size_t count) {
    char ports[PORTS_SIZE] = "";
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(ports);
        snprintf(ports + length, sizeof ports - length, "%s%d", i ? " " : "",
                 test_node_port(nodes[i]));
    }
    setenv(variable, ports, 1);
}

static int run(char **words) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        execvp(words[0], words);
        perror(words[0]);
        _exit(CANNOT_RUN);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return CANNOT_RUN;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_beside_sentinels(char **words) {
    test_node *servers[8], *sentinels[8];
    test_sentinels *set = test_sentinels_start(
        &(test_sentinels_options){.down_after_ms = PATIENCE_MS, .keeps_data = true});
    if (!set)
        return CANNOT_RUN;
    for (size_t i = 0; i < test_sentinels_server_count(set); i++)
        servers[i] = test_sentinels_server(set, i);
    for (size_t i = 0; i < test_sentinels_count(set); i++)
        sentinels[i] = test_sentinels_sentinel(set, i);
    publish("TEST_SERVERS", servers, test_sentinels_server_count(set));
    publish("TEST_SENTINELS", sentinels, test_sentinels_count(set));
    setenv("TEST_URL", test_sentinels_url(set), 1);
    int code = run(words);
    test_sentinels_stop(set);
    return code;
}

static int run_beside_cluster(size_t replicas, char **words) {
    test_node *nodes[8];
    test_cluster *cluster = test_cluster_start(&(test_cluster_options){
        .masters = 3, .replicas = replicas, .node_timeout_ms = PATIENCE_MS, .keeps_data = true});
    if (!cluster)
        return CANNOT_RUN;
    for (size_t i = 0; i < test_cluster_count(cluster); i++)
        nodes[i] = test_cluster_node(cluster, i);
    publish("TEST_SERVERS", nodes, test_cluster_count(cluster));
    setenv("TEST_URL", test_cluster_url(cluster), 1);
    int code = run(words);
    test_cluster_stop(cluster);
    return code;
}

int main(int count, char **words) {
    if (count > 2 && strcmp(words[1], "sentinels") == 0)
        return run_beside_sentinels(words + 2);
    if (count > 2 && strcmp(words[1], "cluster") == 0)
        return run_beside_cluster(3, words + 2);
    if (count > 2 && strcmp(words[1], "masters") == 0)
        return run_beside_cluster(0, words + 2);
    fprintf(stderr, "usage: with_servers sentinels|cluster|masters COMMAND [ARG...]\n");
    return USAGE;
}
