/* Single fields against what is expected of them; for match.c and match_messages.c. */
#ifndef CONFORMANCE_MATCH_FIELDS_H
#define CONFORMANCE_MATCH_FIELDS_H

#include "match.h"

/* NULL, or the first field that is otherwise than expected, as `key=value`; to be freed. */
char *match_fields(const expected *, cast *, const reply *fields);

/* Replaces handles in the text, which it takes, by actors: @A2. */
char *match_name_actors(char *text);

#endif
