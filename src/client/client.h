/*
 * A client: what its parts share. Its monitor is the one mutex of the library; docs/THREADS.md
 * says who runs where.
 */
#ifndef LKI_CLIENT_H
#define LKI_CLIENT_H

#include "client/callbacks.h"
#include "client/choice.h"
#include "client/keeper.h"
#include "client/server.h"
#include "client/settings.h"
#include "client/timers.h"
#include "lock/table.h"
#include "topology/topology.h"

enum { LKI_CLIENT_ID_LENGTH = 32 };

struct lk_client {
    /* Set before anybody else sees the client, and never changed. */
    unsigned forks; /* lki_fork_count() when it was opened */
    lki_settings settings;
    lki_topology *topology;
    char id[LKI_CLIENT_ID_LENGTH + 1];
    char *channel;
    int stop_fd; /* an eventfd, readable from lk_close on */

    pthread_mutex_t monitor; /* for everything below */
    unsigned references;     /* the opener's, each handle's, each call's that is in progress */
    bool closing;            /* lk_close has begun: nothing new is begun */
    bool closed;
    lki_server *servers;
    size_t server_count;
    uint64_t floor;       /* the greatest fence or server time seen (SPEC 8.1) */
    uint64_t last_number; /* of a handle */
    lki_table locks;
    lki_timers timers;
    lki_keeper keeper;
    lki_callbacks callbacks;
    pthread_cond_t ended; /* a callback, a call or an operation has come to its end, or a
                             callback is to be dispatched */
    size_t operations;    /* of handles, that are not over */
    size_t settled;       /* how many operations an answer of the server has brought to an end */
    size_t calls;         /* of the client itself, in progress */
};

lk_status lki_client_open(const lki_choice *, lk_client **out, lki_error *);
void lki_client_close(lk_client *);
void lki_client_drop(lk_client *); /* after fork: the descriptors only */

/* Both with the monitor held; release lets go of it, and may free the client. */
void lki_client_retain(lk_client *);
void lki_client_release(lk_client *);

lki_server *lki_client_server(lk_client *, const char *name);
void lki_client_saw(lk_client *, uint64_t fence_or_time);

/* With the monitor held; the line is written by a callback. */
void lki_log(lk_client *, lk_log_level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
