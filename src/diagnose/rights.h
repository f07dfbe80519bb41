/*
 * Finds out which of the rights that locks need a user has, by trying commands that change nothing.
 * ACL GETUSER would not do: a user with just these rights may not call it. And trying also covers
 * selectors and renamed commands, in every version.
 */
#ifndef LKI_RIGHTS_H
#define LKI_RIGHTS_H

#include "net/talk.h"

enum { LKI_RIGHTS_MOST = 40, LKI_RIGHT_SIZE = 160 };

/* Both lists have no duplicates, and are in the order of docs/GUARANTEES.md. */
typedef struct {
    char missing[LKI_RIGHTS_MOST][LKI_RIGHT_SIZE]; /* "+evalsha", "~lk:*", "&lk:*" */
    size_t missing_count;
    char absent[LKI_RIGHTS_MOST][LKI_RIGHT_SIZE]; /* "EVAL": the server does not know it */
    size_t absent_count;
    /* The fields below are inputs. */
    bool all_channels; /* new users may use all channels, as before version 7 */
    bool is_node;      /* the server is a node of a cluster */
    bool needs_wait;   /* replicas must confirm grants: `min_replicas` */
} lki_rights;

void lki_rights_lack(lki_rights *, const char *right); /* adds it to `missing` */

/*
 * If the user may call no command with keys, access to keys cannot be tried, and counts as missing:
 * so the list is complete for a new user. The same applies to channels. Afterwards the connection
 * is subscribed, and cannot be used for commands.
 */
lk_status lki_rights_try(lki_talk *, const char *prefix, lki_rights *, lki_error *);

#endif
