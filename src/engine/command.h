/*
 * Operations of the lock as commands to a server: EVALSHA of the scripts of protocol/lua, or EVAL
 * with their text where the server does not have them (SPEC 10, 11). Knows no connection.
 */
#ifndef LKI_COMMAND_H
#define LKI_COMMAND_H

#include "base/bytes.h"
#include "latchkey.h"

#include <stdint.h>

/* In the order of the generated list of scripts. */
typedef enum {
    LKI_SCRIPT_ACQUIRE,
    LKI_SCRIPT_RELEASE,
    LKI_SCRIPT_RENEW,
    LKI_SCRIPT_CONVERT,
    LKI_SCRIPT_CANCEL,
    LKI_SCRIPT_INSPECT,
    LKI_SCRIPT_FORCE,
    LKI_SCRIPTS
} lki_script_id;

enum {
    LKI_NAME_MOST = 512,
    LKI_OWNER_MOST = 128,
    LKI_GROUP_MOST = 64,
    LKI_WHO_MOST = 255,
    LKI_PREFIX_MOST = 64,
    LKI_RENEW_MOST = 100,  /* entries of one renew */
    LKI_HANDLE_LENGTH = 45 /* SPEC 1.2 */
};

/* A lock, as its keys name it. */
typedef struct {
    const char *prefix, *name;
} lki_place;

typedef struct {
    const char *handle;
    uint64_t req, fence;
    lk_mode mode;
    bool wait;
    int64_t lease_ms;
    lk_policy policy;
    uint64_t floor;
    const char *owner, *group, *who;
} lki_acquire_words;

/* One entry of renew: a hold (fence not 0) or the waiter with that request number. */
typedef struct {
    lki_place place;
    const char *handle;
    uint64_t fence, req;
    int64_t lease_ms;
} lki_renew_words;

/* `text`: send the whole script, as the server lacks it. Each adds one command to the bytes. */
void lki_command_acquire(lki_bytes *, lki_place, bool text, const lki_acquire_words *);
void lki_command_release(lki_bytes *, lki_place, bool text, const char *handle, uint64_t req,
                         uint64_t fence, lk_mode);
void lki_command_convert(lki_bytes *, lki_place, bool text, const char *handle, uint64_t req,
                         uint64_t fence);
void lki_command_cancel(lki_bytes *, lki_place, bool text, const char *handle, uint64_t req,
                        uint64_t target);
void lki_command_renew(lki_bytes *, bool text, const lki_renew_words *entries, size_t count);
void lki_command_inspect(lki_bytes *, lki_place, bool text, uint64_t limit);
void lki_command_force(lki_bytes *, lki_place, bool text, const char *owner);

/* SCAN for the locks' first keys, from a cursor; names begin with `start` (length may be 0). */
void lki_command_scan(lki_bytes *, const char *prefix, const char *cursor, const char *start,
                      size_t start_length);

/* The name in a lock's first key, or NULL if the key is none; it ends at *length. */
const char *lki_key_name(const char *prefix, const char *key, size_t key_length, size_t *length);

const char *lki_policy_text(lk_policy);

#endif
