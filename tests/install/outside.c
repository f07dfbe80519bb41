/* A program outside the tree, as a user would write it: what was installed is enough to build it. */
#include <latchkey.h>

#include <stdio.h>

int main(void) {
    lk_client *client;
    lk_lock *lock;
    if (lk_open(NULL, NULL, &client) || lk_lock_new(client, "outside", NULL, &lock) ||
        lk_wrlock(lock)) {
        fprintf(stderr, "%s\n", lk_last_error());
        return 1;
    }
    printf("latchkey %s, fence %llu\n", lk_version(), (unsigned long long)lk_fence(lock));
    lk_status status = lk_wrunlock(lock);
    lk_lock_free(lock);
    lk_close(client);
    return status == LK_OK ? 0 : 1;
}
