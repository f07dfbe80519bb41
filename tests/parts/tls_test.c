/*
 * TLS against real servers: whose certificate is trusted, who is refused and in which words, ours
 * too, and what the files of certificates and keys must be.
 */
#include "tls_world.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

static tcp_server elsewhere; /* like `here` */

static int start_all(void **state) {
    start_here(state);
    elsewhere = start_server("elsewhere", "no", NULL);
    return 0;
}

static int stop_all(void **state) {
    test_server_stop(elsewhere.server);
    return stop_here(state);
}

static void assert_works(const char *host, unsigned port, const lki_tls_files *files) {
    lki_transport *transport = NULL;
    lki_error error = {0};
    if (open_to(host, port, files, &transport, &error) != LK_OK || !ping(transport, &error))
        fail_msg("%s:%u: %s", host, port, error.text);
    lki_transport_close(transport);
}

/* Refused while opening, with these words and the server's name in the sentence. */
static void assert_refused(const char *host, unsigned port, const lki_tls_files *files,
                           lk_status status, const char *words) {
    char shown[64];
    lki_transport *transport = NULL;
    lki_error error = {0};
    snprintf(shown, sizeof shown, "rediss://ann@%s:%u", host, port);
    assert_int_equal(open_to(host, port, files, &transport, &error), status);
    assert_null(transport);
    if (!strstr(error.text, words) || (status != LK_INVALID && !strstr(error.text, shown)))
        fail_msg("expected '%s' of %s in: %s", words, shown, error.text);
}

/* -------------------------------------------------------------------------- their certificate */

static void a_trusted_server_with_the_right_name_answers(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_works("localhost", here.port, &files);
}

static void an_address_in_the_certificate_is_a_name_too(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_works("127.0.0.1", here.port, &files);
}

static void a_folder_of_issuers_can_be_trusted(void **state) {
    (void)state;
    lki_tls_files files = trusting("hashed");
    assert_works("localhost", here.port, &files);
}

static void a_folder_without_hashed_names_is_explained(void **state) {
    (void)state;
    lki_tls_files files = trusting("plain");
    assert_refused("localhost", here.port, &files, LK_DENIED, "openssl rehash");
}

static void a_certificate_for_another_host_is_refused(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_refused("localhost", elsewhere.port, &files, LK_DENIED, "hostname mismatch");
}

static void a_certificate_for_another_address_is_refused(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_refused("127.0.0.1", elsewhere.port, &files, LK_DENIED, "IP address mismatch");
}

static void the_expected_name_can_be_another_than_the_host(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    files.server_name = "elsewhere.test";
    assert_works("127.0.0.1", elsewhere.port, &files);
    assert_refused("localhost", here.port, &files, LK_DENIED, "hostname mismatch");
}

static void a_name_that_would_match_everything_is_invalid(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    files.server_name = "";
    assert_refused("localhost", here.port, &files, LK_INVALID, "tls_server_name");
    files.server_name = ".test";
    assert_refused("localhost", elsewhere.port, &files, LK_INVALID, "tls_server_name");
}

static void a_name_that_is_longer_than_names_can_be_is_invalid(void **state) {
    (void)state;
    char name[257];
    lki_tls_files files = trusting("ca.crt");
    memset(name, 'a', sizeof name - 1);
    name[256] = '\0';
    files.server_name = name;
    assert_refused("localhost", here.port, &files, LK_INVALID, "tls_server_name");
    name[255] = '\0';
    assert_refused("localhost", here.port, &files, LK_DENIED, "hostname mismatch");
}

static void a_certificate_of_an_unknown_issuer_is_refused(void **state) {
    (void)state;
    lki_tls_files files = trusting("other.crt");
    assert_refused("localhost", here.port, &files, LK_DENIED, "in certificate chain");
}

static void only_the_issuers_of_the_system_are_trusted_by_default(void **state) {
    (void)state;
    lki_tls_files files = {0};
    assert_refused("localhost", here.port, &files, LK_DENIED, "set tls_ca");
    assert_refused("localhost", here.port, NULL, LK_DENIED, "set tls_ca");
}

