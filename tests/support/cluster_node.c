/* See cluster_node.h. */
#include "cluster_node.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 16384, WAIT_MOST_S = 10 };

static bool is_up(redisContext *link) {
    redisReply *reply = redisCommand(link, "CLUSTER INFO");
    bool up = reply && reply->str && strstr(reply->str, "cluster_state:ok");
    freeReplyObject(reply);
    return up;
}

/* One by one: a server of version 6.2 knows no ranges. */
static bool take_all_slots(redisContext *link) {
    bool taken = true;
    for (int slot = 0; slot < SLOTS; slot++)
        redisAppendCommand(link, "CLUSTER ADDSLOTS %d", slot);
    for (int slot = 0; slot < SLOTS && taken; slot++) {
        void *reply = NULL;
        taken = redisGetReply(link, &reply) == REDIS_OK;
        freeReplyObject(reply);
    }
    return taken;
}

static bool form_cluster(redisContext *link) {
    if (!link || link->err || !take_all_slots(link))
        return false;
    for (time_t until = time(NULL) + WAIT_MOST_S; !is_up(link);) {
        if (time(NULL) > until)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return true;
}

test_server *test_cluster_node_start(void) {
    char port[16];
    snprintf(port, sizeof port, "%d", test_server_free_port());
    const char *const options[] = {"--cluster-enabled", "yes", "--cluster-port", port, "--bind",
                                   "127.0.0.1",         NULL};
    test_server *server = test_server_start(test_server_any(), options);
    if (!server)
        return NULL;
    redisContext *link = redisConnectUnix(test_server_socket(server));
    bool formed = form_cluster(link);
    redisFree(link);
    if (formed)
        return server;
    fprintf(stderr, "the cluster of one node does not serve\n");
    test_server_stop(server);
    return NULL;
}
