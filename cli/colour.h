/* Colour: only on a terminal that supports it, and never if NO_COLOR is set. */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

#include <stdio.h>

typedef enum { COLOUR_NONE, COLOUR_BOLD, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW } colour_kind;

/* The escape sequence that turns the colour on in this output; "" where colour is off. */
const char *colour(FILE *, colour_kind);

#endif
