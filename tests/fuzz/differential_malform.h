/*
 * Spoils a step: every kind of bad input of SPEC 10.12, sometimes two at once, so that the forms
 * must agree on which is told. What is no input but a state of the server (LKTYPE, OOM) is not
 * here, and LKDEPTH takes too many steps; scenarios show those.
 */
#ifndef DIFFERENTIAL_MALFORM_H
#define DIFFERENTIAL_MALFORM_H

#include "differential_random.h"
#include "differential_step.h"

void malform(random_source *, step *);

#endif
