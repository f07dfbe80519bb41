/* Checks and copies the options of a client, and fills in the defaults. */
#ifndef LKI_SETTINGS_H
#define LKI_SETTINGS_H

#include "base/error.h"
#include "session/settings.h"

#define LKI_TIMEOUT_MOST_MS INT64_C(86400000)
enum { LKI_REPLICAS_MOST = 1000 };
#define LKI_PREFIX_DEFAULT "lk"

/* Whether the text is valid as a prefix, and as an app. */
bool lki_settings_prefix_fits(const char *prefix);
bool lki_settings_app_fits(const char *app);

/* LK_INVALID: the error names the option; LK_NOMEM. */
lk_status lki_settings_read(const lk_client_options *, lki_settings *out, lki_error *);
void lki_settings_clear(lki_settings *);

/* LK_INVALID: an option of TLS is set, but the URL does not use TLS; the error names the option. */
lk_status lki_settings_suit(const lki_settings *, const char *url, lki_error *);

#endif
