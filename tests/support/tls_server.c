/* See tls_server.h. */
#include "tls_server.h"

#include "test_memory.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { START_TRIES = 5, OPTIONS_MOST = 24 };

static char *folder;

static const char certificates[] =
    "set -e; cd \"$FOLDER\"; exec >/dev/null 2>&1\n"
    "new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'\n"
    "issuer() { openssl req -x509 $new -keyout $1.key -out $1.crt -subj /CN=$1 -days 2; }\n"
    "issue() {\n" /* issuer, name, subjectAltName, how long it is good */
    "  openssl req $new -keyout $2.key -out $2.csr -subj /CN=$2 -addext subjectAltName=$3\n"
    "  openssl x509 -req -in $2.csr -CA $1.crt -CAkey $1.key -CAcreateserial $4 -out $2.crt "
    "\\\n"
    "    -copy_extensions copy\n"
    "}\n"
    "issuer ca; issuer other\n"
    "issue ca here DNS:localhost,IP:127.0.0.1 '-days 2'\n"
    "issue ca elsewhere DNS:elsewhere.test '-days 2'\n"
    /* Each of these is refused by some version. */
    "issue ca expired DNS:localhost '-days -1' || issue ca expired DNS:localhost \\\n"
    "  '-not_before 20200101000000Z -not_after 20200102000000Z'\n"
    "issue ca client DNS:client.test '-days 2'\n"
    "issue other stranger DNS:client.test '-days 2'\n"
    "cat client.crt client.key >client.both\n"
    "openssl pkey -in client.key -aes256 -passout pass:x -out client.locked\n"
    "mkdir hashed plain; cp ca.crt hashed; cp ca.crt plain; openssl rehash hashed\n"
    "echo nothing >garbage\n";

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

void certificates_remove(void) {
    if (folder)
        nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
    folder = NULL;
}

bool certificates_make(void) {
    const char *parent = getenv("TMPDIR");
    atexit(certificates_remove);
    folder = test_print("%s/latchkey-test-XXXXXX", parent && *parent ? parent : "/tmp");
    return mkdtemp(folder) && setenv("FOLDER", folder, 1) == 0 && system(certificates) == 0;
}

char *certificate_file(const char *name) {
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

int bind_any_port(unsigned *port, int backlog) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof own) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &length) != 0 ||
        (backlog && listen(fd, backlog) != 0)) {
        perror("bind_any_port");
        return -1;
    }
    *port = ntohs(own.sin_port);
    return fd;
}

/* Another program may take the port before the server does: so it is tried again. */
static tcp_server start(const char *port_option, const char *const *options) {
    tcp_server made = {0};
    for (int i = 0; i < START_TRIES && !made.server; i++) {
        int fd = bind_any_port(&made.port, 0);
        if (fd < 0)
            break;
        close(fd);
        char port[16];
        const char *words[OPTIONS_MOST + 1] = {"--bind", "127.0.0.1", port_option, port};
        snprintf(port, sizeof port, "%u", made.port);
        for (size_t j = 0; options && options[j] && j + 4 < OPTIONS_MOST; j++)
            words[j + 4] = options[j];
        made.server = test_server_start(test_server_any(), words);
    }
    return made;
}

tcp_server plain_server_start(const char *const *options) {
    return start("--port", options);
}

tcp_server tls_server_start(const char *certificate, const char *auth, const char *protocols) {
    char *own = test_print("%s.crt", certificate), *key = test_print("%s.key", certificate);
    const char *options[] = {"--tls-cert-file",
                             certificate_file(own),
                             "--tls-key-file",
                             certificate_file(key),
                             "--tls-ca-cert-file",
                             certificate_file("ca.crt"),
                             "--tls-auth-clients",
                             auth,
                             protocols ? "--tls-protocols" : NULL,
                             protocols,
                             NULL};
    tcp_server made = start("--tls-port", options);
    free(own);
    free(key);
    return made;
}
