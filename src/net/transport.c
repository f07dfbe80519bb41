/* See transport.h. While opening, only wait_for() and the name lookup block. TLS is in tls.c. */
#include "net/transport.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory.h"
#include "net/tls.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * A connection to a silent server breaks after 30 seconds: idle (keepalive), or with unacked data.
 */
enum {
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_EACH_S = 5,
    KEEPALIVE_COUNT = 3,
    UNANSWERED_MOST_MS = 30000
};
enum { QUEUE_RETRY_MS = 5 };
enum { SPIN_US = 60, SKIPPED_SPINS_MOST = 255 };

struct lki_transport {
    int fd;
    char *shown;                    /* the URL of the server, for error texts */
    lki_tls *tls;                   /* NULL: without TLS */
    const lki_tls_methods *methods; /* of `tls` */

    /* The fields below are owned by the thread that reads. */
    lki_bytes put_back;
    size_t put_back_read; /* bytes of `put_back` that were read again */

    /* After spins without success, the next reads do not spin: how many, and how many are left. */
    unsigned skipped_spins, skipped_spins_left;
};

/* One call of lki_transport_open(). */
typedef struct {
    lki_transport *transport;
    int64_t deadline_us; /* of the current address */
    int stop_fd;
    _Atomic int *fd_seen;
    bool has_failed; /* at an earlier address; the error has the reason */
    lki_error *error;
} attempt;

/* ---------------------------------------------------------------------------------- opening */

static lk_status say_stopped(const attempt *a) {
    return lki_error_set(a->error, LK_CANCELED, "connecting to %s was stopped",
                         a->transport->shown);
}

static lk_status say_late(const attempt *a, const char *what) {
    return lki_error_set(a->error, LK_UNAVAILABLE, "cannot connect to %s: %s", a->transport->shown,
                         what);
}

static const char *advice_for(int number) {
    switch (number) {
    case ECONNREFUSED:
    case ENOENT:
        return "check that a server runs there";
    case EACCES:
    case EPERM:
        return "check the permissions of this user";
    case EMFILE:
    case ENFILE:
        return "close some files, or raise the limit";
    }
    return "check the URL and the network";
}

static lk_status say_failed(const attempt *a, int number) {
    bool scarce = number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOBUFS;
    /* This machine may lack IPv6, for example. The error of an earlier address is better then. */
    bool no_route = number == ENETUNREACH || number == EAFNOSUPPORT || number == EADDRNOTAVAIL;
    if (no_route && a->has_failed)
        return LK_UNAVAILABLE;
    return lki_error_set(a->error, scarce ? LK_NOMEM : LK_UNAVAILABLE,
                         "cannot connect to %s: %s; %s", a->transport->shown, strerror(number),
                         advice_for(number));
}

/* Waits for events of fd; `late` is the reason in the error after the deadline. */
static lk_status wait_for(const attempt *a, int fd, short events, const char *late) {
    for (;;) {
        struct pollfd polled[] = {{a->stop_fd, POLLIN, 0}, {fd, events, 0}};
        int left_ms = lki_poll_ms(a->deadline_us);
        if (poll(polled, 2, left_ms) < 0 && errno != EINTR && errno != EAGAIN)
            return say_failed(a, errno);
        if (polled[0].revents)
            return say_stopped(a);
        if (left_ms == 0) /* even with an event: a peer could send incomplete replies for ever */
            return say_late(a, late);
        if (polled[1].revents)
            return LK_OK;
    }
}

/* For a Unix socket whose queue is full: poll(2) cannot report that it has room, so try again. */
static lk_status wait_for_queue(const attempt *a) {
    attempt briefly = *a;
    int64_t until_us = lki_after_ms(lki_now_us(), QUEUE_RETRY_MS);
    if (until_us < a->deadline_us)
        briefly.deadline_us = until_us;
    lk_status status = wait_for(&briefly, -1, 0, "the server does not accept connections");
    return status == LK_UNAVAILABLE && lki_now_us() < a->deadline_us ? LK_OK : status;
}

