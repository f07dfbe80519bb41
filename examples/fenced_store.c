/*
 * A fenced write: a store refuses the write of a holder that has lost its lock.
 *
 * A program may be suspended until after the end of its lease (a paused virtual machine, a long
 * garbage collection) and then continue as if nothing had happened. No lock with a lease can stop
 * it, but the store can. Every write grant has a greater token than all grants before. The writer
 * sends its token along, and the store refuses a token below the greatest that it has seen.
 */
#include <err.h>
#include <inttypes.h>
#include <latchkey.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* In a real program this is a database: UPDATE ... SET text = ?, fence = ? WHERE fence <= ?. */
typedef struct {
    uint64_t greatest_fence;
    char text[64];
} store;

static bool store_write(store *into, const char *who, uint64_t fence, const char *text) {
    bool accepted = fence >= into->greatest_fence;
    if (accepted) {
        into->greatest_fence = fence;
        snprintf(into->text, sizeof into->text, "%s", text);
    }
    printf("%s writes \"%s\" with token %" PRIu64 ": %s\n", who, text, fence,
           accepted ? "accepted" : "refused");
    return accepted;
}

static void die_unless(lk_status status) {
    if (status != LK_OK)
        errx(1, "%s", lk_last_error());
}

static void expect(bool as_expected, const char *what) {
    if (!as_expected)
        errx(1, "failed: %s", what);
}

int main(void) {
    /* Ada's short lease, which nobody renews, stands for a program that was suspended. */
    const lk_lock_options sleepy = {.lease_ms = 300, .manual_renew = true};
    lk_client *client;
    lk_lock *ada, *bob;
    store shop = {0};
    die_unless(lk_open(NULL, NULL, &client));
    die_unless(lk_lock_new(client, "shop:example", &sleepy, &ada));
    die_unless(lk_lock_new(client, "shop:example", NULL, &bob));

    die_unless(lk_wrlock(ada));
    expect(store_write(&shop, "Ada", lk_fence(ada), "open"), "Ada holds the lock and may write");

    /* Bob waits in the queue until Ada's lease expires. */
    die_unless(lk_wrlock(bob));
    expect(!lk_valid(ada), "Ada's hold ended, on her own clock, before Bob's began");
    expect(lk_abandoned(bob), "Bob is told that a writer did not release the lock");
    expect(lk_fence(bob) > lk_fence(ada), "Bob's token is greater than Ada's");
    expect(store_write(&shop, "Bob", lk_fence(bob), "closed for repair"), "Bob may write");

    /* Ada continues, and does not check lk_valid(), although she should. */
    expect(!store_write(&shop, "Ada", lk_fence(ada), "open till late"),
           "the store refuses Ada's late write");
    expect(lk_wrunlock(ada) == LK_LOST, "Ada learns of the loss when she unlocks, if not before");

    expect(store_write(&shop, "Bob", lk_fence(bob), "closed"), "Bob may still write");
    die_unless(lk_wrunlock(bob));
    printf("the store says \"%s\"\n", shop.text);

    lk_lock_free(ada);
    lk_lock_free(bob);
    lk_close(client);
    return 0;
}
