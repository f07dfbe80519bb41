/*
 * What the user of a connection may do, of all that locks need: tried, with commands that change
 * nothing whether they are permitted or not. A user who may do just enough may not ask ACL about
 * himself; and what is tried takes all in, whatever the version: selectors, renamed commands.
 */
#ifndef LKI_RIGHTS_H
#define LKI_RIGHTS_H

#include "net/talk.h"

enum { LKI_RIGHTS_MOST = 40, LKI_RIGHT_SIZE = 160 };

/* Both lists without repetitions, in the order of docs/GUARANTEES.md. */
typedef struct {
    char missing[LKI_RIGHTS_MOST][LKI_RIGHT_SIZE]; /* "+evalsha", "~lk:*", "&lk:*" */
    size_t missing_count;
    char absent[LKI_RIGHTS_MOST][LKI_RIGHT_SIZE]; /* "EVAL": the server does not know it */
    size_t absent_count;
    bool all_channels; /* set before: the server gives them to a new user, as before version 7 */
} lki_rights;

void lki_rights_lack(lki_rights *, const char *right); /* adds to the missing ones */

/*
 * A user that may use no command with keys cannot try keys: they count as missing then, so that the
 * list is all that a new user needs. The same goes for channels. The connection is of no use for
 * commands afterwards: it has subscribed.
 */
lk_status lki_rights_try(lki_talk *, const char *prefix, lki_rights *, lki_error *);

#endif
