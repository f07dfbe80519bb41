/* The error replies by which a node of a cluster sends a client to another node. */
#ifndef LKI_REDIRECT_H
#define LKI_REDIRECT_H

#include <stdbool.h>

enum { LKI_REDIRECT_HOST_SIZE = 256, LKI_REDIRECT_PORT_SIZE = 8 };

typedef struct {
    bool is_ask; /* ASK: for these keys, at present. Otherwise MOVED: the slot has moved for good */
    unsigned slot;
    char host[LKI_REDIRECT_HOST_SIZE]; /* "": the host of the node that said so */
    char port[LKI_REDIRECT_PORT_SIZE];
} lki_redirect;

/* False: the reply is something else. */
bool lki_redirect_read(const char *error_reply, lki_redirect *out);

#endif
