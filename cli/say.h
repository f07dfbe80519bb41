/*
 * Messages of the command on stderr: one line for each failure, and log lines with --verbose. Knows no
 * subcommand.
 */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include "latchkey.h"

/* The prefix of each line is "latchkey: ", or "latchkey SUBCOMMAND: " after this call. */
void say_set_subcommand(const char *);

/* Each prints one line and returns the exit code. say_usage() adds which help to read. */
int say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
int say_failure(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * A failed call of the library: prints the error text, with options in place of field names, and
 * returns the exit code for the status. The text is lk_last_error(), or a copy of it.
 */
int say_status(lk_status);
int say_sentence(lk_status, const char *sentence);
int exit_code_of(lk_status);

/* Notes are printed only with --verbose. */
void say_set_verbose(bool on);
bool say_is_verbose(void);
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress of a long operation, only if stderr is a terminal. NULL removes it. */
void say_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For lk_client_options: prints the library's log lines with --verbose. */
void say_log(lk_log_level, const char *text, void *arg);

/* Overwrites the passwords of each URL in the text with x. A byte of `ends` ends a URL. */
void cover_passwords(char *text, const char *ends);

#endif
