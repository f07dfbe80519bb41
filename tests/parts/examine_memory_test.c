/*
 * Out of memory is a status of lk_examine and of the calls about the private server too: each
 * allocation of theirs is refused once, in turn. That nothing leaks is seen under AddressSanitizer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "cluster.h"
#include "sentinels.h"
#include "world.h"

enum { UNTROUBLED_MS = 30000 }; /* no machine that is busy looks like a server that is down */

static atomic_long allocations, refused_one;

static bool refuses(void) {
    return atomic_fetch_add(&allocations, 1) == atomic_load(&refused_one);
}

/* Runs it until no allocation is left to refuse; it is LK_NOMEM each time but the last. */
static void refuse_each(lk_status (*run)(void)) {
    lk_status status;
    for (long which = 0;; which++) {
        atomic_store(&allocations, 0);
        atomic_store(&refused_one, which);
        lki_memory_refuse(refuses);
        status = run();
        lki_memory_refuse(NULL);
        if (atomic_load(&allocations) <= which)
            break;
        assert_status(status, LK_NOMEM);
        assert_true(*lk_last_error());
    }
    assert_status(status, LK_OK);
}

static lk_status examine(void) {
    lk_facts *facts = NULL;
    char *url = test_print("unix://%s?db=1", test_server_socket(server));
    lk_status status = lk_examine(url, &(lk_client_options){.prefix = "shop"}, &facts);
    assert_int_equal(status == LK_OK, facts != NULL);
    lk_facts_free(facts);
    free(url);
    return status;
}

static const char *url_of_several;

static lk_status examine_several(void) {
    lk_facts *facts = NULL;
    lk_status status = lk_examine(url_of_several, NULL, &facts);
    assert_int_equal(status == LK_OK, facts != NULL);
    lk_facts_free(facts);
    return status;
}

static lk_status look_for_local(void) {
    lk_local_info *info = NULL;
    lk_status status = lk_local_status(&info);
    assert_int_equal(status == LK_OK, info != NULL);
    lk_local_info_free(info);
    return status;
}

static lk_status stop_local(void) {
    bool ran = true;
    lk_status status = lk_local_stop(&ran);
    assert_int_equal(ran, status != LK_OK);
    return status;
}

static void an_examination_without_memory_says_so(void **state) {
    (void)state;
    refuse_each(examine);
}

static void sentinels_are_examined_without_memory(void **state) {
    (void)state;
    test_sentinels *site =
        test_sentinels_start(&(test_sentinels_options){.down_after_ms = UNTROUBLED_MS});
    assert_non_null(site);
    url_of_several = test_sentinels_url(site);
    refuse_each(examine_several);
    test_sentinels_stop(site);
}

static void a_cluster_is_examined_without_memory(void **state) {
    (void)state;
    test_cluster *cluster =
        test_cluster_start(&(test_cluster_options){.masters = 3, .node_timeout_ms = UNTROUBLED_MS});
    assert_non_null(cluster);
    url_of_several = test_cluster_url(cluster);
    refuse_each(examine_several);
    test_cluster_stop(cluster);
}

static void the_private_server_is_looked_for_without_memory(void **state) {
    (void)state;
    char folder[] = "/tmp/latchkey-XXXXXX";
    assert_non_null(mkdtemp(folder));
    setenv("LATCHKEY_LOCAL_DIR", folder, 1);
    refuse_each(look_for_local);
    refuse_each(stop_local);
    unsetenv("LATCHKEY_LOCAL_DIR");
    char *lock = test_print("%s/start.lock", folder);
    unlink(lock);
    free(lock);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_examination_without_memory_says_so),
        cmocka_unit_test(sentinels_are_examined_without_memory),
        cmocka_unit_test(a_cluster_is_examined_without_memory),
        cmocka_unit_test(the_private_server_is_looked_for_without_memory),
    };
    return cmocka_run_group_tests_name("examine: memory", tests, begin_world, end_world);
}
