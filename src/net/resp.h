/* Writes commands in RESP: arrays of words. hiredis parses the replies. */
#ifndef LKI_RESP_H
#define LKI_RESP_H

#include "base/bytes.h"

#include <stdint.h>

void lki_resp_command(lki_bytes *, size_t words); /* the caller then adds so many words */
void lki_resp_word(lki_bytes *, const char *bytes, size_t length);
void lki_resp_text(lki_bytes *, const char *text);
void lki_resp_number(lki_bytes *, uint64_t number);
void lki_resp_words(lki_bytes *, const char *const *words); /* a whole command; NULL is its end */

#endif
