/* See run.h: the command line of `latchkey run`, and the course of a run. */
#include "run.h"

#include "command.h"
#include "duration.h"
#include "exits.h"
#include "say.h"

#include <ctype.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { FOR_EVER = -1, NOT_GIVEN = -1, WORDS_MOST = 128, APP_MOST = 128, CLOSE_S = 5 };

static const option options[] = {
    {'s', "shared", NULL, "a read lock, shared with other readers"},
    {'x', "exclusive", NULL, "a write lock, held alone. This is the default"},
    {'e', "write", NULL, "the same as -x"},
    {'n', "nonblock", NULL, "do not wait, even with -w; exit with the conflict code"},
    {0, "nb", NULL, "the same as -n"},
    {'w', "wait", "TIME", "wait at most this long; 0 is the same as -n. Default: no limit"},
    {0, "timeout", "TIME", "the same as -w"},
    {'E', "conflict-exit-code", "CODE", "exit code if the lock is not free in time. Default: 1"},
    {'c', "command", "TEXT", "run TEXT in the shell"},
    {'o', "close", NULL, "no effect, accepted for flock(1) scripts"},
    {0, "lease", "TIME", "time until the lock is freed after a crash. Default: 30s"},
    {0, "policy", "POLICY", "fair, phase-fair, prefer-writer or prefer-reader. Default: fair"},
    {0, "group", "TEXT", "with -s: only readers of the same group share the lock"},
    {0, "owner", "TEXT", "act for this owner; $LATCHKEY_OWNER shares the parent's lock"},
    {0, "app", "TEXT", "the name that ls, inspect and top show. Default: the command's"},
    {0, "server-timeout", "TIME", "longest outage to wait out. Default: the same as -w"},
    {0, "on-lost", "WHAT", "if the lock is lost: term (then kill), kill or ignore. Default: term"},
    {0, "on-abandoned", "WHAT", "after a writer died: run the command, or fail. Default: run"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    lk_mode mode;
    int64_t began_ms;
    int64_t wait_ms; /* from began_ms on; or FOR_EVER */
    bool does_not_wait;
    int conflict;
    int64_t server_timeout_ms; /* or NOT_GIVEN */
    lk_lock_options lock;
    on_lost on_lost;
    bool fails_if_abandoned;
    char *shell_text;
} settings;

static int find_word(const char *const *words, const char *word) {
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

static int take_time(const option *row, const char *value, int64_t *ms) {
    if (!duration_read(value, ms))
        return say_usage("--%s %s is not a time; write 2, 0.5, 500ms, 30s, 5m or 2h", row->name,
                         value);
    return 0;
}

static int take_code(const char *value, int *code) {
    char *end;
    long number = strtol(value, &end, 10);
    if (*end || *value < '0' || *value > '9' || number > 255)
        return say_usage("-E %s is not an exit code; it must be 0 to 255", value);
    *code = (int)number;
    return 0;
}

static int take_word(const option *row, const char *value, const char *const *words, int *found) {
    *found = find_word(words, value);
    if (*found >= 0)
        return 0;
    char all[WORDS_MOST] = "";
    for (size_t i = 0, at = 0; words[i] && at < sizeof all; i++)
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", words[i]);
    return say_usage("--%s cannot be %s; it can be %s", row->name, value, all);
}

static int take_lease(const option *row, const char *value, int64_t *ms) {
    int code = take_time(row, value, ms);
    if (code == 0 && (*ms < 100 || *ms > 86400000))
        code = say_usage("--lease %s is out of range; it must be 0.1s to 24h", value);
    return code;
}

/* The options about the lock, its loss and its abandonment; passes others on. */
static int take_lock_option(settings *wanted, const option *row, char *value) {
    static const char *const policies[] = {"fair", "phase-fair", "prefer-writer", "prefer-reader",
                                           NULL};
    static const char *const losses[] = {"term", "kill", "ignore", NULL};
    static const char *const marks[] = {"run", "fail", NULL};
    int found = 0, code = 0;
    if (option_is(row, "lease")) {
        code = take_lease(row, value, &wanted->lock.lease_ms);
    } else if (option_is(row, "policy")) {
        code = take_word(row, value, policies, &found);
        wanted->lock.policy = (lk_policy)found;
    } else if (option_is(row, "group")) {
        wanted->lock.group = value;
    } else if (option_is(row, "owner")) {
        wanted->lock.owner = value;
    } else if (option_is(row, "on-lost")) {
        code = take_word(row, value, losses, &found);
        wanted->on_lost = (on_lost)found;
    } else if (option_is(row, "on-abandoned")) {
        code = take_word(row, value, marks, &found);
        wanted->fails_if_abandoned = found == 1;
    } else if (!option_is(row, "close")) {
        code = common_take_option(&wanted->common, row, value);
    }
    return code;
}

/* A command rarely begins with a dash. It is an option in the wrong place. */
static int refuse_option(const char *name, const char *word) {
    int length = (int)strcspn(word, "="); /* the value may be a secret */
    return say_usage("%.*s comes after lock \"%s\": options go before NAME; to run a command of "
                     "this name, write -- before it",
                     length, word, name);
}

static int take_option(void *arg, const option *row, char *value) {
    settings *wanted = arg;
    int code = 0;
    if (option_is(row, "shared"))
        wanted->mode = LK_READ;
    else if (option_is(row, "exclusive") || option_is(row, "write"))
        wanted->mode = LK_WRITE;
    else if (option_is(row, "nonblock") || option_is(row, "nb"))
        wanted->does_not_wait = true;
    else if (option_is(row, "wait") || option_is(row, "timeout"))
        code = take_time(row, value, &wanted->wait_ms);
    else if (option_is(row, "server-timeout"))
        code = take_time(row, value, &wanted->server_timeout_ms);
    else if (option_is(row, "conflict-exit-code"))
        code = take_code(value, &wanted->conflict);
    else if (option_is(row, "command"))
        wanted->shell_text = value;
    else if (option_is(row, "app"))
        wanted->common.app = value;
    else
        code = take_lock_option(wanted, row, value);
    return code;
}

/* Name and command. `-c TEXT` may follow the name, as with flock(1). */
static int read_words(settings *wanted, char **words, run *out, char *shell[4]) {
    if (!words[0])
        return say_usage("no lock name and no command given");
    out->name = *words++;
    if (words[0] && (strcmp(words[0], "-c") == 0 || strcmp(words[0], "--command") == 0)) {
        if (!words[1])
            return say_usage("-c needs a value");
        wanted->shell_text = words[1];
        words += 2;
    } else if (words[0] && strcmp(words[0], "--") == 0) {
        words++;
    } else if (words[0] && words[0][0] == '-' && words[0][1]) {
        return refuse_option(out->name, words[0]);
    }
    if (wanted->shell_text && words[0])
        return say_usage("-c already gives the command; %s is one too many", words[0]);
    if (!wanted->shell_text && !words[0])
        return say_usage("no command given to run under lock \"%s\"", out->name);
    const char *named = getenv("SHELL");
    shell[0] = (char *)(named && *named ? named : "/bin/sh");
    shell[1] = "-c";
    shell[2] = wanted->shell_text;
    shell[3] = NULL;
    out->command = wanted->shell_text ? shell : words;
    return 0;
}

/*
 * The default of --app: the name of the command, or the first word of the shell text, without its
 * folder. NULL if it is empty.
 */
static const char *app_of(const char *word, bool is_text) {
    static char app[APP_MOST + 1];
    while (is_text && isspace((unsigned char)*word))
        word++;
    size_t length = is_text ? strcspn(word, " \t\n;&|()<>") : strlen(word);
    for (const char *slash; (slash = memchr(word, '/', length)) && slash + 1 < word + length;) {
        length -= (size_t)(slash + 1 - word);
        word = slash + 1;
    }
    if (length > APP_MOST)
        for (length = APP_MOST; length && ((unsigned char)word[length] & 0xC0) == 0x80;)
            length--; /* do not cut a UTF-8 character in two */
    memcpy(app, word, length);
    app[length] = '\0';
    return length ? app : NULL;
}

bool run_can_write_stderr(void) {
    struct pollfd polled = {STDERR_FILENO, POLLOUT, 0};
    return poll(&polled, 1, 0) == 1 && polled.revents & POLLOUT;
}

static void on_lock_lost(lk_lock *lock, void *arg) {
    static const uint64_t one = 1;
    (void)lock;
    if (write(*(int *)arg, &one, sizeof one) < 0)
        return; /* the counter is full, so lost_fd is readable already */
}

static int report_not_acquired(const run *self, const settings *wanted, lk_status status) {
    int code = exit_code_of(status);
    if (status == LK_BUSY || status == LK_TIMEOUT)
        say_note("lock \"%s\" was not free in time", self->name);
    else
        say_sentence(status, self->error);
    return code == EXIT_CONFLICT ? wanted->conflict : code;
}

/* left_ms: the rest of the lease. */
static void report_unreleased(const run *self, int64_t left_ms) {
    char left[DURATION_SIZE];
    if (left_ms > 0)
        say_failure(
            0, "lock \"%s\" could not be released; it becomes free when its lease ends, in %s (%s)",
            self->name, duration_write(left_ms, left), run_reason(self, self->error));
    else
        say_failure(0, "lock \"%s\" could not be released before its lease ended (%s)", self->name,
                    run_reason(self, self->error));
}

/* Returns the exit code: that of the command, or EXIT_LOST if the lock was gone before its end. */
static int release_lock(run *self, lk_mode mode, int code, int *ended_by) {
    if (self->skips_cleanup)
        return code;
    int64_t left_ms = lk_remaining_ms(self->lock), end_ms = monotonic_ms() + left_ms;
    lk_status status = run_release(self, mode, ended_by);
    self->skips_cleanup = status == LK_LOST || status == LK_UNAVAILABLE;
    /* The lease ended during the release: the command itself ran under the lock to its end. */
    bool ended_since = left_ms > 0 && monotonic_ms() >= end_ms;
    if (status == LK_OK || code == EXIT_LOST)
        return code;
    if (status != LK_LOST || ended_since)
        report_unreleased(self, end_ms - monotonic_ms());
    else if (self->on_lost != ON_LOST_IGNORE)
        return say_failure(EXIT_LOST,
                           "lock \"%s\" was lost while the command ran; another holder may have "
                           "run at the same time",
                           self->name);
    return code;
}

/*
 * Leaves the lock abandoned, as it was. A normal release of a write would clear the mark of the dead
 * writer. So a read is released normally, and a write is released by force (SPEC 6.1, 6.3). Force
 * releases all holds of an owner. With --owner, others may hold for the same owner: then the hold is
 * left to expire, which keeps the mark too.
 */
static int refuse_abandoned(run *self, const settings *wanted, int *ended_by) {
    lk_status status = LK_UNAVAILABLE;
    if (wanted->mode == LK_READ)
        status = run_release(self, LK_READ, ended_by);
    else if (!wanted->lock.owner)
        status = lk_force_release(self->client, self->name, lk_owner(self->lock));
    self->skips_cleanup = status != LK_OK;
    return say_failure(EXIT_ABANDONED,
                       "lock \"%s\": its last writer did not release it and may have left its work "
                       "half-done; the command was not run",
                       self->name);
}

static void *free_client(void *arg) {
    const run *self = arg;
    lk_lock_free(self->lock);
    lk_close(self->client);
    return NULL;
}

/* If the server is away, this tries to leave the queue for CLOSE_S, whatever command_timeout is. */
static void close_all(run *self) {
    pthread_t closer;
    struct timespec until;
    self->skips_cleanup = self->skips_cleanup || !run_line_free(self->line);
    if (self->skips_cleanup || pthread_create(&closer, NULL, free_client, self) != 0)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLOSE_S;
    self->skips_cleanup = pthread_timedjoin_np(closer, NULL, &until) != 0;
}

static int run_with_lock(run *self, const settings *wanted, int *ended_by) {
    self->abandoned = lk_abandoned(self->lock);
    if (self->abandoned && wanted->fails_if_abandoned)
        return refuse_abandoned(self, wanted, ended_by);
    if (self->abandoned)
        say_note(
            "lock \"%s\": its last writer did not release it and may have left its work half-done",
            self->name);
    int code = run_child(self);
    if (!self->is_too_late)
        return release_lock(self, wanted->mode, code, ended_by);
    run_release(self, wanted->mode, ended_by); /* LK_LOST or not: the next try begins anew */
    return code;
}

/* The rest of -w, once the server has been reached. */
static int64_t wait_left_ms(const settings *wanted) {
    if (wanted->does_not_wait || wanted->wait_ms < 0)
        return wanted->does_not_wait ? 0 : FOR_EVER;
    int64_t left_ms = wanted->began_ms + wanted->wait_ms - monotonic_ms();
    return left_ms > 0 ? left_ms : 0;
}

static int run_under_lock(run *self, const settings *wanted) {
    int ended_by = 0, code = 0;
    do {
        self->is_too_late = false;
        lk_status status = run_acquire(self, wanted->mode, wait_left_ms(wanted), &ended_by);
        if (!ended_by)
            code = status == LK_OK ? run_with_lock(self, wanted, &ended_by)
                                   : report_not_acquired(self, wanted, status);
    } while (self->is_too_late && !ended_by);
    close_all(self);
    if (ended_by || self->interrupted)
        code = run_die_by_signal(ended_by ? ended_by : self->interrupted);
    if (self->skips_cleanup)
        _exit(code); /* threads of the client still run */
    return code;
}

/* A lock that no other machine and no other user sees is not a failure, but must not surprise. */
static void warn_if_no_server_chosen(const run *self, const common *wanted) {
    lk_defaults *found = NULL;
    if (!wanted->url && lk_defaults_read(&found) == LK_OK && !*found->url_from)
        say_failure(0,
                    "no server is configured: lock \"%s\" is private to this user on this machine "
                    "(local:); set url in " LATCHKEY_CONFIGURATION
                    " or LATCHKEY_URL, or silence this with -u local:",
                    self->name);
    lk_defaults_free(found);
}

/*
 * Without -w and --server-timeout there is no retry: the address may be wrong, and an endless wait
 * would hide that.
 */
static int open_client(settings *wanted, run *self) {
    run_opening opening = {.began_ms = wanted->began_ms};
    int64_t wait_ms = wanted->does_not_wait ? 0 : wanted->wait_ms;
    int64_t away_ms = wanted->server_timeout_ms;
    if (away_ms == NOT_GIVEN || (wait_ms != FOR_EVER && wait_ms < away_ms))
        away_ms = wait_ms;
    opening.until_ms = away_ms < 0 ? 0 : opening.began_ms + away_ms;
    wanted->common.retry = run_opening_should_retry;
    wanted->common.retry_arg = &opening;
    int code = common_open(&wanted->common, &self->client);
    run_line_clear();
    return code;
}

static int make_lock(settings *wanted, run *self) {
    int code = run_block_signals(self); /* only now: Ctrl-C must end a connect that hangs */
    self->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (code == 0 && self->lost_fd < 0)
        code = say_failure(EXIT_BROKEN, "no file descriptors left");
    if (code != 0)
        return code;
    self->on_lost = wanted->on_lost;
    self->lease_ms = wanted->lock.lease_ms ? wanted->lock.lease_ms : 30000;
    self->server_timeout_ms = wanted->server_timeout_ms;
    wanted->lock.on_lost = on_lock_lost;
    wanted->lock.on_lost_arg = &self->lost_fd;
    lk_status status = lk_lock_new(self->client, self->name, &wanted->lock, &self->lock);
    return status == LK_OK ? 0 : say_status(status);
}

static int begin(int count, char **words) {
    run self = {.signal_fd = -1, .lost_fd = -1};
    settings wanted = {.mode = LK_WRITE,
                       .began_ms = monotonic_ms(),
                       .wait_ms = FOR_EVER,
                       .server_timeout_ms = NOT_GIVEN,
                       .conflict = EXIT_CONFLICT};
    char *shell[4];
    int rest;
    int code = options_parse(options, true, count, words, take_option, &wanted, &rest);
    if (code == 0)
        code = read_words(&wanted, words + rest, &self, shell);
    if (code == 0 && !wanted.common.app)
        wanted.common.app =
            wanted.shell_text ? app_of(wanted.shell_text, true) : app_of(self.command[0], false);
    if (code == 0)
        code = open_client(&wanted, &self);
    if (code != 0)
        return code;
    code = make_lock(&wanted, &self);
    if (code != 0) {
        lk_close(self.client);
        return code;
    }
    warn_if_no_server_chosen(&self, &wanted.common);
    return run_under_lock(&self, &wanted);
}

const command run_command = {
    .name = "run",
    .arguments = "NAME [--] COMMAND [ARG…]",
    .summary = "run a command under a lock, as flock(1) does, across machines",
    .text =
        "Acquires the lock NAME, runs the command, and releases the lock when the command ends.\n"
        "Options go before NAME. -c TEXT may follow it, and -- may come before the command.\n"
        "\n"
        "The exit code is that of the command, or 128 plus the number of the signal that killed\n"
        "it. Otherwise: 1 (or -E) if the lock was not free in time, 79 if the lock was lost, 80\n"
        "if --on-abandoned fail refused to run the command, 69 if the server cannot be reached,\n"
        "77 if it denies access, 78 if the configuration is wrong, 126 or 127 if the command\n"
        "cannot be run.\n"
        "\n"
        "The command has LATCHKEY_NAME, LATCHKEY_FENCE and LATCHKEY_OWNER in its environment. It\n"
        "has LATCHKEY_ABANDONED=1 if the last writer did not release the lock.\n"
        "\n"
        "If the server goes away during the wait, run waits for it within -w and\n"
        "--server-timeout. If the server is away from the start, run waits only if one of these\n"
        "options is given.",
    .examples = "  latchkey run -n nightly /usr/local/bin/report   # only one run at a time, on "
                "all machines\n"
                "  latchkey run -s -w 30 db:main pg_dump shop      # beside other readers\n"
                "  latchkey run deploy:web -c 'git pull && make'   # in the shell\n",
    .options = options,
    .wraps = true,
    .run = begin,
};
