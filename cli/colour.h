/* Colour on stdout: on a terminal only, and never with NO_COLOR in the environment. */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

typedef enum { COLOUR_NONE, COLOUR_BOLD, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW } colour_kind;

/* What switches it on; "" where there is to be none. */
const char *colour(colour_kind);

#endif
