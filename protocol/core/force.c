/* force (SPEC 10.9). */
#include "records.h"
#include "replies.h"
#include "settle.h"

/* NULL, for an owner text: no such owner. */
static const lkc_name *find_owner(const lkc_lock *lock, lkc_text text) {
    static const lkc_handle nobody; /* an empty text is not looked up */
    char packed[LKC_HANDLE_PACKED];
    lkc_name_key key = lkc_owner_key(text, &nobody, packed);
    return lkc_names_find(&lock->owners, &key);
}

static size_t force(lkc_lock *lock, lkc_text text) {
    const lkc_name *owner = text.length > 0 ? find_owner(lock, text) : NULL;
    if (text.length > 0 && !owner)
        return 0;
    /* Counted before: with the last of its holds the name may go, too. */
    size_t wanted = owner ? owner->count : lkc_tree_size(&lock->holds);
    size_t forced = 0, at = 0;
    lkc_loss loss = {false};
    while (forced < wanted) {
        lkc_record *hold = lkc_record_by_deadline(lkc_tree_at(&lock->holds, at));
        if (owner && hold->owner != owner) {
            at++;
        } else {
            lkc_hold_lose(lock, &loss, hold, lock->now_us, true);
            forced++;
        }
    }
    lkc_loss_end(lock, &loss);
    return forced;
}

lkc_outcome lkc_lock_force(lkc_lock *lock, uint64_t now_us, lkc_text owner, lkc_reply *reply) {
    lkc_operation_begin(lock, now_us);
    lock->granted_before_lost = lock->granted_tail; /* SPEC 10.10 */
    *reply = (lkc_reply){.answer = LKC_FORCED, .count = force(lock, owner)};
    lkc_operation_end(lock, NULL);
    return LKC_DONE;
}
