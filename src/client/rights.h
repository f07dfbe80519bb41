/*
 * What the user of a connection may do, of all that locks need: tried, with commands that change
 * nothing whether they are permitted or not. A user who may do just enough may not ask ACL about
 * himself; and what is tried takes all in, whatever the version: selectors, renamed commands.
 */
#ifndef LKI_RIGHTS_H
#define LKI_RIGHTS_H

#include "net/talk.h"

enum { LKI_RIGHTS_MOST = 40, LKI_RIGHT_SIZE = 96 };

/* Both lists without repetitions, in the order of docs/GUARANTEES.md. */
typedef struct {
    char missing[LKI_RIGHTS_MOST][LKI_RIGHT_SIZE]; /* "+evalsha", "~lk:*", "&lk:*" */
    size_t missing_count;
    char absent[LKI_RIGHTS_MOST][LKI_RIGHT_SIZE]; /* "EVAL": the server does not know it */
    size_t absent_count;
} lki_rights;

void lki_rights_lack(lki_rights *, const char *right); /* adds to the missing ones */

/* The connection is of no use for commands afterwards: it has subscribed. */
lk_status lki_rights_try(lki_talk *, const char *prefix, lki_rights *, lki_error *);

#endif