static lk_status connect_to(const attempt *a, const struct sockaddr *address, socklen_t length) {
    int fd = a->transport->fd, number = 0;
    socklen_t size = sizeof number;
    while (connect(fd, address, length) != 0) {
        if (errno == EAGAIN && address->sa_family == AF_UNIX) {
            lk_status status = wait_for_queue(a);
            if (status != LK_OK)
                return status;
            continue;
        }
        if (errno != EINPROGRESS && errno != EINTR)
            return say_failed(a, errno);
        lk_status status =
            wait_for(a, fd, POLLOUT, "no answer in time; check host, port and firewalls");
        if (status != LK_OK)
            return status;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0)
            number = errno;
        return number ? say_failed(a, number) : LK_OK;
    }
    return LK_OK;
}

/* Errors are ignored: a connection works without these options. */
static void set_tcp_options(int fd) {
    const struct {
        int level, name, value;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY, 1},
                   {SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
                   {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EACH_S},
                   {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
                   {IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MOST_MS}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                   sizeof options[i].value);
}

static lk_status shake_hands(const attempt *a) {
    lki_transport *transport = a->transport;
    lk_status status = transport->methods->start(transport->tls, transport->fd, a->error);
    while (status == LK_OK) {
        short events;
        status = transport->methods->shake(transport->tls, &events, a->error);
        if (status == LK_OK && !events)
            break;
        if (status == LK_OK)
            status = wait_for(a, transport->fd, events,
                              "the server did not answer the TLS handshake in time; it may not "
                              "speak TLS on this port: try redis://");
    }
    return status;
}

static void set_fd(const attempt *a, int fd) {
    a->transport->fd = fd;
    if (a->fd_seen)
        atomic_store(a->fd_seen, fd);
}

/* *fd_seen is reset first: another thread may get the same number as soon as it is closed. */
static void close_fd(const attempt *a) {
    int fd = a->transport->fd;
    set_fd(a, -1);
    if (fd >= 0)
        close(fd);
}

static lk_status try_address(const attempt *a, const struct sockaddr *address, socklen_t length) {
    lki_transport *transport = a->transport;
    struct pollfd stop = {a->stop_fd, POLLIN, 0};
    if (poll(&stop, 1, 0) > 0)
        return say_stopped(a);
    set_fd(a, socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    lk_status status = transport->fd < 0 ? say_failed(a, errno) : connect_to(a, address, length);
    if (status == LK_OK && address->sa_family != AF_UNIX)
        set_tcp_options(transport->fd);
    if (status == LK_OK && transport->tls)
        status = shake_hands(a);
    if (status != LK_OK)
        close_fd(a);
    return status;
}

static lk_status open_path(const attempt *a, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return lki_error_set(a->error, LK_INVALID, "the path of %s is too long for a Unix socket",
                             a->transport->shown);
    memcpy(address.sun_path, path, strlen(path) + 1);
    return try_address(a, (const struct sockaddr *)&address, sizeof address);
}

static lk_status look_up(const attempt *a, const lki_endpoint *endpoint, struct addrinfo **out) {
    struct addrinfo wanted = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    int result = getaddrinfo(endpoint->host, endpoint->port, &wanted, out);
    if (result == 0)
        return LK_OK;
    if (result == EAI_MEMORY)
        return lki_error_no_memory(a->error);
    if (result == EAI_SYSTEM)
        return say_failed(a, errno);
    return lki_error_set(a->error, LK_UNAVAILABLE, "cannot connect to %s: %s; check the host name",
                         a->transport->shown, gai_strerror(result));
}

/* The deadline of one address: one that never answers must leave time for the next ones. */
static int64_t deadline_of_first(int64_t deadline_us, int addresses) {
    int64_t now_us = lki_now_us();
    return deadline_us == LKI_NEVER || deadline_us <= now_us
               ? deadline_us
               : now_us + (deadline_us - now_us) / addresses;
}

static lk_status open_host(attempt *a, const lki_endpoint *endpoint) {
    struct addrinfo *addresses;
    int64_t deadline_us = a->deadline_us;
    int left = 0;
    lk_status status = look_up(a, endpoint, &addresses);
    if (status != LK_OK)
        return status;
    for (const struct addrinfo *one = addresses; one; one = one->ai_next)
        left++;
    status = LK_UNAVAILABLE;
    for (const struct addrinfo *one = addresses; one && status == LK_UNAVAILABLE;
         one = one->ai_next) {
        a->deadline_us = deadline_of_first(deadline_us, left--);
        status = try_address(a, one->ai_addr, one->ai_addrlen);
        a->has_failed = true;
    }
    freeaddrinfo(addresses);
    return status;
}

/* Makes the socket blocking, with a timeout. All other calls then use MSG_DONTWAIT. */
static void allow_patience(int fd) {
    struct timeval patience = {.tv_usec = LKI_PATIENCE_MS * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

lk_status lki_transport_open(const lki_endpoint *endpoint, const lki_tls_files *tls,
                             int64_t deadline_us, int stop_fd, _Atomic int *fd_seen,
                             lki_transport **out, lki_error *error) {
    lki_transport *made = lki_new(sizeof *made);
    if (!made)
        return lki_error_no_memory(error);
    made->fd = -1;
    attempt a = {.transport = made,
                 .deadline_us = deadline_us,
                 .stop_fd = stop_fd,
                 .fd_seen = fd_seen,
                 .error = error};
    lk_status status = LK_OK;
    if (!lki_copy_to(&made->shown, endpoint->shown))
        status = lki_error_no_memory(error);
    if (status == LK_OK && endpoint->tls)
        status = lki_tls_get(&made->methods, error);
    if (status == LK_OK && endpoint->tls)
        status = made->methods->new (endpoint, tls, &made->tls, error);
    if (status == LK_OK)
        status = endpoint->path ? open_path(&a, endpoint->path) : open_host(&a, endpoint);
    if (status == LK_OK && !made->tls)
        allow_patience(made->fd);
    if (status == LK_OK)
        *out = made;
    else
        lki_transport_close(made);
    return status;
}

/* ---------------------------------------------------------------------------------- closing */

void lki_transport_interrupt(lki_transport *transport) {
    shutdown(transport->fd, SHUT_RDWR);
}

void lki_transport_close(lki_transport *transport) {
    if (!transport)
        return;
    if (transport->tls) {
        transport->methods->say_goodbye(transport->tls);
        transport->methods->free(transport->tls);
    }
    transport->tls = NULL;
    lki_transport_close_after_fork(transport);
}

/*
 * Does not touch `tls`: at the fork, another thread of the parent may have been inside OpenSSL,
 * with its locks held. So the child leaves that memory as it is.
 */
void lki_transport_close_after_fork(lki_transport *transport) {
    if (!transport)
        return;
    if (transport->fd >= 0)
        close(transport->fd);
    lki_bytes_free(&transport->put_back);
    lki_free(transport->shown);
    lki_free(transport);
}

/* ---------------------------------------------------------------------------------- bytes */

int lki_transport_fd(const lki_transport *transport) {
    return transport->fd;
}

static bool has_put_back(const lki_transport *transport) {
    return transport->put_back.length > 0;
}

static ssize_t say_broken(const lki_transport *transport, int number, lki_error *error) {
    if (number == EAGAIN || number == EWOULDBLOCK)
        return LKI_WOULD_BLOCK;
    lki_error_set(error, LK_UNAVAILABLE, "the connection to %s was lost: %s", transport->shown,
                  strerror(number));
    return LKI_BROKEN;
}

static ssize_t receive(const lki_transport *transport, void *buffer, size_t size, int flags,
                       lki_error *error) {
    ssize_t length;
    do { /* a signal ends the wait: otherwise signals could prolong it for ever */
        length = recv(transport->fd, buffer, size, flags);
        flags |= MSG_DONTWAIT;
    } while (length < 0 && errno == EINTR);
    if (length > 0)
        return length;
    if (length < 0)
        return say_broken(transport, errno, error);
    lki_error_set(error, LK_UNAVAILABLE, "%s has closed the connection", transport->shown);
    return LKI_BROKEN;
}

lk_status lki_transport_put_back(lki_transport *transport, const void *bytes, size_t size,
                                 lki_error *error) {
    assert(!has_put_back(transport));
    lki_bytes_add(&transport->put_back, bytes, size);
    return transport->put_back.failed ? lki_error_no_memory(error) : LK_OK;
}

static ssize_t read_put_back(lki_transport *transport, void *buffer, size_t size) {
    lki_bytes *kept = &transport->put_back;
    size_t left = kept->length - transport->put_back_read;
    size_t length = left < size ? left : size;
    memcpy(buffer, kept->data + transport->put_back_read, length);
    transport->put_back_read += length;
    if (length == left) {
        lki_bytes_free(kept);
        transport->put_back_read = 0;
    }
    return (ssize_t)length;
}

ssize_t lki_transport_read(lki_transport *transport, void *buffer, size_t size, lki_error *error) {
    assert(size > 0);
    if (has_put_back(transport))
        return read_put_back(transport, buffer, size);
    if (transport->tls)
        return transport->methods->read(transport->tls, buffer, size, error);
    return receive(transport, buffer, size, MSG_DONTWAIT, error);
}

bool lki_transport_is_patient(const lki_transport *transport) {
    return !transport->tls;
}

/*
 * To sleep and wake up takes longer than most replies of a server nearby. So check the socket
 * repeatedly for a moment first, and yield the processor each time. After failures, spin less and
 * less often.
 */
static ssize_t spin(lki_transport *transport, void *buffer, size_t size, lki_error *error) {
    int64_t until_us = lki_now_us() + SPIN_US;
    if (transport->skipped_spins_left > 0) {
        transport->skipped_spins_left--;
        return LKI_WOULD_BLOCK;
    }
    do {
        ssize_t length = receive(transport, buffer, size, MSG_DONTWAIT, error);
        if (length != LKI_WOULD_BLOCK) {
            transport->skipped_spins = 0;
            return length;
        }
        sched_yield();
    } while (lki_now_us() < until_us);
    transport->skipped_spins = transport->skipped_spins < SKIPPED_SPINS_MOST
                                   ? 2 * transport->skipped_spins + 1
                                   : SKIPPED_SPINS_MOST;
    transport->skipped_spins_left = transport->skipped_spins;
    return LKI_WOULD_BLOCK;
}

ssize_t lki_transport_read_patiently(lki_transport *transport, void *buffer, size_t size,
                                     lki_error *error) {
    assert(size > 0 && !transport->tls);
    if (has_put_back(transport))
        return read_put_back(transport, buffer, size);
    ssize_t length = spin(transport, buffer, size, error);
    return length == LKI_WOULD_BLOCK ? receive(transport, buffer, size, 0, error) : length;
}

ssize_t lki_transport_write(lki_transport *transport, const void *bytes, size_t size,
                            lki_error *error) {
    ssize_t length;
    assert(size > 0);
    if (transport->tls)
        return transport->methods->write(transport->tls, bytes, size, error);
    do {
        length = send(transport->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    return length < 0 ? say_broken(transport, errno, error) : length;
}

short lki_transport_events(const lki_transport *transport, bool writing) {
    if (!writing && has_put_back(transport)) /* so that poll(2) returns although none are new */
        return POLLIN | POLLOUT;
    if (transport->tls)
        return transport->methods->events(transport->tls, writing);
    return writing ? POLLOUT : POLLIN;
}
