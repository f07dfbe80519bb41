/* Decodes the replies of the scripts (SPEC 10). Knows no handle and has no state. */
#ifndef LKI_ANSWER_H
#define LKI_ANSWER_H

#include "base/error.h"

#include <hiredis/hiredis.h>

typedef enum {
    LKI_ANSWER_GRANTED,   /* fence, ms, flags */
    LKI_ANSWER_QUEUED,    /* position, ms */
    LKI_ANSWER_BUSY,      /* ms */
    LKI_ANSWER_DEADLOCK,  /* */
    LKI_ANSWER_NOT_HELD,  /* */
    LKI_ANSWER_STALE,     /* */
    LKI_ANSWER_RELEASED,  /* reads, writes */
    LKI_ANSWER_RENEWED,   /* entries: see lki_answer_entry */
    LKI_ANSWER_LEASE,     /* ms; only in an entry */
    LKI_ANSWER_CANCELLED, /* */
    LKI_ANSWER_FORCED,    /* count */
    LKI_ANSWER_LOCK,      /* the answer to inspect: see engine/inspect.h */
    LKI_ANSWER_ERROR,     /* text: an error reply, or the error of an entry */
    LKI_ANSWER_NONSENSE   /* the reply is none that a script sends */
} lki_answer_word;

/* Valid are the members that are listed above for the word, and server_us except in an entry. */
typedef struct {
    lki_answer_word word;
    uint64_t server_us; /* the time of the server */
    uint64_t fence, position, reads, writes, count;
    int64_t ms;
    unsigned flags;   /* of a grant: see lki_flags_abandoned and lki_flags_policy */
    const char *text; /* owned by the reply */
} lki_answer;

lki_answer lki_answer_read(const redisReply *);
lki_answer lki_answer_entry(const redisReply *renewed, size_t index); /* index from 0 */

bool lki_flags_abandoned(unsigned flags);
lk_policy lki_flags_policy(unsigned flags);

/* Reads an integer, or a string of digits, up to 2^53 (SPEC 10.1). False: it is not one. */
bool lki_reply_number(const redisReply *, uint64_t *out);

#endif
