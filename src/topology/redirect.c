/* See redirect.h. */
#include "topology/redirect.h"

#include "topology/slot.h"

#include <stdlib.h>
#include <string.h>

/* MOVED slot host:port, or ASK slot host:port. A host may be an IPv6 address, with colons. */
bool lki_redirect_read(const char *text, lki_redirect *out) {
    static const char moved[] = "MOVED ", ask[] = "ASK ";
    bool is_ask = strncmp(text, ask, strlen(ask)) == 0;
    if (!is_ask && strncmp(text, moved, strlen(moved)) != 0)
        return false;
    char *end;
    const char *digits = text + strlen(is_ask ? ask : moved);
    if (*digits < '0' || *digits > '9') /* strtoul() would skip blanks and take a sign */
        return false;
    unsigned long slot = strtoul(digits, &end, 10);
    const char *host = end + 1, *colon = *end == ' ' ? strrchr(host, ':') : NULL;
    if (!colon || slot >= LKI_SLOTS)
        return false;
    size_t host_length = (size_t)(colon - host), port_length = strlen(colon + 1);
    if (host_length >= sizeof out->host || !port_length || port_length >= sizeof out->port ||
        strspn(colon + 1, "0123456789") != port_length)
        return false;
    *out = (lki_redirect){.is_ask = is_ask, .slot = (unsigned)slot};
    if (host_length != 1 || *host != '?')
        memcpy(out->host, host, host_length);
    memcpy(out->port, colon + 1, port_length);
    return true;
}
