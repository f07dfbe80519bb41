/*
 * Processes full of holders (torture_holder.h), for a test that stops, continues, kills and
 * replaces them. Further processes only keep the processors busy. Each is this program once more,
 * and ends with it.
 */
#ifndef INTEGRATION_TORTURE_CAST_H
#define INTEGRATION_TORTURE_CAST_H

#include "history_check.h"
#include "torture_holder.h"

/* main() of a process that start_player() has started. */
bool is_player(int count, char **words);
int player_main(char **words);

/* Harm that a test does to its players. */
void replace_player(proxy *, unsigned *seed);
void stop_player(int ms, unsigned *seed);
int draw_stall_ms(unsigned *seed); /* most often a lease, or a little more or less */

/* Does harm for so long, again and again. Then all is well, and nothing must be left. */
void run_play(int64_t ms, void (*harm)(proxy *, unsigned *seed), unsigned *seed);

/* Judges all that the players believed. Something must have happened that can be judged. */
void judge_play(history_rules);

#endif