static void an_expired_certificate_is_refused(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    tcp_server expired = start_server("expired", "no", NULL);
    assert_refused("localhost", expired.port, &files, LK_DENIED, "certificate has expired");
    test_server_stop(expired.server);
}

/* ---------------------------------------------------------------------------- our certificate */

static const char *const protocols[] = {"TLSv1.2", "TLSv1.3"};

static void a_server_gets_the_certificate_that_it_demands(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        tcp_server strict = start_server("here", "yes", protocols[i]);
        lki_tls_files files = trusting("ca.crt");
        files.cert = file("client.crt");
        files.key = file("client.key");
        assert_works("localhost", strict.port, &files);
        test_server_stop(strict.server);
    }
}

static void the_key_may_be_in_the_file_of_the_certificate(void **state) {
    (void)state;
    tcp_server strict = start_server("here", "yes", NULL);
    lki_tls_files files = trusting("ca.crt");
    files.cert = file("client.both");
    assert_works("localhost", strict.port, &files);
    test_server_stop(strict.server);
}

/* In TLS 1.3 the refusal comes after the handshake, as the answer to what was written first. */
static void assert_we_are_refused(const lki_tls_files *files, const char *words) {
    for (int i = 0; i < 2; i++) {
        lki_transport *transport = NULL;
        lki_error error = {0};
        tcp_server strict = start_server("here", "yes", protocols[i]);
        if (open_to("localhost", strict.port, files, &transport, &error) == LK_OK)
            assert_false(ping(transport, &error));
        if (error.status != LK_DENIED || !strstr(error.text, words))
            fail_msg("%s: %s", protocols[i], error.text);
        lki_transport_close(transport);
        test_server_stop(strict.server);
    }
}

static void a_client_without_a_certificate_is_told_to_set_one(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_we_are_refused(&files, "set tls_cert");
}

static void a_client_with_a_certificate_of_a_stranger_is_told_so(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    files.cert = file("stranger.crt");
    files.key = file("stranger.key");
    assert_we_are_refused(&files, "must trust the issuer of tls_cert");
}

static void a_write_that_notices_the_refusal_first_tells_it_too(void **state) {
    (void)state;
    ssize_t length;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    tcp_server strict = start_server("here", "yes", "TLSv1.3");
    assert_int_equal(open_to("localhost", strict.port, &files, &transport, &error), LK_OK);
    assert_true(wait_to(transport, false));
    do {
        length = lki_transport_write(transport, "PING\r\n", 6, &error);
    } while (length > 0);
    assert_int_equal(length, LKI_BROKEN);
    assert_int_equal(error.status, LK_DENIED);
    lki_transport_close(transport);
    test_server_stop(strict.server);
}

/* -------------------------------------------------------------------------------------- files */

static void a_missing_file_is_invalid_and_named(void **state) {
    (void)state;
    lki_tls_files files = trusting("missing.crt");
    assert_refused("localhost", here.port, &files, LK_INVALID, file("missing.crt"));
    files = (lki_tls_files){.ca = file("ca.crt"), .cert = file("missing.crt")};
    assert_refused("localhost", here.port, &files, LK_INVALID, file("missing.crt"));
    assert_refused("localhost", here.port, &files, LK_INVALID, "No such file");
    files.cert = file("client.crt");
    files.key = file("missing.key");
    assert_refused("localhost", here.port, &files, LK_INVALID, file("missing.key"));
}

static void a_file_of_something_else_is_invalid_and_named(void **state) {
    (void)state;
    lki_tls_files files = trusting("garbage");
    assert_refused("localhost", here.port, &files, LK_INVALID, file("garbage"));
    files = (lki_tls_files){.ca = file("ca.crt"), .cert = file("garbage")};
    assert_refused("localhost", here.port, &files, LK_INVALID, file("garbage"));
}

static void a_key_that_does_not_fit_is_invalid(void **state) {
    (void)state;
    lki_tls_files files = {
        .ca = file("ca.crt"), .cert = file("client.crt"), .key = file("here.key")};
    assert_refused("localhost", here.port, &files, LK_INVALID, "tls_key: the file");
    files.key = NULL;
    assert_refused("localhost", here.port, &files, LK_INVALID,
                   "key that belongs to the certificate");
}

