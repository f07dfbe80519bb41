/*
 * How each operation is written as a command, and what an error reply to it means. There is one
 * form: the scripts of protocol/lua, called by EVALSHA (SPEC 10, 11). Each server has an lki_form,
 * which remembers the scripts that this server lacks.
 *
 * A form knows no connection and no handle.
 */
#ifndef LKI_FORM_H
#define LKI_FORM_H

#include "base/bytes.h"
#include "base/error.h"
#include "engine/key.h"

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
    LKI_SCRIPTS /* their number; as lki_sent.script: the command uses no script */
} lki_script_id;

enum {
    LKI_OWNER_MOST = 128,
    LKI_GROUP_MOST = 64,
    LKI_WHO_MOST = 255,
    LKI_RENEW_MOST = 100,  /* entries of one renewal command */
    LKI_HANDLE_LENGTH = 45 /* SPEC 1.2 */
};

/* A bit of the number of a handle: SPUBLISH reaches its client (SPEC 11.8). */
#define LKI_NUMBER_SHARDED (UINT64_C(1) << 47)

typedef struct {
    bool lacks[LKI_SCRIPTS]; /* the next command for this script must carry its text */
} lki_form;

/* ---- commands: each function appends one command to the bytes ---- */

/* How a command was sent. lki_form_refused() needs it. */
typedef struct {
    lki_script_id script;
    bool with_text; /* EVAL with the text of the script, not EVALSHA */
    bool is_wide;   /* with both keys of each lock */
    size_t keys;    /* how many keys it names */
} lki_sent;

typedef struct {
    const char *handle;
    uint64_t req;   /* the request number */
    uint64_t fence; /* of the handle's hold; 0: it has none */
    lk_mode mode;
    bool wait; /* queue the request if the lock is not free */
    int64_t lease_ms;
    lk_policy policy;
    uint64_t floor;
    const char *owner, *group, *who;
} lki_acquire_arguments;

typedef struct {
    const char *handle;
    uint64_t req, fence;
    lk_mode mode;
    bool told; /* a caller was told that the hold was granted (SPEC 6.3) */
} lki_release_arguments;

/* A hold (fence not 0), or the waiter with this request number (fence 0). */
typedef struct {
    lki_key key;
    const char *handle;
    uint64_t fence, req;
    int64_t lease_ms;
} lki_renew_entry;

lki_sent lki_form_acquire(lki_form *, lki_bytes *, lki_key, const lki_acquire_arguments *);
lki_sent lki_form_release(lki_form *, lki_bytes *, lki_key, const lki_release_arguments *);
lki_sent lki_form_convert(lki_form *, lki_bytes *, lki_key, const char *handle, uint64_t req,
                          uint64_t fence);
lki_sent lki_form_cancel(lki_form *, lki_bytes *, lki_key, const char *handle, uint64_t req,
                         uint64_t target);
lki_sent lki_form_renew(lki_form *, lki_bytes *, const lki_renew_entry *, size_t count);
lki_sent lki_form_inspect(lki_form *, lki_bytes *, lki_key, uint64_t limit);
lki_sent lki_form_force(lki_form *, lki_bytes *, lki_key, const char *owner);

const char *lki_policy_text(lk_policy);

/* ---- error replies: the server has not run the operation ---- */

typedef enum {
    LKI_REFUSED_RESEND,   /* send it again now, with its text or both keys */
    LKI_REFUSED_LATER,    /* send it again soon: the server cannot do it now */
    LKI_REFUSED_TOO_DEEP, /* the count of the handle's hold is at its limit */
    LKI_REFUSED_FINAL     /* do not send it again: it would fail again */
} lki_refusal_kind;

typedef struct {
    lki_refusal_kind kind;
    lk_status status;
    const char *advice; /* the cause, or what to do: a clause that can follow a semicolon */
    /* SPEC 11.1: make the key wide before you send it again. RESEND, or LATER if it was wide. */
    bool needs_both_keys;
    /*
     * A cluster moves the slot, and not all keys of the command are in one place: name fewer keys.
     * Only in answers of lki_server_refused().
     */
    bool is_split;
} lki_refusal;

/* Call it once for each error reply: it remembers a script that the server lacks. */
lki_refusal lki_form_refused(lki_form *, lki_sent, const char *error_reply);

/* For the error of one entry inside a reply. was_wide: the entry had both keys. */
lki_refusal lki_refusal_read(const char *error, bool was_wide);

#endif
