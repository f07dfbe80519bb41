/* See tls.h. */
#include "net/tls.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct lki_tls {
    SSL_CTX *context;
    BIO_METHOD *method;
    int fd;               /* owned by the transport; -1: none yet */
    char *shown;          /* the URL of the server, for error texts */
    char *name;           /* for SNI; NULL: the server is checked by its address */
    char *ca_folder;      /* NULL: tls_ca is not a folder */
    bool has_certificate; /* of our own */

    pthread_mutex_t lock; /* protects the fields below: only one thread at a time may use an SSL */
    SSL *ssl;
    short read_events, write_events; /* to poll for before the next read and the next write */
    bool is_open;                    /* the handshake is done */
    bool is_broken;                  /* OpenSSL then forbids SSL_shutdown */
    bool lacks_certificate;          /* the server asked for a certificate, and we have none */
    int error_number; /* errno of the last system call; 0: none, or the end of the stream */
};

/* ---------------------------------------------------------------------------------- the socket */

/* OpenSSL's own socket BIO uses write(2), which raises SIGPIPE if the server has closed. */

static bool is_retryable(int number) {
    return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
}

static int receive(BIO *bio, char *buffer, int size) {
    lki_tls *tls = BIO_get_data(bio);
    ssize_t length = recv(tls->fd, buffer, (size_t)size, 0);
    BIO_clear_retry_flags(bio);
    if (length < 0 && is_retryable(errno))
        BIO_set_retry_read(bio);
    else if (length < 0)
        tls->error_number = errno;
    return (int)length;
}

static int transmit(BIO *bio, const char *bytes, int size) {
    lki_tls *tls = BIO_get_data(bio);
    ssize_t length = send(tls->fd, bytes, (size_t)size, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (length < 0 && is_retryable(errno))
        BIO_set_retry_write(bio);
    else if (length < 0)
        tls->error_number = errno;
    return (int)length;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *new_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "latchkey");
    if (method && BIO_meth_set_read(method, receive) && BIO_meth_set_write(method, transmit) &&
        BIO_meth_set_ctrl(method, control))
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* ---------------------------------------------------------------------------------- the errors */

static const char *reason_of(unsigned long code) {
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    return reason ? reason : "OpenSSL gives no reason";
}

/* `wanted` is what the file should contain. */
static lk_status refuse_file(const char *option, const char *file, const char *wanted,
                             lki_error *error) {
    unsigned long code = ERR_peek_error();
    if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
        return lki_error_no_memory(error);
    if (ERR_SYSTEM_ERROR(code))
        return lki_error_set(error, LK_INVALID, "%s: the file %s cannot be read: %s", option, file,
                             strerror(ERR_GET_REASON(code)));
    return lki_error_set(error, LK_INVALID, "%s: the file %s contains no %s (%s)", option, file,
                         wanted, reason_of(code));
}

static lk_status refuse_their_certificate(const lki_tls *tls, long why, lki_error *error) {
    const char *advice = "check the server's certificate";
    switch (why) {
    case X509_V_ERR_OUT_OF_MEM:
        return lki_error_no_memory(error);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        advice = "use a host, or a tls_server_name, that the certificate names";
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        advice = tls->ca_folder
                     ? "tls_ca must contain the issuer's certificate; a folder needs `openssl "
                       "rehash`"
                     : "set tls_ca to the certificate of its issuer";
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        advice = "renew it on the server, or check the clock of this machine";
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        advice = "check the clocks of both machines";
        break;
    }
    return lki_error_set(error, LK_DENIED, "the certificate of %s is refused: %s; %s", tls->shown,
                         X509_verify_cert_error_string(why), advice);
}

static bool is_about_our_certificate(const lki_tls *tls, int reason) {
    switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        return true;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE: /* TLS 1.2 has no alert for a missing certificate */
        return tls->lacks_certificate;
    }
    return false;
}

