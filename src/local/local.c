/*
 * See local.h. lki_local_ensure repeats this attempt until a server answers, or the deadline:
 *
 *   open the folder ──> probe the socket ──answers──> done
 *         ^                  │      └──silent until the deadline──> LK_UNAVAILABLE, and no second
 *         │                  │                                      server is started
 *         │                  nobody listens
 *         │                  v
 *         │<──busy── take start.lock, probe again, start a server, wait until it answers
 *         └──────────────────┘ the folder was removed meanwhile
 *
 * A process that gives up while the server is starting does not end it: the next one finds it.
 *
 * Limits: the server has the resource limits and the control group of the process that started it.
 * If a service manager ends the group, the server ends; the next use starts one, with the locks.
 */
#include "local/local.h"

#include "base/clock.h"
#include "base/memory.h"
#include "local/folder.h"
#include "local/orphan.h"
#include "local/probe.h"
#include "local/start.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { LOG_LINE_MOST = 256, PID_TEXT_MOST = 32 };

/* One attempt of lki_local_ensure. */
typedef struct {
    const char *folder, *socket, *search_path;
    const lki_patience *patience;
    int folder_fd; /* opened by this attempt */
} ensure_attempt;

static const char *pid_text(int folder_fd, char text[PID_TEXT_MOST]) {
    long pid = lki_folder_pid(folder_fd);
    text[0] = '\0';
    if (pid > 0)
        snprintf(text, PID_TEXT_MOST, " (pid %ld)", pid);
    return text;
}

static lk_status fail_to_start(const ensure_attempt *attempt, const char *program, int log_fd,
                               off_t from, lki_error *error) {
    char line[LOG_LINE_MOST];
    lki_log_last_line(log_fd, from, line, sizeof line);
    return lki_error_set(error, LK_UNAVAILABLE, "%s did not start in %s: %s", program,
                         attempt->folder, *line ? line : "it wrote nothing to its log");
}

/*
 * Waits for the server that was started. LK_OK: the wait is over; *sign says how. It is over if the
 * server answers or is silent, at the deadline, and if the folder was removed.
 */
static lk_status await(const ensure_attempt *attempt, const char *program, int log_fd, off_t from,
                       lki_sign *sign, lki_error *error) {
    for (;;) {
        lk_status status = lki_probe(attempt->socket, attempt->patience, sign, error);
        if (status != LK_OK || *sign == LKI_ANSWERS || *sign == LKI_SILENT ||
            !lki_folder_is_at(attempt->folder_fd, attempt->folder))
            return status;
        bool over = lki_now_us() >= attempt->patience->deadline_us;
        if (*sign == LKI_NOBODY && (over || !lki_folder_has_server(attempt->folder_fd)))
            return fail_to_start(attempt, program, log_fd, from, error);
        if (over)
            return LK_OK;
        status = lki_pause(attempt->patience, error);
        if (status != LK_OK)
            return status;
    }
}

/*
 * Call it with start.lock held. LK_BUSY: a server has the folder locked, but does not listen yet.
 */
static lk_status start_and_await(const ensure_attempt *attempt, lki_sign *sign, lki_error *error) {
    char *program = NULL;
    int log_fd = -1;
    off_t from = 0;
    lk_status status = lki_start_find(attempt->search_path, &program, error);
    if (status == LK_OK)
        status = lki_folder_open_log(attempt->folder_fd, &log_fd, &from, error);
    if (status == LK_OK) {
        lki_orphan_end(attempt->folder_fd);
        status = lki_start(program, attempt->folder_fd, log_fd, error);
    }
    if (status == LK_OK)
        status = await(attempt, program, log_fd, from, sign, error);
    if (log_fd >= 0)
        close(log_fd);
    lki_free(program);
    return status;
}

/* LK_BUSY: another process is starting a server. */
static lk_status start_if_first(const ensure_attempt *attempt, lki_sign *sign, lki_error *error) {
    int lock_fd;
    lk_status status = lki_folder_lock(attempt->folder_fd, &lock_fd, error);
    if (status != LK_OK)
        return status;
    status = lki_probe(attempt->socket, attempt->patience, sign, error);
    if (status == LK_OK && *sign == LKI_NOBODY)
        status = start_and_await(attempt, sign, error);
    lki_folder_unlock(lock_fd);
    return status;
}

static lk_status give_up(const ensure_attempt *attempt, lki_sign sign, lki_error *error) {
    const char *fault = sign == LKI_COMING ? "is still loading its data"
                        : sign == LKI_SILENT
                            ? "does not answer: it is stopped or hangs; end it, and the next use "
                              "starts a new one"
                            : "does not listen: end it, and the next use starts a new one";
    char pid[PID_TEXT_MOST];
    if (sign == LKI_NOBODY && !lki_folder_has_server(attempt->folder_fd))
        return lki_error_set(error, LK_UNAVAILABLE, "no private server started in %s in time",
                             attempt->folder);
    return lki_error_set(error, LK_UNAVAILABLE, "the private server%s in %s %s",
                         pid_text(attempt->folder_fd, pid), attempt->folder, fault);
}

static lk_status try_once(ensure_attempt *attempt, bool *up, lki_error *error) {
    lki_sign sign = LKI_NOBODY;
    lk_status status = lki_folder_open(attempt->folder, &attempt->folder_fd, error);
    if (status != LK_OK)
        return status;
    status = lki_probe(attempt->socket, attempt->patience, &sign, error);
    if (status == LK_OK && sign == LKI_NOBODY)
        status = start_if_first(attempt, &sign, error);
    *up = status == LK_OK && sign == LKI_ANSWERS;
    if (status == LK_BUSY)
        status = LK_OK;
    if (status == LK_OK && !*up)
        status = lki_now_us() >= attempt->patience->deadline_us
                     ? give_up(attempt, sign, error)
                     : lki_pause(attempt->patience, error);
    close(attempt->folder_fd);
    return status;
}

lk_status lki_local_ensure(const lki_local_environment *environment, int64_t deadline_us,
                           int stop_fd, char **socket_path, lki_error *error) {
    lki_patience patience = {.deadline_us = deadline_us, .stop_fd = stop_fd};
    char *socket = lki_folder_join(environment->folder, LKI_LOCAL_SOCKET);
    if (!socket)
        return lki_error_no_memory(error);
    ensure_attempt attempt = {.folder = environment->folder,
                              .socket = socket,
                              .search_path = environment->search_path,
                              .patience = &patience,
                              .folder_fd = -1};
    lk_status status = LK_OK;
    for (bool up = false; status == LK_OK && !up;)
        status = try_once(&attempt, &up, error);
    if (status == LK_OK)
        *socket_path = socket;
    else
        lki_free(socket);
    return status;
}
