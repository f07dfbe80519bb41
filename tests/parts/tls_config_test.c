/*
 * The machine's own configuration of OpenSSL, where it is stricter than we are. A program of its
 * own: OpenSSL reads it once, when it is first used.
 */
#include "tls_world.h"

#include <stdlib.h>

static void write_config(const char *path) {
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fputs("openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = strict\n"
          "[strict]\nMinProtocol = TLSv1.3\n",
          out);
    fclose(out);
}

static void a_version_that_the_machine_forbids_is_not_spoken(void **state) {
    (void)state;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    tcp_server old = start_server("here", "no", "TLSv1.2");
    write_config(file("strict.cnf"));
    setenv("OPENSSL_CONF", file("strict.cnf"), 1);
    lk_status status = open_to("localhost", old.port, &files, &transport, &error);
    lki_transport_close(transport);
    test_server_stop(old.server);
    assert_int_equal(status, LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "TLS"));
    transport = NULL;
    assert_int_equal(open_to("localhost", here.port, &files, &transport, &error), LK_OK);
    lki_transport_close(transport);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_that_the_machine_forbids_is_not_spoken),
    };
    return cmocka_run_group_tests(tests, start_here, stop_here);
}
