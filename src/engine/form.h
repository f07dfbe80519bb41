/*
 * A form of the lock on a server: how each operation is written as a command, and what an error
 * reply to it means. There is one form: the scripts of protocol/lua, called by EVALSHA (SPEC 10, 11).
 * Each server has an lki_form, which knows the scripts that this server lacks.
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
    LKI_SCRIPTS /* how many there are; of a command: it needs none of them */
} lki_script_id;

enum {
    LKI_OWNER_MOST = 128,
    LKI_GROUP_MOST = 64,
    LKI_WHO_MOST = 255,
    LKI_RENEW_MOST = 100,  /* entries of one renew */
    LKI_HANDLE_LENGTH = 45 /* SPEC 1.2 */
};

typedef struct {
    bool lacks[LKI_SCRIPTS]; /* the next command that needs this script carries its text */
} lki_form;

/* ---- commands: each function adds one to the bytes ---- */

/* How a command was sent: the form judges an error reply by it. */
typedef struct {
    lki_script_id script;
    bool with_text;
} lki_sent;

typedef struct {
    const char *handle;
    uint64_t req, fence;
    lk_mode mode;
    bool wait;
    int64_t lease_ms;
    lk_policy policy;
    uint64_t floor;
    const char *owner, *group, *who;
} lki_acquire_arguments;

/* A hold (fence not 0), or the waiter with this request number. */
typedef struct {
    lki_key key;
    const char *handle;
    uint64_t fence, req;
    int64_t lease_ms;
} lki_renew_entry;

lki_sent lki_form_acquire(lki_form *, lki_bytes *, lki_key, const lki_acquire_arguments *);
lki_sent lki_form_release(lki_form *, lki_bytes *, lki_key, const char *handle, uint64_t req,
                          uint64_t fence, lk_mode);
lki_sent lki_form_convert(lki_form *, lki_bytes *, lki_key, const char *handle, uint64_t req,
                          uint64_t fence);
lki_sent lki_form_cancel(lki_form *, lki_bytes *, lki_key, const char *handle, uint64_t req,
                         uint64_t target);
lki_sent lki_form_renew(lki_form *, lki_bytes *, const lki_renew_entry *, size_t count);
lki_sent lki_form_inspect(lki_form *, lki_bytes *, lki_key, uint64_t limit);
lki_sent lki_form_force(lki_form *, lki_bytes *, lki_key, const char *owner);

const char *lki_policy_text(lk_policy);

/* ---- error replies: the server has not done what was asked ---- */

typedef enum {
    LKI_REFUSED_RESEND,   /* send it again now: the form will write it differently */
    LKI_REFUSED_LATER,    /* the server cannot do it now: send it again soon */
    LKI_REFUSED_TOO_DEEP, /* the handle has as many holds as a lock can count */
    LKI_REFUSED_FINAL     /* the server will not do it */
} lki_refusal_kind;

typedef struct {
    lki_refusal_kind kind;
    lk_status status;
    const char *advice; /* what it means and what to do: a clause, to stand behind a semicolon */
} lki_refusal;

/* Call it once for each error reply: the form learns from it what the server lacks. */
lki_refusal lki_form_refused(lki_form *, lki_sent, const char *error_reply);

/* The same for an error within a reply, such as that of one entry of a renewal. */
lki_refusal lki_refusal_read(const char *error);

#endif
