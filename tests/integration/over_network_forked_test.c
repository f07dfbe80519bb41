/* fork() while a client reconnects by TLS: the child can close the half-made connection. */
#include "tls_server.h"
#include "world.h"

enum { TARGET_MOST = 64, DESCRIPTORS = 256, STEPS = 5000, TIMEOUT_MS = 200 };

static tcp_server secure;

static int start(void **state) {
    (void)state;
    assert_true(certificates_make());
    secure = tls_server_start("here", "no", NULL);
    return begin_world_of(secure.server);
}

/* For each descriptor the socket that it leads to, or "". */
typedef struct {
    char targets[DESCRIPTORS][TARGET_MOST];
    int count;
} socket_list;

static void list_sockets(socket_list *list) {
    list->count = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        char path[64], *target = list->targets[fd];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        memset(target, 0, TARGET_MOST);
        if (readlink(path, target, TARGET_MOST - 1) < 0 || strncmp(target, "socket:", 7) != 0)
            memset(target, 0, TARGET_MOST);
        list->count += *target != 0;
    }
}

static bool has_another(const socket_list *now, const socket_list *before) {
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (*now->targets[fd] && strcmp(now->targets[fd], before->targets[fd]) != 0)
            return true;
    return false;
}

/* The kernel accepts connections for a stopped server. Nobody answers the handshake. */
static bool wait_for_another(const socket_list *before) {
    socket_list now;
    for (int i = 0; i < STEPS; i++) {
        list_sockets(&now);
        if (has_another(&now, before))
            return true;
        sleep_ms(1);
    }
    return false;
}

static int close_in_a_child(lk_client *client, int sockets_without_it) {
    int ended = -1;
    pid_t child = fork();
    if (child == 0) {
        socket_list left;
        lk_close(client);
        list_sockets(&left);
        _exit(left.count == sockets_without_it ? 0 : 1);
    }
    return waitpid(child, &ended, 0) == child ? ended : -1;
}

TEST(a_child_closes_the_connection_whose_handshake_is_under_way) {
    lk_client_options options = {.tls_ca = certificate_file("ca.crt"),
                                 .command_timeout_ms = TIMEOUT_MS};
    socket_list without, with;
    list_sockets(&without);
    lk_client *client =
        open_client_url(world_print("rediss://127.0.0.1:%u", secure.port), &options);
    lk_lock *lock = new_lock(client, "x");
    list_sockets(&with);
    kill(test_server_pid(secure.server), SIGSTOP);
    lk_status status = lk_trywrlock(lock);
    bool is_dialing = wait_for_another(&with);
    int ended = close_in_a_child(client, without.count);
    kill(test_server_pid(secure.server), SIGCONT);
    assert_int_equal(status, LK_UNAVAILABLE);
    assert_true(is_dialing);
    assert_int_equal(ended, 0);
}

int main(void) {
    int failed = world_run(start);
    certificates_remove();
    return failed;
}
