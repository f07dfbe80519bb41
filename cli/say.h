/*
 * What the command says about itself: one line on stderr for each failure, and lines of a log when
 * they are asked for. Knows nothing of subcommands.
 */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include "latchkey.h"

/* "latchkey", and the subcommand once it is known. */
void say_as(const char *subcommand);

/* One line, with the name before it. Each of these returns the code to end with. */
int say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
int say_failure(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The failure of a call of the library: its own sentence, with options in place of fields, and the
 * code that belongs to the status. The sentence is that of the last call, or one that was kept.
 */
int say_status(lk_status);
int say_sentence(lk_status, const char *sentence);
int exit_code_of(lk_status);

/* A note that is only of interest with --verbose. */
void say_verbosely(bool on);
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool says_notes(void);

/* Long work: what is being done, on a terminal on stderr and only there; NULL: it is over. */
void say_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For lk_client_options: lines of the library, with --verbose. */
void say_log(lk_log_level, const char *text, void *arg);

#endif
