/* Passwords in URLs, where others could read them. */
#ifndef CLI_SECRET_H
#define CLI_SECRET_H

/* Puts x in place of the password of each URL in a text. Bytes of `ends` end a URL. */
void secret_cover(char *text, const char *ends);

#endif