/* A certificate with an RSA key, made out by itself; those of the world have EC keys. */
static void make_rsa_certificate(const char *path) {
    EVP_PKEY *key = EVP_RSA_gen(2048);
    X509 *made = X509_new();
    FILE *out = fopen(path, "we");
    assert_true(key && made && out);
    assert_true(X509_gmtime_adj(X509_getm_notBefore(made), 0) &&
                X509_gmtime_adj(X509_getm_notAfter(made), 3600) && X509_set_pubkey(made, key) &&
                X509_sign(made, key, EVP_sha256()) && PEM_write_X509(out, made));
    fclose(out);
    X509_free(made);
    EVP_PKEY_free(key);
}

static void a_key_of_another_kind_is_invalid(void **state) {
    (void)state;
    lki_tls_files files = {
        .ca = file("ca.crt"), .cert = file("rsa.crt"), .key = file("client.key")};
    make_rsa_certificate(files.cert);
    assert_refused("localhost", here.port, &files, LK_INVALID,
                   "key that belongs to the certificate");
}

static void a_locked_key_is_invalid_and_nobody_is_asked_for_a_passphrase(void **state) {
    (void)state;
    lki_tls_files files = {
        .ca = file("ca.crt"), .cert = file("client.crt"), .key = file("client.locked")};
    assert_refused("localhost", here.port, &files, LK_INVALID, file("client.locked"));
}

static void a_key_without_a_certificate_is_invalid(void **state) {
    (void)state;
    lki_tls_files files = {.ca = file("ca.crt"), .key = file("client.key")};
    assert_refused("localhost", here.port, &files, LK_INVALID, "tls_cert");
}

static void files_are_read_before_anybody_is_connected(void **state) {
    (void)state;
    unsigned port;
    int nobody = bind_any(&port, 0);
    lki_tls_files files = trusting("missing.crt");
    assert_refused("localhost", port, &files, LK_INVALID, file("missing.crt"));
    files = trusting("ca.crt");
    assert_refused("localhost", port, &files, LK_UNAVAILABLE, "Connection refused");
    close(nobody);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trusted_server_with_the_right_name_answers),
        cmocka_unit_test(an_address_in_the_certificate_is_a_name_too),
        cmocka_unit_test(a_folder_of_issuers_can_be_trusted),
        cmocka_unit_test(a_folder_without_hashed_names_is_explained),
        cmocka_unit_test(a_certificate_for_another_host_is_refused),
        cmocka_unit_test(a_certificate_for_another_address_is_refused),
        cmocka_unit_test(the_expected_name_can_be_another_than_the_host),
        cmocka_unit_test(a_name_that_would_match_everything_is_invalid),
        cmocka_unit_test(a_name_that_is_longer_than_names_can_be_is_invalid),
        cmocka_unit_test(a_certificate_of_an_unknown_issuer_is_refused),
        cmocka_unit_test(only_the_issuers_of_the_system_are_trusted_by_default),
        cmocka_unit_test(an_expired_certificate_is_refused),
        cmocka_unit_test(a_server_gets_the_certificate_that_it_demands),
        cmocka_unit_test(the_key_may_be_in_the_file_of_the_certificate),
        cmocka_unit_test(a_client_without_a_certificate_is_told_to_set_one),
        cmocka_unit_test(a_client_with_a_certificate_of_a_stranger_is_told_so),
        cmocka_unit_test(a_write_that_notices_the_refusal_first_tells_it_too),
        cmocka_unit_test(a_missing_file_is_invalid_and_named),
        cmocka_unit_test(a_file_of_something_else_is_invalid_and_named),
        cmocka_unit_test(a_key_that_does_not_fit_is_invalid),
        cmocka_unit_test(a_key_of_another_kind_is_invalid),
        cmocka_unit_test(a_locked_key_is_invalid_and_nobody_is_asked_for_a_passphrase),
        cmocka_unit_test(a_key_without_a_certificate_is_invalid),
        cmocka_unit_test(files_are_read_before_anybody_is_connected),
    };
    return cmocka_run_group_tests(tests, start_all, stop_all);
}
