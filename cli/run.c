/* See run.h: the command line of `latchkey run`, and its course. */
#include "run.h"

#include "command.h"
#include "duration.h"
#include "exits.h"
#include "moment.h"
#include "say.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FOR_EVER = -1, NOT_GIVEN = -1, WORDS_MOST = 128, APP_MOST = 128 };

static const option options[] = {
    {'s', "shared", NULL, "a read lock: others may read too"},
    {'x', "exclusive", NULL, "a write lock: nobody else (the default; -e too)"},
    {'e', "write", NULL, "the same as -x"},
    {'n', "nonblock", NULL, "do not wait, whatever -w says: end with the conflict code instead"},
    {0, "nb", NULL, "the same as -n"},
    {'w', "wait", "TIME", "wait at most this long; 0 is -n"},
    {0, "timeout", "TIME", "the same as -w"},
    {'E', "conflict-exit-code", "CODE", "what to end with when others had the lock; 1"},
    {'c', "command", "TEXT", "run TEXT with the shell"},
    {'o', "close", NULL, "nothing: the command never gets a descriptor of the lock"},
    {0, "lease", "TIME", "time until the lock is freed after a crash. Default: 30s"},
    {0, "policy", "POLICY", "fair, phase-fair, prefer-writer or prefer-reader; fair"},
    {0, "group", "TEXT", "with -s: only readers of the same group share the lock"},
    {0, "owner", "TEXT", "act for this owner: $LATCHKEY_OWNER enters the lock of the parent"},
    {0, "app", "TEXT", "the name that ls, inspect and top show. Default: the command's"},
    {0, "server-timeout", "TIME",
     "how long the server may be away while run waits. Default: as -w"},
    {0, "on-lost", "WHAT", "term (then kill), kill or ignore, when the lock is lost; term"},
    {0, "on-abandoned", "WHAT", "run the command, or fail, after a writer that died. Default: run"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    lk_mode mode;
    int64_t began_ms;
    int64_t wait_ms; /* from then on; FOR_EVER */
    bool does_not_wait;
    int conflict;
    int64_t server_timeout_ms; /* or NOT_GIVEN */
    lk_lock_options lock;
    on_lost on_lost;
    bool fails_if_abandoned;
    char *shell_text;
} wishes;

static int find_word(const char *const *words, const char *word) {
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

static int take_time(const option *row, const char *value, int64_t *ms) {
    if (!duration_read(value, ms))
        return say_usage("--%s %s is no time; write 2, 0.5, 500ms, 30s, 5m or 2h", row->name,
                         value);
    return 0;
}

static int take_code(const char *value, int *code) {
    char *end;
    long number = strtol(value, &end, 10);
    if (*end || *value < '0' || *value > '9' || number > 255)
        return say_usage("-E %s is no exit code; 0 to 255 are", value);
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
        code = say_usage("--lease %s: it must be 0.1s to 24h", value);
    return code;
}

/* What is wanted of the lock, and of its loss. */
static int take_lock_option(wishes *wanted, const option *row, char *value) {
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
        code = common_taken(&wanted->common, row, value);
    }
    return code;
}

/* A command hardly begins with a dash: an option has come too late. */
static int refuse_option(const char *name, const char *word) {
    int length = (int)strcspn(word, "="); /* what follows may be a secret */
    return say_usage("%.*s comes after lock \"%s\": options go before NAME; to run a command of "
                     "this name, write -- before it",
                     length, word, name);
}

static int taken(void *arg, const option *row, char *value) {
    wishes *wanted = arg;
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

/* Name and command; `-c TEXT` may stand behind the name, as flock has it. */
static int read_words(wishes *wanted, char **words, run *out, char *shell[4]) {
    if (!words[0])
        return say_usage("which lock, and which command?");
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
        return say_usage("-c has a command already; %s is one too many", words[0]);
    if (!wanted->shell_text && !words[0])
        return say_usage("which command is to run under lock \"%s\"?", out->name);
    const char *named = getenv("SHELL");
    shell[0] = (char *)(named && *named ? named : "/bin/sh");
    shell[1] = "-c";
    shell[2] = wanted->shell_text;
    shell[3] = NULL;
    out->command = wanted->shell_text ? shell : words;
    return 0;
}

/*
 * What others see as the holder: the name of the command, or the first word of the text for the
 * shell, without its folder. NULL where there is none.
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
            length--; /* a character of UTF-8 is not cut in two */
    memcpy(app, word, length);
    app[length] = '\0';
    return length ? app : NULL;
}

bool run_may_write(void) {
    struct pollfd polled = {STDERR_FILENO, POLLOUT, 0};
    return poll(&polled, 1, 0) == 1 && polled.revents & POLLOUT;
}

static void note_loss(lk_lock *lock, void *arg) {
    static const uint64_t one = 1;
    (void)lock;
    if (write(*(int *)arg, &one, sizeof one) < 0)
        return; /* it has been told already */
}

static int not_taken(const run *self, const wishes *wanted, lk_status status) {
    int code = exit_code_of(status);
    if (status == LK_BUSY || status == LK_TIMEOUT)
        say_note("lock \"%s\" was not free in time", self->name);
    else
        say_sentence(status, self->error);
    return code == EXIT_CONFLICT ? wanted->conflict : code;
}

/* left_ms: of the lease. */
static void tell_not_released(const run *self, int64_t left_ms) {
    char left[DURATION_SIZE];
    if (left_ms > 0)
        say_failure(
            0, "lock \"%s\" could not be released; it becomes free when its lease ends, in %s (%s)",
            self->name, duration_write(left_ms, left), run_reason(self, self->error));
    else
        say_failure(0, "lock \"%s\" could not be released before its lease ended (%s)", self->name,
                    run_reason(self, self->error));
}

/* The lock was the command's to the end, or it was not. */
static int give_back(run *self, lk_mode mode, int code, int *by) {
    if (self->leaves)
        return code;
    int64_t left_ms = lk_remaining_ms(self->lock), end_ms = moment_ms() + left_ms;
    lk_status status = run_give_back(self, mode, by);
    self->leaves = status == LK_LOST || status == LK_UNAVAILABLE;
    bool ended_since = left_ms > 0 && moment_ms() >= end_ms; /* so the command had it to the end */
    if (status == LK_OK || code == EXIT_LOST)
        return code;
    if (status != LK_LOST || ended_since)
        tell_not_released(self, end_ms - moment_ms());
    else if (self->on_lost != ON_LOST_IGNORE)
        return say_failure(EXIT_LOST,
                           "lock \"%s\" was lost while the command ran; it may have worked "
                           "beside another",
                           self->name);
    return code;
}

/*
 * Leaves the lock as it was found: abandoned. Only the release of a write in good order clears the
 * mark of the writer that died, so a read is released, and a write is taken away by force (SPEC 6.1,
 * 6.3). Force takes all holds of an owner. An owner that was given may have others: then the lease
 * runs out by itself, and leaves the mark.
 */
static int refuse_abandoned(run *self, const wishes *wanted, int *by) {
    lk_status status = LK_UNAVAILABLE;
    if (wanted->mode == LK_READ)
        status = run_give_back(self, LK_READ, by);
    else if (!wanted->lock.owner)
        status = lk_force_release(self->client, self->name, lk_owner(self->lock));
    self->leaves = status != LK_OK;
    return say_failure(EXIT_ABANDONED,
                       "lock \"%s\": its last writer did not release it, and what it left may be "
                       "half-done; the command was not run",
                       self->name);
}

/* A server that is away would keep lk_close() waiting. */
static void close_all(run *self) {
    self->leaves = self->leaves || !run_line_free(self->line);
    if (self->leaves)
        return;
    lk_lock_free(self->lock);
    lk_close(self->client);
}

static int run_with_lock(run *self, const wishes *wanted, int *by) {
    self->abandoned = lk_abandoned(self->lock);
    if (self->abandoned && wanted->fails_if_abandoned)
        return refuse_abandoned(self, wanted, by);
    if (self->abandoned)
        say_note("lock \"%s\": its last writer did not release it; what it left may be half-done",
                 self->name);
    return give_back(self, wanted->mode, run_child(self), by);
}

/* What is left of -w when the server has been reached. */
static int64_t wait_left_ms(const wishes *wanted) {
    if (wanted->does_not_wait || wanted->wait_ms < 0)
        return wanted->does_not_wait ? 0 : FOR_EVER;
    int64_t left_ms = wanted->began_ms + wanted->wait_ms - moment_ms();
    return left_ms > 0 ? left_ms : 0;
}

static int run_under_lock(run *self, const wishes *wanted) {
    int by = 0, code = 0;
    lk_status status = run_take(self, wanted->mode, wait_left_ms(wanted), &by);
    if (!by)
        code = status == LK_OK ? run_with_lock(self, wanted, &by) : not_taken(self, wanted, status);
    close_all(self);
    if (by || self->interrupted)
        code = run_die_of(by ? by : self->interrupted); /* process 1 lives on */
    if (self->leaves)
        _exit(code); /* the threads of the client are still at work */
    return code;
}

/* A lock that no other machine and no other user sees is no failure, and must be no surprise. */
static void warn_if_nobody_chose(const run *self, const common *wanted) {
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
 * Without a word about waiting, a server that is away from the start is a wrong address, and nobody
 * would see that while we wait for ever.
 */
static int open_client(wishes *wanted, run *self) {
    run_opening opening = {.began_ms = wanted->began_ms};
    int64_t wait_ms = wanted->does_not_wait ? 0 : wanted->wait_ms;
    int64_t away_ms = wanted->server_timeout_ms;
    if (away_ms == NOT_GIVEN || (wait_ms != FOR_EVER && wait_ms < away_ms))
        away_ms = wait_ms;
    opening.until_ms = away_ms < 0 ? 0 : opening.began_ms + away_ms;
    wanted->common.retry = run_opening_goes_on;
    wanted->common.retry_arg = &opening;
    int code = common_open(&wanted->common, &self->client);
    run_line_clear();
    return code;
}

static int make_lock(wishes *wanted, run *self) {
    int code = run_block_signals(self); /* not before: a connect that hangs can be ended as usual */
    self->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (code == 0 && self->lost_fd < 0)
        code = say_failure(EXIT_BROKEN, "no descriptors are left");
    if (code != 0)
        return code;
    self->on_lost = wanted->on_lost;
    self->lease_ms = wanted->lock.lease_ms ? wanted->lock.lease_ms : 30000;
    self->server_timeout_ms = wanted->server_timeout_ms;
    wanted->lock.on_lost = note_loss;
    wanted->lock.on_lost_arg = &self->lost_fd;
    lk_status status = lk_lock_new(self->client, self->name, &wanted->lock, &self->lock);
    return status == LK_OK ? 0 : say_status(status);
}

static int begin(int count, char **words) {
    run self = {.signal_fd = -1, .lost_fd = -1};
    wishes wanted = {.mode = LK_WRITE,
                     .began_ms = moment_ms(),
                     .wait_ms = FOR_EVER,
                     .server_timeout_ms = NOT_GIVEN,
                     .conflict = EXIT_CONFLICT};
    char *shell[4];
    int rest;
    int code = options_parse(options, true, count, words, taken, &wanted, &rest);
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
    warn_if_nobody_chose(&self, &wanted.common);
    return run_under_lock(&self, &wanted);
}

const command run_command = {
    .name = "run",
    .arguments = "NAME [--] COMMAND [ARG…]",
    .summary = "run a command under a lock, as flock(1) does, across machines",
    .text =
        "Takes the lock NAME, runs the command, and gives the lock back when it has ended. Options\n"
        "go before NAME; -c TEXT may follow it, and -- before the command. Ends with the command's\n"
        "status, with 128 and the signal's number if one killed it, with 1 (or -E) if others had\n"
        "the lock, 79 if it was lost, 80 if --on-abandoned fail kept the command from running, 69\n"
        "if the server cannot be reached, 77 if it denies access, 78 if the configuration is wrong,\n"
        "126 or 127 if the command cannot be run. The command has LATCHKEY_NAME, LATCHKEY_FENCE and\n"
        "LATCHKEY_OWNER in its environment, and LATCHKEY_ABANDONED=1 if the last writer did not\n"
        "release the lock. A server that is away while run waits is waited for, as long as -w and\n"
        "--server-timeout permit; one that is away from the start, only if one of them is given.",
    .examples = "  latchkey run -n nightly /usr/local/bin/report   # one run at a time, anywhere\n"
                "  latchkey run -s -w 30 db:main pg_dump shop      # beside other readers\n"
                "  latchkey run deploy:web -c 'git pull && make'   # with the shell\n",
    .options = options,
    .wraps = true,
    .run = begin,
};
