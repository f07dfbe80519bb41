/* See tls.h: TLS of the static library, which has tls.c linked in. */
#include "net/tls.h"

lk_status lki_tls_get(const lki_tls_methods **out, lki_error *error) {
    (void)error;
    *out = &lki_tls_openssl;
    return LK_OK;
}
