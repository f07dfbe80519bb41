/*
 * The ids to which a server publishes for this client, and the subscriptions to them. An id is the
 * first part of a handle (SPEC 1.2). Each server of a client has an id of its own, for the handles
 * that were made for it. A handle keeps its id when its lock moves to another server, which must
 * then listen to that id too.
 *
 * Every function is called with the monitor held.
 */
#ifndef LKI_EARS_H
#define LKI_EARS_H

#include "base/error.h"
#include "engine/key.h"
#include "net/link.h"

typedef struct lki_server lki_server;

enum {
    LKI_CLIENT_ID_LENGTH = 32,
    LKI_CHANNEL_SIZE = LKI_PREFIX_MOST + 1 + LKI_CLIENT_ID_LENGTH + 1
};

typedef struct lki_ear lki_ear;
struct lki_ear {
    lki_request subscription;
    lki_server *server;
    lki_ear *next;
    bool is_heard; /* the messages wire is subscribed to it; of the own id: see its greeting */
    char id[LKI_CLIENT_ID_LENGTH + 1];
};

lk_status lki_ears_init(lki_server *, lki_error *); /* LK_INTERNAL: no random numbers */
void lki_ears_free(lki_server *);

/* The pub/sub channel on which servers publish to the handles with this id (SPEC 10.10). */
void lki_ear_channel(const lki_ear *, char out[LKI_CHANNEL_SIZE]);

/* The messages wire is connected: subscribes to the ids of other servers. */
void lki_ears_subscribe(lki_server *);

/* Subscribes to the id of this handle too, now and after each new connection of messages. */
void lki_server_listen(lki_server *, const char *handle);

/* Whether the messages to this handle arrive from this server. */
bool lki_server_hears(const lki_server *, const char *handle);

#endif
