/* Plain connections, against peers in this process that do what a server would not. */
#include "base/clock.h"
#include "base/memory.h"
#include "net/transport.h"
#include "net/url.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHORT_MS = 60, LONG_MS = 20000, FILLERS = 4 };

/* --------------------------------------------------------------------------- names of hosts */

/*
 * In the place of the C library's, so that these tests need no network: addresses are themselves,
 * two.test is 127.0.0.2 and then 127.0.0.1, and nothing else is known.
 */
static struct addrinfo *new_address(const char *host, const char *port, struct addrinfo *next) {
    struct addrinfo *made = calloc(1, sizeof *made);
    struct sockaddr_in *v4 = calloc(1, sizeof(struct sockaddr_in6));
    struct sockaddr_in6 *v6 = (void *)v4;
    uint16_t number = htons((uint16_t)strtoul(port, NULL, 10));
    assert_non_null(made);
    assert_non_null(v4);
    *made = (struct addrinfo){.ai_family = AF_INET, .ai_addr = (void *)v4, .ai_next = next};
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = number;
        made->ai_addrlen = sizeof *v4;
    } else {
        assert_int_equal(inet_pton(AF_INET6, host, &v6->sin6_addr), 1);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = number;
        made->ai_family = AF_INET6;
        made->ai_addrlen = sizeof *v6;
    }
    return made;
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *wanted,
                struct addrinfo **out) {
    (void)wanted;
    if (strcmp(host, "unknown.test") == 0)
        return EAI_NONAME;
    if (strcmp(host, "two.test") == 0)
        *out = new_address("127.0.0.2", port, new_address("127.0.0.1", port, NULL));
    else
        *out = new_address(host, port, NULL);
    return 0;
}

void freeaddrinfo(struct addrinfo *first) {
    while (first) {
        struct addrinfo *next = first->ai_next;
        free(first->ai_addr);
        free(first);
        first = next;
    }
}

/* -------------------------------------------------------------------------------------- peers */

/* One that listens: on a port of 127.0.0.1, or on a socket in a folder of its own. */
typedef struct {
    int fd;
    int fillers[FILLERS]; /* connections that fill its queue */
    char folder[64];      /* "": TCP */
    char url[128];
} test_peer;

static int bind_to(const char *address, unsigned port) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(inet_pton(AF_INET, address, &own.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    return fd;
}

static unsigned port_of(int fd) {
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &length), 0);
    return ntohs(own.sin_port);
}

static test_peer listen_on_tcp(void) {
    test_peer made = {.fd = bind_to("127.0.0.1", 0), .fillers = {-1, -1, -1, -1}};
    assert_int_equal(listen(made.fd, 0), 0);
    snprintf(made.url, sizeof made.url, "redis://:hunter2@127.0.0.1:%u", port_of(made.fd));
    return made;
}

