/*
 * The floor for taking and giving back a lock: the commands that the library sends, word for word,
 * from a loop that does nothing else: it waits for each answer in a blocking read, and keeps only
 * what the next command has to name. It does not renew, and does not notice what is lost.
 */
#ifndef BENCH_CLIENT_BARE_H
#define BENCH_CLIENT_BARE_H

#include "client_server.h"

#include <stdbool.h>

typedef struct {
    redisContext *context; /* not owned */
    char key[64];
    char handle[46];
    char who[256];
    uint64_t request, fence, floor;
} bare_lock;

/* Different `number`s are different clients. The scripts must have been loaded. */
void bare_init(bare_lock *, redisContext *, const char *name, uint64_t number);
void bare_load_scripts(redisContext *);

bool bare_take(bare_lock *, bool wait); /* false: it is queued */
void bare_claim(bare_lock *);           /* asks again for what was queued, and is granted now */
void bare_give_back(bare_lock *);

#endif
