/* Colour: on a terminal that has it only, and never with NO_COLOR in the environment. */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

#include <stdio.h>

typedef enum { COLOUR_NONE, COLOUR_BOLD, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW } colour_kind;

/* What switches it on in that output; "" where there is to be none. */
const char *colour(FILE *, colour_kind);

#endif
