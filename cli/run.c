/* See run.h: the command line of `latchkey run`, and its course. */
#include "run.h"

#include "command.h"
#include "duration.h"
#include "exits.h"
#include "say.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FOR_EVER = -1, WORDS_MOST = 128 };

static const option options[] = {
    {'s', "shared", NULL, "a read lock: others may read too"},
    {'x', "exclusive", NULL, "a write lock: nobody else (the default; -e too)"},
    {'e', "write", NULL, "the same as -x"},
    {'n', "nonblock", NULL, "do not wait, whatever -w says: end with the conflict code instead"},
    {0, "nb", NULL, "the same as -n"},
    {'w', "wait", "TIME", "wait so long at the most; 0 is -n"},
    {0, "timeout", "TIME", "the same as -w"},
    {'E', "conflict-exit-code", "CODE", "what to end with when others had the lock; 1"},
    {'c', "command", "TEXT", "run TEXT with the shell"},
    {'o', "close", NULL, "nothing: the command never gets a descriptor of the lock"},
    {0, "lease", "TIME", "after a crash the lock is free so much later; renewed until then; 30s"},
    {0, "policy", "POLICY", "fair, phase-fair, prefer-writer or prefer-reader; fair"},
    {0, "owner", "TEXT", "act for this owner: $LATCHKEY_OWNER enters the lock of the parent"},
    {0, "on-lost", "WHAT", "term (then kill), kill or ignore, when the lock is lost; term"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    lk_mode mode;
    int64_t wait_ms;
    bool does_not_wait;
    int conflict;
    lk_lock_options lock;
    on_lost on_lost;
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

static int taken(void *arg, const option *row, char *value) {
    static const char *const policies[] = {"fair", "phase-fair", "prefer-writer", "prefer-reader",
                                           NULL};
    static const char *const losses[] = {"term", "kill", "ignore", NULL};
    wishes *wanted = arg;
    int found = 0, code = 0;
    if (option_is(row, "shared")) {
        wanted->mode = LK_READ;
    } else if (option_is(row, "exclusive") || option_is(row, "write")) {
        wanted->mode = LK_WRITE;
    } else if (option_is(row, "nonblock") || option_is(row, "nb")) {
        wanted->does_not_wait = true;
    } else if (option_is(row, "wait") || option_is(row, "timeout")) {
        code = take_time(row, value, &wanted->wait_ms);
    } else if (option_is(row, "conflict-exit-code")) {
        code = take_code(value, &wanted->conflict);
    } else if (option_is(row, "command")) {
        wanted->shell_text = value;
    } else if (option_is(row, "lease")) {
        code = take_time(row, value, &wanted->lock.lease_ms);
        if (code == 0 && (wanted->lock.lease_ms < 100 || wanted->lock.lease_ms > 86400000))
            code = say_usage("--lease %s: it must be 0.1s to 24h", value);
    } else if (option_is(row, "policy")) {
        code = take_word(row, value, policies, &found);
        wanted->lock.policy = (lk_policy)found;
    } else if (option_is(row, "owner")) {
        wanted->lock.owner = value;
    } else if (option_is(row, "on-lost")) {
        code = take_word(row, value, losses, &found);
        wanted->on_lost = (on_lost)found;
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

/* The lock was the command's to the end, or it was not. */
static int give_back(run *self, lk_mode mode, int code, int *by) {
    if (self->leaves)
        return code;
    lk_status status = run_give_back(self, mode, by);
    self->leaves = status == LK_LOST || status == LK_UNAVAILABLE;
    if (status == LK_LOST && self->on_lost != ON_LOST_IGNORE && code != EXIT_LOST)
        return say_failure(EXIT_LOST,
                           "lock \"%s\" was lost while the command ran; it may have worked "
                           "beside another",
                           self->name);
    if (status != LK_OK && status != LK_LOST)
        say_note("%s", self->error);
    return code;
}

/* A server that is away would keep lk_close() waiting. */
static void close_all(run *self) {
    self->leaves = self->leaves || !run_line_free(self->line);
    if (self->leaves)
        return;
    lk_lock_free(self->lock);
    lk_close(self->client);
}

static int run_under_lock(run *self, const wishes *wanted) {
    int by = 0, code = 0;
    int64_t wait_ms = wanted->does_not_wait ? 0 : wanted->wait_ms;
    lk_status status = run_take(self, wanted->mode, wait_ms, &by);
    if (!by)
        code = status == LK_OK ? give_back(self, wanted->mode, run_child(self), &by)
                               : not_taken(self, wanted, status);
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

static int begin(int count, char **words) {
    run self = {.signal_fd = -1, .lost_fd = -1};
    wishes wanted = {.mode = LK_WRITE, .wait_ms = FOR_EVER, .conflict = EXIT_CONFLICT};
    char *shell[4];
    int rest;
    int code = options_parse(options, true, count, words, taken, &wanted, &rest);
    if (code == 0)
        code = read_words(&wanted, words + rest, &self, shell);
    if (code == 0)
        code = common_open(&wanted.common, &self.client);
    if (code != 0)
        return code;
    code = run_block_signals(&self); /* not before: a connect that hangs can be ended as usual */
    self.lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (code == 0 && self.lost_fd < 0)
        code = say_failure(EXIT_BROKEN, "no descriptors are left");
    if (code != 0) {
        lk_close(self.client);
        return code;
    }
    self.on_lost = wanted.on_lost;
    self.lease_ms = wanted.lock.lease_ms ? wanted.lock.lease_ms : 30000;
    wanted.lock.on_lost = note_loss;
    wanted.lock.on_lost_arg = &self.lost_fd;
    lk_status status = lk_lock_new(self.client, self.name, &wanted.lock, &self.lock);
    if (status != LK_OK) {
        code = say_status(status);
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
        "Takes the lock NAME, runs the command, and gives the lock back when it has ended. "
        "Options\n"
        "go before NAME; -c TEXT may follow it, and -- before the command. Ends\n"
        "with the command's status, with 128 and the signal's number if one killed it, with 1 (or\n"
        "-E) if others had the lock, 79 if it was lost, 69 if the server cannot be\n"
        "reached, 77 if it denies access, 78 if the configuration is wrong, 126 or 127 if\n"
        "the command cannot be run.\n"
        "The command has LATCHKEY_NAME, LATCHKEY_FENCE and LATCHKEY_OWNER in its environment.",
    .examples = "  latchkey run -n nightly /usr/local/bin/report   # one run at a time, anywhere\n"
                "  latchkey run -s -w 30 db:main pg_dump shop      # beside other readers\n"
                "  latchkey run deploy:web -c 'git pull && make'   # with the shell\n",
    .options = options,
    .wraps = true,
    .run = begin,
};
