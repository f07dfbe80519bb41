/* MOVED and ASK, of all versions and with every fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "topology/redirect.h"

#include <stdio.h>
#include <string.h>

static void assert_leads_to(const char *text, bool is_ask, unsigned slot, const char *host,
                            const char *port) {
    lki_redirect redirect;
    assert_true(lki_redirect_read(text, &redirect));
    assert_int_equal(redirect.is_ask, is_ask);
    assert_int_equal(redirect.slot, slot);
    assert_string_equal(redirect.host, host);
    assert_string_equal(redirect.port, port);
}

static void both_kinds_are_read(void **state) {
    (void)state;
    assert_leads_to("MOVED 3999 127.0.0.1:6381", false, 3999, "127.0.0.1", "6381");
    assert_leads_to("ASK 0 node.example:1", true, 0, "node.example", "1");
    assert_leads_to("MOVED 16383 h:65535", false, 16383, "h", "65535");
}

static void an_ipv6_address_has_colons_of_its_own(void **state) {
    (void)state;
    assert_leads_to("MOVED 1 ::1:7000", false, 1, "::1", "7000");
    assert_leads_to("ASK 1 2001:db8::7:7000", true, 1, "2001:db8::7", "7000");
}

/* A node that does not know its own address, or has no host name to tell. */
static void a_host_that_is_missing_is_that_of_the_node(void **state) {
    (void)state;
    assert_leads_to("MOVED 1 :7000", false, 1, "", "7000");
    assert_leads_to("MOVED 1 ?:7000", false, 1, "", "7000");
    assert_leads_to("ASK 1 ??:7000", true, 1, "??", "7000");
}

static void other_replies_are_not_redirects(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "MOVED",
                                        "MOVED ",
                                        "ASK",
                                        "ASKING 1 h:1",
                                        "moved 1 h:1",
                                        "ERR MOVED 1 h:1",
                                        "MOVED h:1",
                                        "MOVED  h:1",
                                        "MOVED  1 h:1",
                                        "MOVED 1",
                                        "MOVED 1 ",
                                        "MOVED 1 h",
                                        "MOVED 1 h:",
                                        "MOVED 1 h:x",
                                        "MOVED 1 h:1x",
                                        "MOVED 1 h:1 2",
                                        "MOVED 1h:1",
                                        "MOVED 1x h:1",
                                        "MOVED -1 h:1",
                                        "MOVED +1 h:1",
                                        "MOVED -18446744073709551615 h:1",
                                        "MOVED 16384 h:1",
                                        "MOVED 99999999999999999999999 h:1",
                                        "MOVED 1 h:12345678",
                                        "TRYAGAIN Multiple keys request during rehashing of slot",
                                        "CLUSTERDOWN Hash slot not served"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lki_redirect redirect;
        if (lki_redirect_read(texts[i], &redirect))
            fail_msg("\"%s\" is a redirect", texts[i]);
    }
}

static void a_host_that_is_too_long_is_refused(void **state) {
    (void)state;
    for (int length = LKI_REDIRECT_HOST_SIZE - 2; length <= LKI_REDIRECT_HOST_SIZE + 1; length++) {
        char text[2 * LKI_REDIRECT_HOST_SIZE], host[LKI_REDIRECT_HOST_SIZE + 2] = "";
        lki_redirect redirect;
        memset(host, 'h', (size_t)length);
        host[length] = 0;
        snprintf(text, sizeof text, "MOVED 1 %s:1", host);
        assert_int_equal(lki_redirect_read(text, &redirect), length < LKI_REDIRECT_HOST_SIZE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds_are_read),
        cmocka_unit_test(an_ipv6_address_has_colons_of_its_own),
        cmocka_unit_test(a_host_that_is_missing_is_that_of_the_node),
        cmocka_unit_test(other_replies_are_not_redirects),
        cmocka_unit_test(a_host_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests_name("redirects", tests, NULL, NULL);
}
