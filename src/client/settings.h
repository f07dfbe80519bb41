/* Checks and copies the options of a client, and fills in the defaults. */
#ifndef LKI_SETTINGS_H
#define LKI_SETTINGS_H

#include "base/error.h"
#include "session/settings.h"

#define LKI_TIMEOUT_MOST_MS INT64_C(86400000)
#define LKI_PREFIX_DEFAULT "lk"

/* Whether these can be a prefix and an app. */
bool lki_settings_prefix_fits(const char *prefix);
bool lki_settings_app_fits(const char *app);

lk_status lki_settings_read(const lk_client_options *, lki_settings *out, lki_error *);
void lki_settings_clear(lki_settings *);

/* LK_INVALID: they ask for TLS, and the URL does without; the sentence names the option. */
lk_status lki_settings_suit(const lki_settings *, const char *url, lki_error *);

#endif
