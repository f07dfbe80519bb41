/*
 * See local.h. One look after the other, until somebody answers or the time is over:
 *
 *   open the folder ──> ask at the socket ──answers──> done
 *         ^                  │      └──silent until the deadline──> LK_UNAVAILABLE, never a second
 *         │                  nobody
 *         │                  v
 *         │<──busy── take the starting lock, ask again, start a server, wait for its answer
 *         └──────────────────┘ the folder was removed meanwhile
 *
 * Whoever gives up while a server comes up leaves it to the next.
 *
 * Limits: the server has the resource limits and the control group of its starter. A service
 * manager that ends the group ends the server; the next use starts it again, with its locks.
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

enum { WORDS_MOST = 256, PID_TEXT_MOST = 32 };

/* One look, in the folder as it was then. */
typedef struct {
    const char *folder, *socket, *search_path;
    const lki_patience *patience;
    int folder_fd;
} look_state;

static const char *pid_text(int folder_fd, char text[PID_TEXT_MOST]) {
    long pid = lki_folder_pid(folder_fd);
    text[0] = '\0';
    if (pid > 0)
        snprintf(text, PID_TEXT_MOST, " (pid %ld)", pid);
    return text;
}

static lk_status fail_to_start(const look_state *look, const char *program, int log_fd, off_t from,
                               lki_error *error) {
    char words[WORDS_MOST];
    lki_log_last_line(log_fd, from, words, sizeof words);
    return lki_error_set(error, LK_UNAVAILABLE, "%s did not come up in %s: %s", program,
                         look->folder, *words ? words : "it has said nothing");
}

/* The server was started: LK_OK when it is no more for us to wait, and a sign that says why. */
static lk_status await(const look_state *look, const char *program, int log_fd, off_t from,
                       lki_sign *sign, lki_error *error) {
    for (;;) {
        lk_status status = lki_probe(look->socket, look->patience, sign, error);
        if (status != LK_OK || *sign == LKI_ANSWERS || *sign == LKI_SILENT ||
            !lki_folder_is_at(look->folder_fd, look->folder))
            return status;
        bool over = lki_now_us() >= look->patience->deadline_us;
        if (*sign == LKI_NOBODY && (over || !lki_folder_has_server(look->folder_fd)))
            return fail_to_start(look, program, log_fd, from, error);
        if (over)
            return LK_OK;
        status = lki_pause(look->patience, error);
        if (status != LK_OK)
            return status;
    }
}

/* Needs the starting lock. LK_BUSY: a server lives in the folder that nobody can reach yet. */
static lk_status start_and_await(const look_state *look, lki_sign *sign, lki_error *error) {
    char *program = NULL;
    int log_fd = -1;
    off_t from = 0;
    lk_status status = lki_start_find(look->search_path, &program, error);
    if (status == LK_OK)
        status = lki_folder_open_log(look->folder_fd, &log_fd, &from, error);
    if (status == LK_OK) {
        lki_orphan_end(look->folder_fd);
        status = lki_start(program, look->folder_fd, log_fd, error);
    }
    if (status == LK_OK)
        status = await(look, program, log_fd, from, sign, error);
    if (log_fd >= 0)
        close(log_fd);
    lki_free(program);
    return status;
}

/* LK_BUSY: another process does what is to be done. */
static lk_status start_if_first(const look_state *look, lki_sign *sign, lki_error *error) {
    int lock_fd;
    lk_status status = lki_folder_lock(look->folder_fd, &lock_fd, error);
    if (status != LK_OK)
        return status;
    status = lki_probe(look->socket, look->patience, sign, error);
    if (status == LK_OK && *sign == LKI_NOBODY)
        status = start_and_await(look, sign, error);
    lki_folder_unlock(lock_fd);
    return status;
}

static lk_status give_up(const look_state *look, lki_sign sign, lki_error *error) {
    const char *fault = sign == LKI_COMING ? "still loads its data"
                        : sign == LKI_SILENT
                            ? "does not answer: it is stopped, or stuck; end it, and a new one "
                              "is started"
                            : "does not listen: end it, and a new one is started";
    char pid[PID_TEXT_MOST];
    if (sign == LKI_NOBODY && !lki_folder_has_server(look->folder_fd))
        return lki_error_set(error, LK_UNAVAILABLE, "no private server came up in %s in time",
                             look->folder);
    return lki_error_set(error, LK_UNAVAILABLE, "the private server%s in %s %s",
                         pid_text(look->folder_fd, pid), look->folder, fault);
}

static lk_status look_once(look_state *look, bool *up, lki_error *error) {
    lki_sign sign = LKI_NOBODY;
    lk_status status = lki_folder_open(look->folder, &look->folder_fd, error);
    if (status != LK_OK)
        return status;
    status = lki_probe(look->socket, look->patience, &sign, error);
    if (status == LK_OK && sign == LKI_NOBODY)
        status = start_if_first(look, &sign, error);
    *up = status == LK_OK && sign == LKI_ANSWERS;
    if (status == LK_BUSY)
        status = LK_OK;
    if (status == LK_OK && !*up)
        status = lki_now_us() >= look->patience->deadline_us ? give_up(look, sign, error)
                                                             : lki_pause(look->patience, error);
    close(look->folder_fd);
    return status;
}

lk_status lki_local_ensure(const lki_local_environment *environment, int64_t deadline_us,
                           int stop_fd, char **socket_path, lki_error *error) {
    lki_patience patience = {.deadline_us = deadline_us, .stop_fd = stop_fd};
    char *socket = lki_folder_join(environment->folder, LKI_LOCAL_SOCKET);
    if (!socket)
        return lki_error_no_memory(error);
    look_state look = {.folder = environment->folder,
                       .socket = socket,
                       .search_path = environment->search_path,
                       .patience = &patience,
                       .folder_fd = -1};
    lk_status status = LK_OK;
    for (bool up = false; status == LK_OK && !up;)
        status = look_once(&look, &up, error);
    if (status == LK_OK)
        *socket_path = socket;
    else
        lki_free(socket);
    return status;
}
