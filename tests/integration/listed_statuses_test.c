/*
 * The check around all calls of the programs in this folder: it reads the statuses of each function
 * from the header, covers every function, and notices a status that is not listed.
 */
#include "checked_calls.h"
#include "latchkey.h"
#include "listed_statuses.h"
#include "lk_status_functions.h"
#include "world.h"

#include <sys/resource.h>

#define BIT(status) (1U << (status))

static unsigned statuses_of(const listed_functions *functions, const char *name) {
    for (size_t i = 0; i < functions->count; i++)
        if (strcmp(functions->functions[i].name, name) == 0)
            return functions->functions[i].statuses;
    fail_msg("%s was not found", name);
    return 0;
}

/* ------------------------------------------------------------------------------ the parser */

TEST(the_lists_are_those_of_the_header) {
    const listed_functions *all = listed_functions_of_header();
    assert_int_equal(statuses_of(all, "lk_cancel"), BIT(LK_OK) | BIT(LK_INVALID));
    assert_int_equal(statuses_of(all, "lk_lock_new"), BIT(LK_OK) | BIT(LK_INVALID) | BIT(LK_NOMEM));
    assert_int_equal(statuses_of(all, "lk_release_async"),
                     BIT(LK_OK) | BIT(LK_INVALID) | BIT(LK_NOMEM));
    assert_int_equal(statuses_of(all, "lk_local_status"), BIT(LK_OK) | BIT(LK_DENIED) |
                                                              BIT(LK_INVALID) |
                                                              BIT(LK_UNAVAILABLE) | BIT(LK_NOMEM));
    assert_false(statuses_of(all, "lk_wrunlock") & (BIT(LK_BUSY) | BIT(LK_TIMEOUT)));
}

TEST(every_function_lists_success) {
    const listed_functions *all = listed_functions_of_header();
    for (size_t i = 0; i < all->count; i++)
        if (!(all->functions[i].statuses & BIT(LK_OK)))
            fail_msg("%s does not list LK_OK", all->functions[i].name);
}

TEST(declarations_after_one_comment_share_its_list) {
    listed_functions found;
    listed_functions_read(&found, "/*\n"
                                  " *   LK_OK    Done.\n"
                                  " *   LK_BUSY  Not free.\n"
                                  " */\n"
                                  "LK_API lk_status lk_one(lk_lock *);\n"
                                  "LK_API lk_status\n"
                                  "lk_two(lk_lock *, lk_mode,\n"
                                  "       void *arg);\n"
                                  "LK_API void lk_three(lk_lock *);\n"
                                  "LK_API lk_status lk_four(void);\n");
    assert_int_equal(found.count, 3);
    for (size_t i = 0; i < found.count; i++)
        assert_int_equal(found.functions[i].statuses, BIT(LK_OK) | BIT(LK_BUSY));
    assert_string_equal(found.functions[1].name, "lk_two");
}

TEST(a_comment_about_something_else_is_nobodys_list) {
    listed_functions found;
    listed_functions_read(&found, "typedef int lk_number; /*\n"
                                  " *   LK_OK    Done.\n"
                                  " *   LK_BUSY  Not free. */\n"
                                  "LK_API lk_status lk_one(void);\n"
                                  "/*\n"
                                  " *   LK_OK    Done.\n"
                                  " *   LK_LOST  Gone. */\n"
                                  "typedef void lk_some_fn(void);\n"
                                  "LK_API lk_status lk_two(void);\n");
    assert_int_equal(statuses_of(&found, "lk_one"), 0);
    assert_int_equal(statuses_of(&found, "lk_two"), 0);
}

TEST(only_a_status_on_a_line_of_its_own_is_listed) {
    listed_functions found;
    listed_functions_read(&found, "#define LK_API\n"
                                  "/* Calls that wait end with LK_CANCELED, or\n"
                                  " * LK_TIMEOUT  in a paragraph. LK_DENIED · LK_UNSUPPORTED.\n"
                                  " *\n"
                                  " *   LK_OK      LK_READ, or LK_FAIR.\n"
                                  " *   LK_LOST    Gone,\n"
                                  " *              LK_NOT_HELD  further on.\n"
                                  " *   LK_NOMEMORY  Not a status.\n"
                                  " *   LK_BUSY\n"
                                  " *   LK_DEADLOCK: Another layout.\n"
                                  " *\n"
                                  " *     LK_INTERNAL  In an example.\n"
                                  " *\n"
                                  " *   LK_INVALID  At the end. */\n"
                                  "LK_API lk_status lk_one(void);\n");
    assert_int_equal(found.count, 1);
    assert_int_equal(statuses_of(&found, "lk_one"), BIT(LK_OK) | BIT(LK_LOST) | BIT(LK_INVALID));
}