static lk_status explain_protocol(const lki_tls *tls, lki_error *error) {
    long verified = SSL_get_verify_result(tls->ssl);
    unsigned long code = ERR_peek_error();
    int reason = ERR_GET_REASON(code);
    if (reason == ERR_R_MALLOC_FAILURE)
        return lki_error_no_memory(error);
    if (!tls->is_open && verified != X509_V_OK)
        return refuse_their_certificate(tls, verified, error);
    if (ERR_GET_LIB(code) == ERR_LIB_SSL && is_about_our_certificate(tls, reason))
        return lki_error_set(
            error, LK_DENIED, "%s refuses this client: %s; %s", tls->shown, reason_of(code),
            tls->has_certificate ? "the server must trust the issuer of tls_cert" : "set tls_cert");
    if (!tls->is_open && reason == SSL_R_WRONG_VERSION_NUMBER)
        return lki_error_set(error, LK_UNAVAILABLE,
                             "%s does not speak TLS on this port; check the port, or try redis://",
                             tls->shown);
    return lki_error_set(error, LK_UNAVAILABLE, "TLS with %s failed: %s", tls->shown,
                         reason_of(code));
}

/* Fills the error for a call that failed; `why` is the result of SSL_get_error. */
static lk_status explain(lki_tls *tls, int why, lki_error *error) {
    tls->is_broken = true;
    if (why == SSL_ERROR_SSL)
        return explain_protocol(tls, error);
    if (why == SSL_ERROR_SYSCALL && tls->error_number)
        return lki_error_set(error, LK_UNAVAILABLE, "the connection to %s was lost: %s", tls->shown,
                             strerror(tls->error_number));
    if (tls->is_open)
        return lki_error_set(error, LK_UNAVAILABLE, "%s has closed the connection", tls->shown);
    return lki_error_set(error, LK_UNAVAILABLE,
                         "%s closed the connection in the TLS handshake; the server may not speak "
                         "TLS on this port: try redis://",
                         tls->shown);
}

/* ------------------------------------------------------------------------------ certificates */

/* Without this callback, OpenSSL would ask for the passphrase of a key on the terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

/* OpenSSL calls this if the server asks for a certificate and none is loaded. */
static int note_missing_certificate(SSL *ssl, X509 **certificate, EVP_PKEY **key) {
    (void)certificate, (void)key;
    lki_tls *tls = SSL_get_app_data(ssl);
    tls->lacks_certificate = true;
    return 0;
}

static lk_status load_trusted(lki_tls *tls, const char *ca, lki_error *error) {
    struct stat status;
    ERR_clear_error();
    if (!ca)
        return SSL_CTX_set_default_verify_paths(tls->context) ? LK_OK : lki_error_no_memory(error);
    if (stat(ca, &status) != 0)
        return lki_error_set(error, LK_INVALID, "tls_ca: %s cannot be read: %s", ca,
                             strerror(errno));
    if (S_ISDIR(status.st_mode)) {
        if (!lki_copy_to(&tls->ca_folder, ca) || !SSL_CTX_load_verify_dir(tls->context, ca))
            return lki_error_no_memory(error);
        return LK_OK;
    }
    return SSL_CTX_load_verify_file(tls->context, ca)
               ? LK_OK
               : refuse_file("tls_ca", ca, "certificate", error);
}

static lk_status load_own_certificate(lki_tls *tls, const lki_tls_files *files, lki_error *error) {
    const char *key = files->key ? files->key : files->cert;
    if (!files->cert)
        return files->key ? lki_error_set(error, LK_INVALID, "tls_key without tls_cert; give both")
                          : LK_OK;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(tls->context, files->cert) != 1)
        return refuse_file("tls_cert", files->cert, "certificate", error);
    ERR_clear_error();
    /*
     * Loading compares the key with a certificate of the same kind only. With a key of another kind
     * we would connect without a certificate.
     */
    if (SSL_CTX_use_PrivateKey_file(tls->context, key, SSL_FILETYPE_PEM) != 1 ||
        !SSL_CTX_check_private_key(tls->context))
        return refuse_file(files->key ? "tls_key" : "tls_cert", key,
                           "key that belongs to the certificate and needs no passphrase", error);
    tls->has_certificate = true;
    return LK_OK;
}

