/* Processes with a client of their own; see actor.h. Knows the world only for its server. */
#include "actor.h"

#include "world.h"

#include <spawn.h>

enum { LINE_SIZE = 1024, ACTORS = 64 };

/* ------------------------------------------------------------------------------ as an actor */

static void report(int handle, bool released, lk_status status, const lk_lock *lock) {
    char line[128];
    int length = snprintf(line, sizeof line, "%d %d %d %" PRIu64 " %d\n", handle, released,
                          (int)status, lk_fence(lock), lk_abandoned(lock));
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(3);
}

static void report_lock(lk_lock *lock, lk_status status, void *arg) {
    report((int)(intptr_t)arg, false, status, lock);
}

static void report_unlock(lk_lock *lock, lk_status status, void *arg) {
    report((int)(intptr_t)arg, true, status, lock);
}

static bool obey(lk_client *client, lk_lock **locks, const char *line) {
    char verb[16], name[LINE_SIZE], owner[129] = "";
    int handle;
    long long number = 0;
    if (sscanf(line, "%15s %d", verb, &handle) != 2 || handle < 0 || handle >= ACTOR_HANDLES)
        return false;
    void *arg = (void *)(intptr_t)handle;
    if (strcmp(verb, "new") == 0) {
        if (sscanf(line, "new %*d %lld %1023s %128s", &number, name, owner) < 2)
            return false;
        lk_lock_options options = {.lease_ms = number, .owner = *owner ? owner : NULL};
        report(handle, false, lk_lock_new(client, name, &options, &locks[handle]), NULL);
        return true;
    }
    lk_mode mode = strstr(verb, "read") ? LK_READ : LK_WRITE;
    sscanf(line, "%*s %*d %lld", &number);
    lk_status status = strncmp(verb, "un", 2) == 0
                           ? lk_release_async(locks[handle], mode, report_unlock, arg)
                           : lk_acquire_async(locks[handle], mode, number, report_lock, arg);
    if (status != LK_OK)
        report(handle, false, status, NULL);
    return true;
}

bool actor_is_asked_for(int argc, char **argv) {
    return argc == 4 && strcmp(argv[1], "--actor") == 0;
}

int actor_main(char **argv) {
    lk_client *client;
    lk_lock *locks[ACTOR_HANDLES] = {0};
    char line[LINE_SIZE];
    if (lk_open(argv[2], &(lk_client_options){.app = argv[3]}, &client) != LK_OK)
        return 2;
    bool understood = true;
    while (understood && fgets(line, sizeof line, stdin))
        understood = obey(client, locks, line);
    lk_close(client);
    for (size_t i = 0; i < ACTOR_HANDLES; i++)
        lk_lock_free(locks[i]);
    return understood ? 0 : 4;
}

/* ------------------------------------------------------------------------------ as the test */

static pid_t running[ACTORS]; /* 0: a free place */

static void replace_running(pid_t old, pid_t now) {
    for (size_t i = 0; i < ACTORS; i++) {
        if (running[i] == old) {
            running[i] = now;
            return;
        }
    }
    fail_msg("too many actors");
}

actor actor_start(const char *app) {
    int in[2], out[2];
    actor self;
    char program[] = "/proc/self/exe", word[] = "--actor";
    char *arguments[] = {program, word, server_url, test_copy(app, strlen(app)), NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        fail_msg("pipe2: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    int fault = posix_spawn(&self.pid, program, &actions, NULL, arguments, environ);
    if (fault)
        fail_msg("posix_spawn: %s", strerror(fault));
    replace_running(0, self.pid);
    posix_spawn_file_actions_destroy(&actions);
    free(arguments[3]);
    close(in[0]);
    close(out[1]);
    self.orders = in[1];
    self.answers = fdopen(out[0], "r");
    setvbuf(self.answers, NULL, _IONBF, 0); /* so that poll() sees every answer */
    return self;
}

void actor_tell(actor *self, const char *format, ...) {
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    line[length++] = '\n';
    if (write(self->orders, line, (size_t)length) != length)
        fail_msg("an actor is gone");
}

bool actor_has_answered(const actor *self, int timeout_ms) {
    struct pollfd polled = {fileno(self->answers), POLLIN, 0};
    return poll(&polled, 1, timeout_ms) == 1;
}

actor_answer actor_hear(actor *self) {
    actor_answer answer = {0};
    char line[LINE_SIZE];
    int released = 0, status = 0, abandoned = 0;
    if (!actor_has_answered(self, LONG_MS))
        fail_msg("an actor does not answer");
    if (!fgets(line, sizeof line, self->answers) ||
        sscanf(line, "%d %d %d %" SCNu64 " %d", &answer.handle, &released, &status, &answer.fence,
               &abandoned) != 5)
        fail_msg("an actor has ended");
    answer.released = released;
    answer.status = (lk_status)status;
    answer.abandoned = abandoned;
    return answer;
}

actor_answer actor_succeeds(actor *self) {
    actor_answer answer = actor_hear(self);
    assert_string_equal(lk_status_name(answer.status), "LK_OK");
    return answer;
}

void actor_kill(actor *self) {
    kill(self->pid, SIGKILL);
    waitpid(self->pid, NULL, 0);
    replace_running(self->pid, 0);
    close(self->orders);
    fclose(self->answers);
}

void actor_end(actor *self) {
    int status = -1;
    close(self->orders);
    waitpid(self->pid, &status, 0);
    replace_running(self->pid, 0);
    fclose(self->answers);
    assert_int_equal(status, 0);
}

/* Of a test that failed: its pipes stay open until the program ends. */
void actor_kill_all(void) {
    for (size_t i = 0; i < ACTORS; i++) {
        if (running[i]) {
            kill(running[i], SIGKILL);
            waitpid(running[i], NULL, 0);
            running[i] = 0;
        }
    }
}
