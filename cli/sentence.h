/*
 * The library's sentences in the words of the command: where they name a field of C, the user has an
 * option. One table has them all.
 */
#ifndef CLI_SENTENCE_H
#define CLI_SENTENCE_H

#include <stddef.h>

/*
 * Copies the sentence with "tls_ca" as "--tls-ca", and so on. Names in quotes stay as they are, and
 * so does a sentence about a line of a file ("FILE:LINE: …"), where the field's name is what stands
 * there. What is too long is cut.
 */
void sentence_translate(const char *sentence, char *out, size_t size);

#endif