static bool is_address(const char *name) {
    struct in6_addr address;
    return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
}

static lk_status expect_name(lki_tls *tls, const char *name, lki_error *error) {
    X509_VERIFY_PARAM *rules = SSL_CTX_get0_param(tls->context);
    /* OpenSSL accepts any server for an empty name, and all subdomains for a leading dot. */
    if (!name || !*name || *name == '.' || strlen(name) > TLSEXT_MAXLEN_host_name)
        return lki_error_set(error, LK_INVALID, "tls_server_name is not the name of a server");
    if (is_address(name))
        return X509_VERIFY_PARAM_set1_ip_asc(rules, name) ? LK_OK : lki_error_no_memory(error);
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!X509_VERIFY_PARAM_set1_host(rules, name, 0) || !lki_copy_to(&tls->name, name))
        return lki_error_no_memory(error);
    return LK_OK;
}

/* The machine's openssl.cnf may require a newer version. */
static bool require_tls_1_2(SSL_CTX *context) {
    return SSL_CTX_get_min_proto_version(context) >= TLS1_2_VERSION ||
           SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

static bool new_context(lki_tls *tls) {
    /* The threads of a client may still use OpenSSL while the program runs exit(). */
    if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL))
        return false;
    tls->method = new_method();
    tls->context = SSL_CTX_new(TLS_client_method());
    if (!tls->method || !tls->context || !require_tls_1_2(tls->context))
        return false;
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(tls->context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(tls->context, no_passphrase);
    SSL_CTX_set_client_cert_cb(tls->context, note_missing_certificate);
    /*
     * In a renegotiation, a write could wait for bytes that the reading thread has already read.
     * Read-ahead stays off: then a read with room for 16 KB takes exactly one record, and poll(2)
     * sees the next.
     */
    SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION);
    /* A write that did not fit is repeated with the same bytes, which may have moved, or more. */
    SSL_CTX_set_mode(tls->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return true;
}

static void free_tls(lki_tls *tls) {
    if (!tls)
        return;
    SSL_free(tls->ssl);
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->method);
    pthread_mutex_destroy(&tls->lock);
    lki_free(tls->shown);
    lki_free(tls->name);
    lki_free(tls->ca_folder);
    lki_free(tls);
}

static lk_status new_tls(const lki_endpoint *endpoint, const lki_tls_files *files, lki_tls **out,
                         lki_error *error) {
    const lki_tls_files none = {0};
    files = files ? files : &none;
    lki_tls *made = lki_new(sizeof *made);
    if (!made)
        return lki_error_no_memory(error);
    pthread_mutex_init(&made->lock, NULL);
    made->fd = -1;
    lk_status status = LK_OK;
    if (!lki_copy_to(&made->shown, endpoint->shown) || !new_context(made))
        status = lki_error_no_memory(error);
    if (status == LK_OK)
        status = load_trusted(made, files->ca, error);
    if (status == LK_OK)
        status = load_own_certificate(made, files, error);
    if (status == LK_OK)
        status = expect_name(made, files->server_name ? files->server_name : endpoint->host, error);
    if (status == LK_OK)
        *out = made;
    else
        free_tls(made);
    ERR_clear_error();
    return status;
}

/* --------------------------------------------------------------------------------- I/O */

static lk_status start(lki_tls *tls, int fd, lki_error *error) {
    SSL_free(tls->ssl);
    tls->fd = fd;
    tls->ssl = SSL_new(tls->context);
    BIO *bio = BIO_new(tls->method);
    if (!tls->ssl || !bio || !SSL_set_app_data(tls->ssl, tls) ||
        (tls->name && !SSL_set_tlsext_host_name(tls->ssl, tls->name))) {
        BIO_free(bio);
        ERR_clear_error();
        return lki_error_no_memory(error);
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio); /* the SSL owns the BIO now */
    SSL_set_connect_state(tls->ssl);
    tls->read_events = POLLIN;
    tls->write_events = POLLOUT;
    tls->is_open = tls->is_broken = tls->lacks_certificate = false;
    return LK_OK;
}

