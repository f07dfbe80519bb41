/*
 * See start.h.
 *
 *   the caller ──clone──> the intermediate ──clone──> the server
 *                         starts a session,           sets up standard input,
 *                         locks the folder,           output and error,
 *                         exits                       calls exec
 *
 * Then the parent of the server is init, and its session has no terminal that could send it
 * signals. The caller may have threads, so before exec both children only make system calls, and
 * allocate nothing.
 */
#include "local/start.h"

#include "base/memory.h"
#include "local/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_OTHER_FD = 3, DESCRIPTORS_MOST = 1 << 20 };

/* Exit codes of the intermediate. */
enum { STARTED, OCCUPIED, CANNOT_LOCK, CANNOT_CLONE };

typedef struct {
    const char *program;
    int folder_fd, log_fd;
    unsigned descriptors; /* descriptors from here on cannot exist */
} launch_plan;

/*
 * Paths are relative to the working folder of the server. So a server whose folder was removed
 * cannot touch the socket of the next server. Redis 6.2 knows all these options.
 */
static const char *const options[][2] = {
    {"--port", "0"},
    {"--unixsocket", LKI_LOCAL_SOCKET},
    {"--unixsocketperm", "700"},
    {"--dir", "."},
    {"--pidfile", LKI_LOCAL_PIDFILE},
    {"--logfile", LKI_LOCAL_LOG},
    {"--loglevel", "warning"},
    {"--daemonize", "no"},
    {"--appendonly", "yes"}, /* after a kill, the next server has the locks again */
    {"--appendfsync", "no"}, /* the locks need not survive a crash of the machine */
    {"--save", ""},
    {"--maxmemory-policy", "noeviction"},
    {"--databases", "16"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static bool is_program(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

/*
 * *found stays NULL if there is no such program. Relative folders are skipped: the server has
 * another working folder.
 */
static lk_status search(const char *path, const char *name, char **found, lki_error *error) {
    char *folders = lki_copy(path), *rest = NULL;
    if (!folders)
        return lki_error_no_memory(error);
    lk_status status = LK_OK;
    for (char *folder = strtok_r(folders, ":", &rest); folder && !*found;
         folder = strtok_r(NULL, ":", &rest)) {
        if (folder[0] != '/')
            continue;
        char *program = lki_folder_join(folder, name);
        if (!program) {
            status = lki_error_no_memory(error);
            break;
        }
        if (is_program(program))
            *found = program;
        else
            lki_free(program);
    }
    lki_free(folders);
    return status;
}

lk_status lki_start_find(const char *path, char **program, lki_error *error) {
    char *found = NULL;
    lk_status status = search(path, "valkey-server", &found, error);
    if (status == LK_OK && !found)
        status = search(path, "redis-server", &found, error);
    if (status == LK_OK && !found)
        status = lki_error_set(error, LK_UNAVAILABLE,
                               "no valkey-server or redis-server is on the PATH: install one "
                               "(apt-get install redis-server, or valkey-server), or give the URL "
                               "of a server");
    if (status == LK_OK)
        *program = found;
    return status;
}

/*
 * Like fork(), but the end of the child sends no SIGCHLD. So no signal handler and no waitpid(-1)
 * of the program sees the child, and we can wait for it even if the program ignores SIGCHLD.
 * Handlers of pthread_atfork, which may take locks, do not run. All arguments are 0, so their
 * order, which depends on the architecture, does not matter.
 */
static pid_t clone_without_signal(void) {
    return (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
}

/* Not _exit(): a sanitizer replaces it by one that does more than a system call. */
static _Noreturn void exit_now(int code) {
    for (;;)
        syscall(SYS_exit_group, (long)code);
}

static void close_others(unsigned descriptors) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (long)FIRST_OTHER_FD, (long)~0U, 0L) == 0)
        return;
#endif
    for (unsigned fd = FIRST_OTHER_FD; fd < descriptors; fd++)
        close((int)fd);
}

static _Noreturn void become_server(const launch_plan *plan, int guard_fd) {
    static const char failed[] = "the server program cannot be executed\n";
    /* Duplicate them first: in a caller without standard descriptors, these may be 0, 1 or 2. */
    int in = fcntl(guard_fd, F_DUPFD, FIRST_OTHER_FD);
    int out = fcntl(plan->log_fd, F_DUPFD, FIRST_OTHER_FD);
    if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(out, STDERR_FILENO) < 0)
        exit_now(EXIT_FAILURE);
    close_others(plan->descriptors);
    char *words[1 + 2 * OPTION_COUNT + 1] = {(char *)(uintptr_t)plan->program};
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        words[1 + 2 * i] = (char *)(uintptr_t)options[i][0];
        words[2 + 2 * i] = (char *)(uintptr_t)options[i][1];
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(plan->program, words);
    if (write(STDERR_FILENO, failed, sizeof failed - 1) < 0) {
        /* The log cannot be written; there is no other place to report to. */
    }
    exit_now(EXIT_FAILURE);
}

static _Noreturn void run_intermediate(const launch_plan *plan) {
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    setsid();
    umask(S_IRWXG | S_IRWXO);
    int guard_fd = -1;
    if (fchdir(plan->folder_fd) == 0)
        guard_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (guard_fd < 0)
        exit_now(CANNOT_LOCK);
    /* Not in the caller: a child that another of its threads forks would keep the lock. */
    if (flock(guard_fd, LOCK_EX | LOCK_NB) != 0)
        exit_now(errno == EWOULDBLOCK ? OCCUPIED : CANNOT_LOCK);
    unlink(LKI_LOCAL_SOCKET); /* a killed server left it: with the lock, no other server runs */
    pid_t server = clone_without_signal();
    if (server == 0)
        become_server(plan, guard_fd);
    exit_now(server < 0 ? CANNOT_CLONE : STARTED);
}

static unsigned count_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max > DESCRIPTORS_MOST)
        return DESCRIPTORS_MOST;
    return (unsigned)limit.rlim_max;
}

lk_status lki_start(const char *program, int folder_fd, int log_fd, lki_error *error) {
    launch_plan plan = {
        .program = program,
        .folder_fd = folder_fd,
        .log_fd = log_fd,
        .descriptors = count_descriptors(),
    };
    /* No signal handler of the caller may run in a child. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = clone_without_signal();
    if (child == 0)
        run_intermediate(&plan);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    int ended = 0;
    pid_t waited = child;
    while (child > 0 && (waited = waitpid(child, &ended, __WALL)) < 0 && errno == EINTR) {}
    int code = child < 0 ? CANNOT_CLONE : STARTED;
    if (child > 0 && waited == child)
        code = WIFEXITED(ended) ? WEXITSTATUS(ended) : CANNOT_CLONE;
    switch (code) {
    case STARTED:
        return LK_OK;
    case OCCUPIED:
        return LK_BUSY;
    case CANNOT_CLONE:
        return lki_error_set(error, LK_NOMEM, "cannot start %s: no process can be created",
                             program);
    default:
        return lki_error_set(error, LK_UNAVAILABLE,
                             "the folder of the private server cannot be locked: it must be on a "
                             "local file system");
    }
}
