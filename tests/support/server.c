/* See server.h. */
#include "server.h"

#include "test_memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { START_MOST_MS = 10000, POLL_MS = 5 };

struct test_server {
    char *program, *folder, *socket;
    char *settings;                  /* its settings file; NULL: none */
    test_words words;                /* its command line */
    char *clock;                     /* the file of its stepped clock; NULL: the machine's clock */
    _Atomic int64_t *clock_ahead_us; /* that file, mapped */
    pid_t pid;
    bool paused;
    pid_t starter; /* a forked child must not stop its parent's servers when it ends */
    test_server *next;
};

/* All that run, so that the end of the process ends them; servers_lock protects it. */
static test_server *servers;
static pthread_mutex_t servers_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t cleanup_once = PTHREAD_ONCE_INIT;
static const int deadly[] = {SIGHUP, SIGINT, SIGTERM, SIGABRT, SIGALRM, SIGSEGV};

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static void end(test_server *server, int with_signal) {
    if (server->pid <= 0)
        return;
    kill(server->pid, with_signal);
    if (server->paused) /* otherwise SIGTERM waits, and so do we */
        kill(server->pid, SIGCONT);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {}
    server->pid = 0;
    server->paused = false;
}

static void end_and_free(test_server *server) {
    end(server, SIGKILL);
    if (server->folder)
        nftw(server->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (server->clock_ahead_us)
        munmap((void *)server->clock_ahead_us, sizeof *server->clock_ahead_us);
    test_words_free(&server->words);
    free(server->settings);
    free(server->program);
    free(server->folder);
    free(server->socket);
    free(server->clock);
    free(server);
}

static void stop_all(void) {
    pthread_mutex_lock(&servers_lock);
    while (servers) {
        test_server *server = servers;
        servers = server->next;
        if (server->starter == getpid())
            end_and_free(server);
    }
    pthread_mutex_unlock(&servers_lock);
}

/*
 * A test that dies by a signal leaves no folder. This calls what a handler may not; the process is
 * about to end, an alarm ends it should this hang, and PR_SET_PDEATHSIG sees to the server anyway.
 */
static void stop_all_and_die(int number) {
    signal(number, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    alarm(2);
    if (pthread_mutex_trylock(&servers_lock) == 0) {
        pthread_mutex_unlock(&servers_lock);
        stop_all();
    }
    raise(number);
}

static void arrange_cleanup(void) {
    atexit(stop_all);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction action = {.sa_handler = stop_all_and_die}, before;
        if (sigaction(deadly[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(deadly[i], &action, NULL);
    }
}

static void set_command_line(test_server *server, const char *const *options) {
    test_words *words = &server->words;
    test_words_add(words, server->program, NULL);
    if (server->settings)
        test_words_add(words, server->settings, NULL);
    test_words_add(words, "--port", "0", "--unixsocket", server->socket, "--unixsocketperm", "700",
                   "--dir", server->folder, "--save", "", "--appendonly", "no", "--logfile",
                   "server.log", NULL);
    test_words_add_all(words, options);
}

static void run_child(const test_server *server, pid_t parent) {
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(127);
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
    }
    if (server->clock) {
        setenv("LD_PRELOAD", TEST_STEPPED_CLOCK, 1);
        setenv("LATCHKEY_TEST_CLOCK", server->clock, 1);
    }
    execvp(server->program, server->words.list);
    _exit(127);
}

static void spawn(test_server *server) {
    pid_t parent = getpid();
    server->pid = fork();
    if (server->pid == 0)
        run_child(server, parent);
}

/* A server that wants a password first is ready too. One that loads its data is not. */
static bool shows_readiness(const redisReply *reply) {
    return reply && (reply->type == REDIS_REPLY_STATUS ||
                     (reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOAUTH", 6) == 0));
}

static bool answers(const test_server *server) {
    bool yes = false;
    redisContext *context = redisConnectUnix(server->socket);
    if (context && !context->err) {
        redisReply *reply = redisCommand(context, "PING");
        yes = shows_readiness(reply);
        freeReplyObject(reply);
    }
    if (context)
        redisFree(context);
    return yes;
}

static int64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void show_log(const test_server *server) {
    char *path = test_print("%s/server.log", server->folder);
    FILE *file = fopen(path, "r");
    char line[512];
    while (file && fgets(line, sizeof line, file))
        fputs(line, stderr);
    if (file)
        fclose(file);
    free(path);
}

static bool wait_until_ready(test_server *server) {
    int64_t end_ms = monotonic_ms() + START_MOST_MS;
    while (monotonic_ms() < end_ms) {
        int status;
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            fprintf(stderr, "%s ended at once\n", server->program);
            server->pid = 0;
            return false;
        }
        if (answers(server))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
    fprintf(stderr, "%s does not answer\n", server->program);
    return false;
}

static bool make_clock(test_server *server) {
    server->clock = test_print("%s/clock", server->folder);
    int fd = open(server->clock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *server->clock_ahead_us) != 0) {
        perror(server->clock);
        return false;
    }
    void *mapped =
        mmap(NULL, sizeof *server->clock_ahead_us, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        return false;
    server->clock_ahead_us = mapped;
    return true;
}

static bool write_settings(test_server *server, const char *text) {
    server->settings = test_print("%s/server.conf", server->folder);
    FILE *file = fopen(server->settings, "w");
    bool written = file && fputs(text, file) >= 0;
    if (file && fclose(file) != 0)
        written = false;
    if (!written)
        perror(server->settings);
    return written;
}

static test_server *start(const char *program, const char *settings, const char *const *options,
                          bool with_clock) {
    pthread_once(&cleanup_once, arrange_cleanup);
    const char *parent = getenv("TMPDIR");
    test_server *server = test_alloc(1, sizeof *server);
    server->starter = getpid();
    server->program = test_copy(program, strlen(program));
    server->folder = test_print("%s/latchkey-test-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(server->folder)) {
        perror(server->folder);
        free(server->folder);
        server->folder = NULL;
        goto failed;
    }
    server->socket = test_print("%s/socket", server->folder);
    if (with_clock && !make_clock(server))
        goto failed;
    if (settings && !write_settings(server, settings))
        goto failed;

    set_command_line(server, options);
    /* Listed before it runs: from the fork on, the end of this process must find it. */
    pthread_mutex_lock(&servers_lock);
    server->next = servers;
    servers = server;
    spawn(server);
    pthread_mutex_unlock(&servers_lock);
    if (server->pid < 0) {
        perror("fork");
    } else if (wait_until_ready(server)) {
        return server;
    }
    show_log(server);
    test_server_stop(server);
    return NULL;

failed:
    end_and_free(server);
    return NULL;
}

test_server *test_server_start(const char *program, const char *const *options) {
    return start(program, NULL, options, false);
}

test_server *test_server_start_with_settings(const char *program, const char *settings,
                                             const char *const *options) {
    return start(program, settings, options, false);
}

test_server *test_server_start_with_clock(const char *program, const char *const *options) {
    return start(program, NULL, options, true);
}

test_server *test_server_start_with_clock_and_settings(const char *program, const char *settings,
                                                       const char *const *options) {
    return start(program, settings, options, true);
}

void test_server_step_clock(test_server *server, int64_t us) {
    *server->clock_ahead_us += us;
}

int64_t test_server_clock_us(const test_server *server) {
    return *server->clock_ahead_us;
}

void test_server_end(test_server *server, int with_signal) {
    pthread_mutex_lock(&servers_lock);
    end(server, with_signal);
    pthread_mutex_unlock(&servers_lock);
}

bool test_server_start_again(test_server *server) {
    pthread_mutex_lock(&servers_lock);
    spawn(server);
    pthread_mutex_unlock(&servers_lock);
    if (server->pid > 0 && wait_until_ready(server))
        return true;
    show_log(server);
    return false;
}

/* Returns when the kernel has done it: a signal alone would let the server answer for a moment. */
static void signal_and_await(test_server *server, int number, int change) {
    int status;
    pid_t changed;
    kill(server->pid, number);
    do
        changed = waitpid(server->pid, &status, change);
    while (changed < 0 && errno == EINTR);
    if (changed > 0 && (WIFEXITED(status) || WIFSIGNALED(status)))
        server->pid = 0;
    server->paused = server->pid > 0 && number == SIGSTOP;
}

void test_server_pause(test_server *server) {
    pthread_mutex_lock(&servers_lock);
    if (server->pid > 0 && !server->paused)
        signal_and_await(server, SIGSTOP, WUNTRACED);
    pthread_mutex_unlock(&servers_lock);
}

void test_server_continue(test_server *server) {
    pthread_mutex_lock(&servers_lock);
    if (server->paused)
        signal_and_await(server, SIGCONT, WCONTINUED);
    pthread_mutex_unlock(&servers_lock);
}

bool test_server_runs(const test_server *server) {
    return server->pid > 0 && !server->paused;
}

void test_server_stop(test_server *server) {
    if (!server)
        return;
    pthread_mutex_lock(&servers_lock);
    test_server **link = &servers;
    while (*link != server)
        link = &(*link)->next;
    *link = server->next;
    pthread_mutex_unlock(&servers_lock);
    end_and_free(server);
}

const char *test_server_socket(const test_server *server) {
    return server->socket;
}

const char *test_server_program(const test_server *server) {
    return server->program;
}

pid_t test_server_pid(const test_server *server) {
    return server->pid;
}

int test_server_free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(probe, (struct sockaddr *)&address, length) != 0 ||
        getsockname(probe, (struct sockaddr *)&address, &length) != 0)
        abort();
    close(probe);
    return ntohs(address.sin_port);
}

bool test_server_available(const char *program) {
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        char *candidate = test_print("%.*s/%s", (int)length, path, program);
        bool found = access(candidate, X_OK) == 0;
        free(candidate);
        if (found)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

const char *test_server_any(void) {
    return test_server_available("redis-server") ? "redis-server" : "valkey-server";
}
