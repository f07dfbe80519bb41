/* hiredis' reader of replies, with limits: no answer about locks is larger. */
#ifndef LKI_READER_H
#define LKI_READER_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

/* To be freed with redisReaderFree(); NULL: out of memory. */
redisReader *lki_reader_new(void);

/* Whether more waits in it to become whole than any answer is long. */
bool lki_reader_is_overfull(const redisReader *);

#endif