static test_peer listen_on_path(void) {
    test_peer made = {.fillers = {-1, -1, -1, -1}};
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    snprintf(made.folder, sizeof made.folder, "/tmp/latchkey-test-XXXXXX");
    assert_non_null(mkdtemp(made.folder));
    snprintf(own.sun_path, sizeof own.sun_path, "%s/socket", made.folder);
    snprintf(made.url, sizeof made.url, "unix://:hunter2@%s", own.sun_path);
    made.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(made.fd, (struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(listen(made.fd, 0), 0);
    return made;
}

/* From then on who connects has to wait: nobody accepts. */
static void fill(test_peer *peer) {
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    assert_int_equal(getsockname(peer->fd, (struct sockaddr *)&own, &length), 0);
    for (int i = 0; i < FILLERS; i++) {
        int fd = socket(own.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct pollfd polled = {fd, POLLOUT, 0};
        peer->fillers[i] = fd;
        if (connect(fd, (struct sockaddr *)&own, length) != 0 && i == 0)
            assert_int_equal(poll(&polled, 1, LONG_MS), 1);
    }
}

static void stop(test_peer *peer) {
    for (int i = 0; i < FILLERS; i++)
        if (peer->fillers[i] >= 0)
            close(peer->fillers[i]);
    close(peer->fd);
    if (*peer->folder) {
        char path[128];
        snprintf(path, sizeof path, "%s/socket", peer->folder);
        unlink(path);
        assert_int_equal(rmdir(peer->folder), 0);
    }
}

static lk_status open_until(const char *url, int64_t deadline_us, int stop_fd, lki_transport **out,
                            lki_error *error) {
    lki_endpoint endpoint;
    assert_int_equal(lki_url_read(url, NULL, &endpoint, error), LK_OK);
    lk_status status = lki_transport_open(&endpoint, NULL, deadline_us, stop_fd, NULL, out, error);
    assert_null(strstr(error->text, "hunter2"));
    if (status != LK_OK)
        assert_int_equal(error->status, status);
    lki_endpoint_clear(&endpoint);
    return status;
}

static lk_status open_in(const char *url, int64_t ms, lki_transport **out, lki_error *error) {
    return open_until(url, lki_after_ms(lki_now_us(), ms), -1, out, error);
}

/* Connects to the peer; *accepted is its end. */
static lki_transport *open_to(const test_peer *peer, int *accepted) {
    lki_transport *transport = NULL;
    lki_error error = {0};
    if (open_in(peer->url, LONG_MS, &transport, &error) != LK_OK)
        fail_msg("%s", error.text);
    *accepted = accept4(peer->fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(*accepted >= 0);
    return transport;
}

static void wait_to(const lki_transport *transport, bool write) {
    struct pollfd polled = {lki_transport_fd(transport), lki_transport_events(transport, write), 0};
    assert_int_equal(poll(&polled, 1, LONG_MS), 1);
}

static int count_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* -------------------------------------------------------------------------------------- bytes */

static void exchange(test_peer *peer) {
    int accepted;
    char buffer[16];
    lki_error error;
    lki_transport *transport = open_to(peer, &accepted);
    assert_int_equal(lki_transport_write(transport, "ask", 3, &error), 3);
    assert_int_equal(recv(accepted, buffer, sizeof buffer, 0), 3);
    assert_memory_equal(buffer, "ask", 3);
    assert_int_equal(send(accepted, "answer", 6, 0), 6);
    wait_to(transport, false);
    assert_int_equal(lki_transport_read(transport, buffer, sizeof buffer, &error), 6);
    assert_memory_equal(buffer, "answer", 6);
    lki_transport_close(transport);
    assert_int_equal(recv(accepted, buffer, sizeof buffer, 0), 0);
    close(accepted);
    stop(peer);
}

static void bytes_go_both_ways_over_tcp(void **state) {
    (void)state;
    test_peer peer = listen_on_tcp();
    exchange(&peer);
}

static void bytes_go_both_ways_over_a_unix_socket(void **state) {
    (void)state;
    test_peer peer = listen_on_path();
    exchange(&peer);
}

static void reading_nothing_would_block_and_waits_for_input(void **state) {
    (void)state;
    int accepted;
    char byte;
    lki_error error;
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    assert_int_equal(lki_transport_read(transport, &byte, 1, &error), LKI_WOULD_BLOCK);
    assert_int_equal(lki_transport_events(transport, false), POLLIN);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static void writing_would_block_until_the_peer_reads(void **state) {
    (void)state;
    static char bytes[65536];
    int accepted;
    ssize_t length;
    lki_error error;
    test_peer peer = listen_on_path();
    lki_transport *transport = open_to(&peer, &accepted);
    do {
        length = lki_transport_write(transport, bytes, sizeof bytes, &error);
    } while (length > 0);
    assert_int_equal(length, LKI_WOULD_BLOCK);
    assert_int_equal(lki_transport_events(transport, true), POLLOUT);
    while (recv(accepted, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
    wait_to(transport, true);
    assert_true(lki_transport_write(transport, bytes, sizeof bytes, &error) > 0);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static void the_end_of_the_stream_is_broken_and_says_who_ended_it(void **state) {
    (void)state;
    int accepted;
    char byte;
    lki_error error = {0};
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    close(accepted);
    wait_to(transport, false);
    assert_int_equal(lki_transport_read(transport, &byte, 1, &error), LKI_BROKEN);
    assert_int_equal(error.status, LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "redis://127.0.0.1:"));
    assert_non_null(strstr(error.text, "closed"));
    lki_transport_close(transport);
    stop(&peer);
}

static void writing_to_a_peer_that_closed_is_broken_and_no_signal(void **state) {
    (void)state;
    int accepted;
    ssize_t length;
    lki_error error = {0};
    test_peer peer = listen_on_path();
    signal(SIGPIPE, SIG_DFL); /* it may be ignored by whoever started this */
    lki_transport *transport = open_to(&peer, &accepted);
    close(accepted);
    do {
        length = lki_transport_write(transport, "x", 1, &error);
    } while (length > 0);
    assert_int_equal(length, LKI_BROKEN);
    assert_int_equal(error.status, LK_UNAVAILABLE);
    lki_transport_close(transport);
    stop(&peer);
}

/* ------------------------------------------------------------------------------------ sockets */

static int option_of(const lki_transport *transport, int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    assert_int_equal(getsockopt(lki_transport_fd(transport), level, name, &value, &length), 0);
    return value;
}

static void a_tcp_connection_neither_delays_nor_lingers(void **state) {
    (void)state;
    int accepted;
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    assert_int_equal(option_of(transport, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option_of(transport, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_true(option_of(transport, IPPROTO_TCP, TCP_USER_TIMEOUT) > 0);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static void a_descriptor_is_not_inherited(void **state) {
    (void)state;
    int accepted;
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    assert_true(fcntl(lki_transport_fd(transport), F_GETFD) & FD_CLOEXEC);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static lk_status open_seen(const test_peer *peer, int64_t ms, _Atomic int *fd_seen,
                           lki_transport **out) {
    lki_endpoint endpoint;
    lki_error error;
    assert_int_equal(lki_url_read(peer->url, NULL, &endpoint, &error), LK_OK);
    lk_status status = lki_transport_open(&endpoint, NULL, lki_after_ms(lki_now_us(), ms), -1,
                                          fd_seen, out, &error);
    lki_endpoint_clear(&endpoint);
    return status;
}

static void a_descriptor_is_seen_as_long_as_it_is_open(void **state) {
    (void)state;
    _Atomic int fd_seen = -1;
    lki_transport *transport = NULL;
    test_peer good = listen_on_tcp(), silent = listen_on_tcp();
    fill(&silent);
    assert_int_equal(open_seen(&good, LONG_MS, &fd_seen, &transport), LK_OK);
    assert_int_equal(fd_seen, lki_transport_fd(transport));
    lki_transport_close(transport);
    assert_int_equal(open_seen(&silent, SHORT_MS, &fd_seen, &transport), LK_UNAVAILABLE);
    assert_int_equal(fd_seen, -1);
    stop(&good);
    stop(&silent);
}

static void a_dropped_connection_is_closed_in_the_child_alone(void **state) {
    (void)state;
    int accepted, status;
    char byte;
    lki_error error;
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = lki_transport_fd(transport);
        lki_transport_drop(transport);
        _exit(fcntl(fd, F_GETFD) == -1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lki_transport_write(transport, "x", 1, &error), 1);
    assert_int_equal(recv(accepted, &byte, 1, 0), 1);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static void closing_nothing_is_fine(void **state) {
    (void)state;
    lki_transport_close(NULL);
    lki_transport_drop(NULL);
}

/* ----------------------------------------------------------------------------------- failures */

static void a_refused_connection_says_which_server(void **state) {
    (void)state;
    char url[64], where[128];
    lki_transport *transport = NULL;
    lki_error error = {0};
    int fd = bind_to("127.0.0.1", 0); /* taken, so that nobody else can listen there */
    int before = count_descriptors();
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", port_of(fd));
    snprintf(where, sizeof where, "%s: Connection refused; ", url);
    assert_int_equal(open_in(url, LONG_MS, &transport, &error), LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, where));
    assert_null(transport);
    assert_int_equal(count_descriptors(), before);
    close(fd);
}

static void a_missing_socket_says_which_path(void **state) {
    (void)state;
    lki_transport *transport = NULL;
    lki_error error = {0};
    assert_int_equal(open_in("unix:///nowhere/socket", LONG_MS, &transport, &error),
                     LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "unix:///nowhere/socket: No such file"));
}

static void an_unknown_host_says_which(void **state) {
    (void)state;
    lki_transport *transport = NULL;
    lki_error error = {0};
    assert_int_equal(open_in("redis://unknown.test", LONG_MS, &transport, &error), LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "redis://unknown.test:6379: "));
}

static void a_path_that_is_too_long_is_invalid(void **state) {
    (void)state;
    char path[200], shown[] = "unix:///p";
    lki_transport *transport = NULL;
    lki_error error = {0};
    memset(path, 'p', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    lki_endpoint endpoint = {.path = path, .shown = shown};
    assert_int_equal(lki_transport_open(&endpoint, NULL, LKI_NEVER, -1, NULL, &transport, &error),
                     LK_INVALID);
}

static void no_more_descriptors_is_lk_nomem(void **state) {
    (void)state;
    struct rlimit limit, none;
    lki_transport *transport = NULL;
    lki_error error = {0};
    test_peer peer = listen_on_tcp();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    lk_status status = open_in(peer.url, LONG_MS, &transport, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, LK_NOMEM);
    assert_non_null(strstr(error.text, "files"));
    stop(&peer);
}

/* ------------------------------------------------------------------------------ many addresses */

static void the_next_address_is_tried_when_one_refuses(void **state) {
    (void)state;
    lki_transport *transport = NULL;
    lki_error error = {0};
    test_peer peer = listen_on_tcp();
    snprintf(peer.url, sizeof peer.url, "redis://two.test:%u", port_of(peer.fd));
    assert_int_equal(open_in(peer.url, LONG_MS, &transport, &error), LK_OK);
    lki_transport_close(transport);
    stop(&peer);
}

static void an_address_that_swallows_all_leaves_time_for_the_next(void **state) {
    (void)state;
    lki_transport *transport = NULL;
    lki_error error = {0};
    test_peer good = listen_on_tcp();
    unsigned port = port_of(good.fd);
    test_peer silent = {.fd = bind_to("127.0.0.2", port)};
    assert_int_equal(listen(silent.fd, 0), 0);
    fill(&silent);
    snprintf(good.url, sizeof good.url, "redis://two.test:%u", port);
    assert_int_equal(open_in(good.url, 1000, &transport, &error), LK_OK);
    lki_transport_close(transport);
    stop(&silent);
    stop(&good);
}

/* ------------------------------------------------------------------------- deadlines and stops */

static void assert_late(test_peer *peer) {
    lki_transport *transport = NULL;
    lki_error error = {0};
    fill(peer);
    int before = count_descriptors();
    int64_t start_us = lki_now_us();
    assert_int_equal(open_in(peer->url, SHORT_MS, &transport, &error), LK_UNAVAILABLE);
    assert_true(lki_now_us() - start_us >= SHORT_MS * 1000);
    assert_true(lki_now_us() - start_us < LONG_MS * 1000);
    assert_non_null(strstr(error.text, *peer->folder ? peer->folder : "127.0.0.1"));
    assert_int_equal(count_descriptors(), before);
    stop(peer);
}

static void the_deadline_ends_a_tcp_connect_that_hangs(void **state) {
    (void)state;
    test_peer peer = listen_on_tcp();
    assert_late(&peer);
}

static void the_deadline_ends_the_wait_for_a_full_unix_socket(void **state) {
    (void)state;
    test_peer peer = listen_on_path();
    assert_late(&peer);
}

static void assert_stopped(test_peer *peer) {
    int pipe_fds[2];
    lki_transport *transport = NULL;
    lki_error error = {0};
    fill(peer);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    assert_int_equal(open_until(peer->url, LKI_NEVER, pipe_fds[0], &transport, &error),
                     LK_CANCELED);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    stop(peer);
}

static void the_stop_descriptor_breaks_off_a_tcp_connect(void **state) {
    (void)state;
    test_peer peer = listen_on_tcp();
    assert_stopped(&peer);
}

static void the_stop_descriptor_breaks_off_the_wait_for_a_full_unix_socket(void **state) {
    (void)state;
    test_peer peer = listen_on_path();
    assert_stopped(&peer);
}

static void *accept_all(void *listening) {
    for (int i = 0; i < 2; i++) {
        int fd = accept(*(int *)listening, NULL, NULL);
        close(fd);
    }
    return NULL;
}

static void a_full_unix_socket_is_waited_for(void **state) {
    (void)state;
    pthread_t thread;
    lki_transport *transport = NULL;
    lki_error error = {0};
    test_peer peer = listen_on_path();
    fill(&peer);
    assert_int_equal(pthread_create(&thread, NULL, accept_all, &peer.fd), 0);
    assert_int_equal(open_in(peer.url, LONG_MS, &transport, &error), LK_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    lki_transport_close(transport);
    stop(&peer);
}

/* -------------------------------------------------------------------------------------- memory */

static int allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

static void each_allocation_of_opening_may_fail(void **state) {
    (void)state;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_endpoint endpoint;
    test_peer peer = listen_on_tcp();
    assert_int_equal(lki_url_read(peer.url, NULL, &endpoint, &error), LK_OK);
    int before = count_descriptors();
    for (refused_one = 1; !transport; refused_one++) {
        allocations = 0;
        lki_memory_refuse(refuses);
        lk_status status = lki_transport_open(&endpoint, NULL, lki_after_ms(lki_now_us(), LONG_MS),
                                              -1, NULL, &transport, &error);
        lki_memory_refuse(NULL);
        assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
        assert_int_equal(count_descriptors(), before + (status == LK_OK));
    }
    assert_true(refused_one > 2);
    lki_transport_close(transport);
    lki_endpoint_clear(&endpoint);
    stop(&peer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways_over_tcp),
        cmocka_unit_test(bytes_go_both_ways_over_a_unix_socket),
        cmocka_unit_test(reading_nothing_would_block_and_waits_for_input),
        cmocka_unit_test(writing_would_block_until_the_peer_reads),
        cmocka_unit_test(the_end_of_the_stream_is_broken_and_says_who_ended_it),
        cmocka_unit_test(writing_to_a_peer_that_closed_is_broken_and_no_signal),
        cmocka_unit_test(a_tcp_connection_neither_delays_nor_lingers),
        cmocka_unit_test(a_descriptor_is_not_inherited),
        cmocka_unit_test(a_descriptor_is_seen_as_long_as_it_is_open),
        cmocka_unit_test(a_dropped_connection_is_closed_in_the_child_alone),
        cmocka_unit_test(closing_nothing_is_fine),
        cmocka_unit_test(a_refused_connection_says_which_server),
        cmocka_unit_test(a_missing_socket_says_which_path),
        cmocka_unit_test(an_unknown_host_says_which),
        cmocka_unit_test(a_path_that_is_too_long_is_invalid),
        cmocka_unit_test(no_more_descriptors_is_lk_nomem),
        cmocka_unit_test(the_next_address_is_tried_when_one_refuses),
        cmocka_unit_test(an_address_that_swallows_all_leaves_time_for_the_next),
        cmocka_unit_test(the_deadline_ends_a_tcp_connect_that_hangs),
        cmocka_unit_test(the_deadline_ends_the_wait_for_a_full_unix_socket),
        cmocka_unit_test(the_stop_descriptor_breaks_off_a_tcp_connect),
        cmocka_unit_test(the_stop_descriptor_breaks_off_the_wait_for_a_full_unix_socket),
        cmocka_unit_test(a_full_unix_socket_is_waited_for),
        cmocka_unit_test(each_allocation_of_opening_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
