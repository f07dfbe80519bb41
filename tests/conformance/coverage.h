/* Whether every rule of SPEC.md is shown by a scenario. */
#ifndef CONFORMANCE_COVERAGE_H
#define CONFORMANCE_COVERAGE_H

#include "scenario.h"

/*
 * A rule is a paragraph that begins with `**N.N`. Before the next rule or heading there must be a
 * line `*Shown by:*` with ids in backticks, on it or on the lines up to the next blank one; each
 * must be a scenario. Says on stdout where that is not so.
 */
bool coverage_check(const char *spec_path, const scenario_list *);

#endif
