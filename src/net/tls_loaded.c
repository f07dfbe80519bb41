/*
 * See tls.h: loads the TLS module from the folder of this library, when it is first needed. This
 * file has no lock that a fork could leave taken: the dynamic loader has its own, and gives threads
 * that load at the same time the same module.
 */
#include "net/tls.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const lki_tls_methods *) loaded;

/*
 * "$ORIGIN" would be wrong with sanitizers: they call dlopen() for us, and it means their folder.
 */
static bool find_module(char path[PATH_MAX]) {
    char library[PATH_MAX];
    Dl_info ours;
    if (!dladdr(&loaded, &ours) || !realpath(ours.dli_fname, library))
        return false;
    *(strrchr(library, '/') + 1) = '\0';
    return snprintf(path, PATH_MAX, "%s%s", library, LKI_TLS_MODULE) < PATH_MAX;
}

static lk_status fail_to_load(const char *why, lki_error *error) {
    return lki_error_set(error, LK_UNSUPPORTED,
                         "rediss:// needs latchkey's TLS module, which cannot be loaded: %s; "
                         "install it beside liblatchkey, and OpenSSL 3 (Debian: libssl3)",
                         why);
}

static lk_status load(const lki_tls_methods **out, lki_error *error) {
    char path[PATH_MAX];
    if (!find_module(path))
        return fail_to_load("the folder of liblatchkey is not found", error);
    /* Never closed: the code of open connections is in it. */
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const lki_tls_methods *found = module ? dlsym(module, "lki_tls_openssl") : NULL;
    if (!found)
        return fail_to_load(dlerror(), error);
    if (strcmp(found->version, LKI_VERSION) != 0)
        return lki_error_set(error, LK_UNSUPPORTED,
                             "the TLS module %s is of latchkey %s, but the library is of %s; "
                             "install the same version of both",
                             path, found->version, LKI_VERSION);
    *out = found;
    return LK_OK;
}

lk_status lki_tls_get(const lki_tls_methods **out, lki_error *error) {
    const lki_tls_methods *found = atomic_load(&loaded);
    lk_status status = found ? LK_OK : load(&found, error);
    if (status != LK_OK)
        return status;
    atomic_store(&loaded, found);
    *out = found;
    return LK_OK;
}