/* Call it before each call of OpenSSL, so that errors found after that call belong to it. */
static void clear_errors(lki_tls *tls) {
    ERR_clear_error();
    tls->error_number = 0;
}

static short events_of(int why) {
    return why == SSL_ERROR_WANT_READ ? POLLIN : why == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
}

static lk_status shake(lki_tls *tls, short *events, lki_error *error) {
    lk_status status = LK_OK;
    pthread_mutex_lock(&tls->lock);
    clear_errors(tls);
    int result = SSL_do_handshake(tls->ssl);
    int why = SSL_get_error(tls->ssl, result);
    *events = events_of(why);
    tls->is_open = result == 1;
    if (result != 1 && !*events)
        status = explain(tls, why, error);
    ERR_clear_error();
    pthread_mutex_unlock(&tls->lock);
    return status;
}

/*
 * The result of a read or a write; *events becomes what to poll for before the next one. A read may
 * have waited for POLLOUT, or a write for POLLIN, because of a message of TLS itself. When either
 * call has completed that message, both wait for their normal event again.
 */
static ssize_t finish_io(lki_tls *tls, int why, size_t length, short *events, lki_error *error) {
    if (!SSL_in_init(tls->ssl)) {
        tls->read_events = POLLIN;
        tls->write_events = POLLOUT;
    }
    if (events_of(why))
        *events = events_of(why);
    if (why == SSL_ERROR_NONE)
        return (ssize_t)length;
    if (events_of(why))
        return LKI_WOULD_BLOCK;
    explain(tls, why, error);
    ERR_clear_error();
    return LKI_BROKEN;
}

static ssize_t read_tls(lki_tls *tls, void *buffer, size_t size, lki_error *error) {
    size_t length = 0;
    pthread_mutex_lock(&tls->lock);
    clear_errors(tls);
    int why = SSL_get_error(tls->ssl, SSL_read_ex(tls->ssl, buffer, size, &length));
    ssize_t result = finish_io(tls, why, length, &tls->read_events, error);
    pthread_mutex_unlock(&tls->lock);
    return result;
}

/*
 * A server that refuses our certificate sends an alert and closes. If a write fails because of
 * that, the alert can still be read, and is the better reason.
 */
static int look_for_alert(lki_tls *tls, int why) {
    char byte;
    size_t length;
    int number = tls->error_number;
    if (why != SSL_ERROR_SYSCALL)
        return why;
    clear_errors(tls);
    if (SSL_get_error(tls->ssl, SSL_peek_ex(tls->ssl, &byte, 1, &length)) == SSL_ERROR_SSL)
        return SSL_ERROR_SSL;
    tls->error_number = number;
    return why;
}

static ssize_t write_tls(lki_tls *tls, const void *bytes, size_t size, lki_error *error) {
    size_t length = 0;
    pthread_mutex_lock(&tls->lock);
    clear_errors(tls);
    int why = SSL_get_error(tls->ssl, SSL_write_ex(tls->ssl, bytes, size, &length));
    ssize_t result = finish_io(tls, look_for_alert(tls, why), length, &tls->write_events, error);
    pthread_mutex_unlock(&tls->lock);
    return result;
}

static short events_to_await(lki_tls *tls, bool writing) {
    pthread_mutex_lock(&tls->lock);
    short events = writing ? tls->write_events : tls->read_events;
    pthread_mutex_unlock(&tls->lock);
    return events;
}

static void say_goodbye(lki_tls *tls) {
    pthread_mutex_lock(&tls->lock);
    if (tls->is_open && !tls->is_broken) {
        clear_errors(tls);
        SSL_shutdown(tls->ssl);
        ERR_clear_error();
    }
    pthread_mutex_unlock(&tls->lock);
}

const lki_tls_methods lki_tls_openssl = {
    .version = LKI_VERSION,
    .new = new_tls,
    .free = free_tls,
    .start = start,
    .shake = shake,
    .read = read_tls,
    .write = write_tls,
    .events = events_to_await,
    .say_goodbye = say_goodbye,
};
