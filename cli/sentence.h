/*
 * Error texts of the library name fields of C structs. The user of the command has options instead.
 * One table maps the field names to options.
 */
#ifndef CLI_SENTENCE_H
#define CLI_SENTENCE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies the sentence with "--tls-ca" for "tls_ca", and so on. Text in quotes stays as it is. So does a
 * sentence about a line of a file ("FILE:LINE: …"), because the file contains the field name, and a
 * sentence about a variable ("LATCHKEY_TLS_CA: …"). A sentence that does not fit is cut.
 */
void sentence_translate(const char *sentence, char *out, size_t size);

/* Whether the sentence is about a value of a configuration file, or a variable for such a value. */
bool sentence_is_about_configuration(const char *sentence);

#endif
