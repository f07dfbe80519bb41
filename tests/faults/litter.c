/* See litter.h. */
#include "litter.h"

#include "waiting.h"

#include <inttypes.h>

static void tell_holders(lk_client *client, const journal *notes, const char *name, FILE *out) {
    lk_info *info;
    if (lk_inspect(client, name, &info) != LK_OK)
        return;
    for (size_t i = 0; i < info->holder_count; i++) {
        const lk_holder_info *holder = &info->holders[i];
        fprintf(out,
                "  held by %s of process %" PRId64 ": %u reads, %u writes, fence %" PRIu64
                ", for %" PRId64 " ms, %" PRId64 " ms left%s\n",
                holder->owner, holder->pid, holder->reads, holder->writes, holder->fence,
                holder->held_ms, holder->left_ms, holder->provisional ? ", provisional" : "");
        journal_tell(notes, journal_handle_of(holder->owner), out);
    }
    lk_info_free(info);
}

static size_t count_held(const site *servers, const journal *notes, int64_t limit_ms, FILE *out) {
    lk_client *client;
    size_t held = 0;
    int64_t end_ms = test_wait_end(limit_ms);
    lk_status status = LK_UNAVAILABLE;
    while (status == LK_UNAVAILABLE && test_wait_on(end_ms))
        status = lk_open(site_url(servers, 0), NULL, &client);
    if (status != LK_OK) {
        fprintf(out, "looking for litter: %s\n", lk_last_error());
        return 1;
    }
    for (size_t i = 0; i < JOURNAL_LOCKS; i++) {
        lk_lock *lock;
        if (lk_lock_new(client, journal_locks[i].name, NULL, &lock) != LK_OK ||
            lk_timedwrlock(lock, limit_ms) != LK_OK || lk_wrunlock(lock) != LK_OK) {
            fprintf(out, "lock %s stays held: %s\n", journal_locks[i].name, lk_last_error());
            tell_holders(client, notes, journal_locks[i].name, out);
            held++;
        }
        lk_lock_free(lock);
    }
    lk_close(client);
    return held;
}

static size_t count_keys(const site *servers, size_t server, FILE *out) {
    redisReply *reply = site_ask(servers, server, "KEYS *");
    size_t count = reply && reply->type == REDIS_REPLY_ARRAY ? reply->elements : 1;
    for (size_t i = 0; out && reply && i < reply->elements; i++)
        fprintf(out, "server %zu still has the key %s\n", server, reply->element[i]->str);
    freeReplyObject(reply);
    return count;
}

static size_t count_all_keys(const site *servers, FILE *out) {
    size_t count = 0;
    for (size_t i = 0; i < site_server_count(servers); i++)
        count += count_keys(servers, i, out);
    return count;
}

size_t count_litter(const site *servers, const journal *notes, int64_t limit_ms, FILE *out) {
    size_t held = count_held(servers, notes, limit_ms, out);
    int64_t end_ms = test_wait_end(limit_ms);
    while (count_all_keys(servers, NULL) > 0)
        if (!test_wait_on(end_ms))
            return held + count_all_keys(servers, out);
    return held;
}
