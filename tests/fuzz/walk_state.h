/*
 * The canonical state of a world: everything that decides how the lock will behave, and nothing
 * else. Two worlds with the same digest answer every further sequence of operations alike.
 *
 *   deadlines        as the number of seconds that may pass until they have passed
 *   fences, tickets  by their rank
 *   request numbers  by their rank among the numbers of their handle
 *
 * Not in it: ages, texts, and the order of deadlines within the same second, which decides only the
 * order in which expired holds are dropped. The instant at which the mark is forgotten is not in it
 * either: the walk lets time pass exactly up to that instant.
 */
#ifndef WALK_STATE_H
#define WALK_STATE_H

#include "walk_store.h"

walk_digest state_digest(const walk_world *);

#endif
