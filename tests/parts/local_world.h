/*
 * What the tests of `local:` share: a place of its own for each test, and an end for every server
 * in it, however the test ends. A server is known by its working folder, which lies in that place.
 */
#ifndef TEST_LOCAL_WORLD_H
#define TEST_LOCAL_WORLD_H

#include "base/clock.h"
#include "base/memory.h"
#include "local/local.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORLD_PATH = 256, WORLD_WAIT_MS = 20000, WORLD_STEP_MS = 5, NOBODY_UID = 65534 };

static struct {
    char root[64], folder[96]; /* the test's place, and the server's folder in it */
    char *path;                /* PATH as it was */
    lki_error error;           /* of the last world_ensure */
} world;

/* Whether that process is a server, or on its way to be one, in this test's place. */
static inline bool world_has(const char *pid) {
    char link[WORLD_PATH], target[WORLD_PATH];
    snprintf(link, sizeof link, "/proc/%.20s/cwd", pid);
    ssize_t length = isdigit((unsigned char)*pid) ? readlink(link, target, sizeof target - 1) : -1;
    if (length <= 0)
        return false;
    target[length] = '\0';
    size_t root = strlen(world.root);
    return strncmp(target, world.root, root) == 0 && target[root] == '/';
}

/* Counts the servers; sends each the signal, if that is not 0. */
static inline int world_servers(int number) {
    int count = 0;
    DIR *processes = opendir("/proc");
    for (const struct dirent *entry; processes && (entry = readdir(processes));)
        if (world_has(entry->d_name)) {
            count++;
            if (number)
                kill((pid_t)strtol(entry->d_name, NULL, 10), number);
        }
    if (processes)
        closedir(processes);
    return count;
}

static inline void world_step(void) {
    nanosleep(&(struct timespec){.tv_nsec = WORLD_STEP_MS * 1000000L}, NULL);
}

/* Ended, whether anybody has asked for its status or not. */
static inline bool world_is_gone(pid_t pid) {
    char path[WORLD_PATH], text[WORLD_PATH] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    const char *name_end = length > 0 ? strrchr(text, ')') : NULL;
    return !name_end || name_end[2] == 'Z' || name_end[2] == 'X';
}

static inline void world_await_end(pid_t pid) {
    for (int ms = 0; ms < WORLD_WAIT_MS && !world_is_gone(pid); ms += WORLD_STEP_MS)
        world_step();
    assert_true(world_is_gone(pid));
}

static inline int world_remove_entry(const char *path, const struct stat *status, int type,
                                     struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static inline void world_remove(const char *path) {
    nftw(path, world_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void world_clear(void) {
    for (int ms = 0; ms < WORLD_WAIT_MS && world_servers(SIGKILL) > 0; ms += WORLD_STEP_MS)
        world_step();
    world_remove(world.root);
}

/* Ends the servers when the test program is killed: it waits for the end of a pipe. */
static inline pid_t world_watch(int *end) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t watcher = fork();
    if (watcher == 0) {
        char byte;
        close(ends[1]);
        setsid();
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {}
        world_clear();
        _exit(0);
    }
    close(ends[0]);
    *end = ends[1];
    return watcher;
}

static inline int world_setup(void **state) {
    static int watch_end;
    snprintf(world.root, sizeof world.root, "/tmp/latchkey-local-XXXXXX");
    if (!mkdtemp(world.root))
        return -1;
    snprintf(world.folder, sizeof world.folder, "%s/local", world.root);
    world.path = strdup(getenv("PATH"));
    setenv("LATCHKEY_LOCAL_DIR", world.folder, 1);
    pid_t watcher = world_watch(&watch_end);
    *state = &watch_end;
    return watcher > 0 && world.path ? 0 : -1;
}

static inline int world_teardown(void **state) {
    lki_memory_refuse(NULL);
    setenv("PATH", world.path, 1);
    free(world.path);
    close(*(int *)*state);
    int watched;
    while (waitpid(-1, &watched, 0) > 0 || errno == EINTR) {}
    return access(world.root, F_OK) == 0 ? -1 : 0;
}

/* The path of the socket is dropped: it is always the same here. */
static inline lk_status world_ensure_until(int64_t deadline_us, int stop_fd) {
    char *socket = NULL;
    lki_local_environment place = {0};
    world.error = (lki_error){0};
    lk_status status = lki_local_environment_read(&place, &world.error);
    if (status == LK_OK)
        status = lki_local_ensure(&place, deadline_us, stop_fd, &socket, &world.error);
    lki_local_environment_clear(&place);
    if (status == LK_OK && (!socket || strncmp(socket, world.folder, strlen(world.folder)) != 0))
        status = LK_INTERNAL;
    if (status != LK_OK && (socket || world.error.status != status || !world.error.text[0]))
        status = LK_INTERNAL;
    lki_free(socket);
    return status;
}

static inline lk_status world_ensure(int64_t ms) {
    return world_ensure_until(lki_after_ms(lki_now_us(), ms), -1);
}

static inline const char *world_file(const char *name) {
    static char path[WORLD_PATH];
    snprintf(path, sizeof path, "%s/%s", world.folder, name);
    return path;
}

static inline pid_t world_pid(void) {
    long pid = 0;
    FILE *file = fopen(world_file("server.pid"), "re");
    if (file && fscanf(file, "%ld", &pid) != 1)
        pid = 0;
    if (file)
        fclose(file);
    return (pid_t)pid;
}

static inline void world_assert_says(const char *words) {
    if (!strstr(world.error.text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, world.error.text);
}

/* A server program that is this script, alone on the PATH. */
static inline void world_fake_program(const char *name, const char *script) {
    char folder[WORLD_PATH], path[WORLD_PATH + 32];
    snprintf(folder, sizeof folder, "%s/bin", world.root);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
    setenv("PATH", folder, 1);
}

/* Runs it in a process of its own, and returns how that ended. */
static inline int world_in_a_process(void (*run)(void)) {
    int ended;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    return ended;
}

#endif
