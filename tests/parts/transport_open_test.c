/* How connections are opened: what fails, which addresses are tried, what ends the wait. */
#include "transport_world.h"

#include "base/memory.h"

#include <dirent.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/resource.h>

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

static int count_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
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
