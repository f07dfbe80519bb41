/* What the scripts answer, read from hiredis' replies (SPEC 10). Knows no handle and no state. */
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
    LKI_ANSWER_RENEWED,   /* entries, see lki_answer_entry */
    LKI_ANSWER_LEASE,     /* ms; of an entry */
    LKI_ANSWER_CANCELLED, /* */
    LKI_ANSWER_FORCED,    /* count */
    LKI_ANSWER_LOCK,      /* inspect's own; see engine/inspect.h */
    LKI_ANSWER_ERROR,     /* text: an error reply, or an entry's */
    LKI_ANSWER_NONSENSE   /* nothing that a lock would say */
} lki_answer_word;

/* Only the members that the word names above mean something; server_us not for entries. */
typedef struct {
    lki_answer_word word;
    uint64_t server_us;
    uint64_t fence, position, reads, writes, count;
    int64_t ms;
    unsigned flags;
    const char *text; /* the reply's */
} lki_answer;

lki_answer lki_answer_read(const redisReply *);
lki_answer lki_answer_entry(const redisReply *renewed, size_t index);

bool lki_flags_abandoned(unsigned flags);
lk_policy lki_flags_policy(unsigned flags);

/* An integer, or a text of digits, up to 2^53 (SPEC 10.1); false: neither. */
bool lki_reply_number(const redisReply *, uint64_t *out);

#endif