/* ------------------------------------------------------------------------------ the wrappers */

#define CALLED_AS(function) {#function, (void (*)(void))function},

TEST(every_function_of_the_header_is_checked) {
    const listed_functions *all = listed_functions_of_header();
    const checked_call called[] = {LK_STATUS_FUNCTIONS(CALLED_AS)};
    assert_int_equal(checked_call_count, all->count);
    for (size_t i = 0; i < checked_call_count; i++) {
        assert_string_equal(checked_calls[i].name, all->functions[i].name);
        if (called[i].wrapper != checked_calls[i].wrapper)
            fail_msg("%s is called without its wrapper", called[i].name);
    }
}

/* ------------------------------------------------------------------------------ the check */

typedef struct {
    int status; /* as from waitpid() */
    char said[1024];
} ending;

/* Runs the check in a child. */
static ending check_in_a_child(const char *what, const char *as, lk_status status) {
    ending end = {0};
    int out[2];
    assert_int_equal(pipe(out), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* the server is the parent's to stop */
        dup2(out[1], STDERR_FILENO);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        _exit(listed_status_check(what, as, status) == status ? 0 : 1);
    }
    close(out[1]);
    for (ssize_t length, all = 0;
         (length = read(out[0], end.said + all, sizeof end.said - 1 - (size_t)all)) > 0;)
        all += length;
    close(out[0]);
    assert_int_equal(waitpid(child, &end.status, 0), child);
    return end;
}

static void assert_noticed(const char *what, const char *as, lk_status status, const char *name) {
    ending end = check_in_a_child(what, as, status);
    if (!WIFSIGNALED(end.status) || WTERMSIG(end.status) != SIGABRT)
        fail_msg("%s: %s was not noticed", what, name);
    assert_says(end.said, what);
    assert_says(end.said, as);
    assert_says(end.said, name);
    assert_says(end.said, lk_last_error());
}

TEST(a_status_that_is_not_listed_ends_the_program) {
    lk_lock *lock = NULL;
    assert_status(lk_wrlock(lock), LK_INVALID); /* sets the error that must be shown */
    assert_true(*lk_last_error());
    assert_noticed("lk_cancel", "lk_cancel", LK_CANCELED, "LK_CANCELED");
    assert_noticed("lk_wrunlock", "lk_wrunlock", LK_BUSY, "LK_BUSY");
    assert_noticed("a callback", "lk_wrunlock", LK_TIMEOUT, "LK_TIMEOUT");
    assert_noticed("lk_wrlock", "lk_wrlock", (lk_status)(LK_INTERNAL + 1), "no status");
    assert_noticed("lk_wrlock", "lk_wrlock", (lk_status)-1, "no status");
    assert_noticed("lk_unknown", "lk_unknown", LK_OK, "LK_OK");
}

TEST(a_status_that_is_listed_passes) {
    assert_int_equal(check_in_a_child("lk_cancel", "lk_cancel", LK_INVALID).status, 0);
    assert_int_equal(check_in_a_child("lk_timedrdlock", "lk_timedrdlock", LK_TIMEOUT).status, 0);
    assert_int_equal(check_in_a_child("a callback", "lk_wrlock", LK_CANCELED).status, 0);
}

/* ------------------------------------------------------------------------------ callbacks */

typedef struct {
    lk_lock *lock;
    lk_status status;
    char said[512];
    atomic_int count;
} told;

static void be_told(lk_lock *lock, lk_status status, void *arg) {
    told *self = arg;
    self->lock = lock;
    self->status = status;
    snprintf(self->said, sizeof self->said, "%s", lk_last_error());
    atomic_fetch_add(&self->count, 1);
}

TEST(a_callback_is_told_what_it_is_told_without_the_check) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "l:held"), new_lock(client, "l:held")};
    told taken = {0}, given = {0};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_acquire_async(locks[1], LK_WRITE, 0, be_told, &taken));
    assert_ok(lk_release_async(locks[1], LK_READ, be_told, &given));
    eventually(atomic_load(&taken.count) == 1 && atomic_load(&given.count) == 1);
    assert_ptr_equal(taken.lock, locks[1]);
    assert_int_equal(taken.status, LK_BUSY);
    assert_says(taken.said, lk_status_text(LK_BUSY));
    assert_int_equal(given.status, LK_NOT_HELD);
    assert_says(given.said, "no read hold");
    assert_ok(lk_release_async(locks[0], LK_WRITE, NULL, NULL));
    eventually(is_empty());
}

int main(void) {
    return world_run(begin_world);
}
