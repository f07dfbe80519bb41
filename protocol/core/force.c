/* force (SPEC 10.9). */
#include "parties.h"
#include "replies.h"
#include "settle.h"

/* NULL, for an owner text: no such owner. */
static const lki_name *find_owner(const lki_lock *lock, lki_text text) {
    static const lki_handle nobody; /* an empty text is not looked up */
    char packed[LKI_HANDLE_PACKED];
    lki_name_key key = lki_owner_key(text, &nobody, packed);
    return lki_names_find(&lock->owners, &key);
}

static size_t force(lki_lock *lock, lki_text text) {
    const lki_name *owner = text.length > 0 ? find_owner(lock, text) : NULL;
    if (text.length > 0 && !owner)
        return 0;
    /* Counted before: with the last of its holds the name may go, too. */
    size_t wanted = owner ? owner->count : lki_tree_size(&lock->holds);
    size_t forced = 0, at = 0;
    lki_loss loss = {false};
    while (forced < wanted) {
        lki_party *hold = lki_party_by_deadline(lki_tree_at(&lock->holds, at));
        if (owner && hold->owner != owner) {
            at++;
        } else {
            lki_hold_lose(lock, &loss, hold, lock->now_us, true);
            forced++;
        }
    }
    lki_loss_end(lock, &loss);
    return forced;
}

lki_outcome lki_lock_force(lki_lock *lock, uint64_t now_us, lki_text owner, lki_reply *reply) {
    lki_operation_begin(lock, now_us);
    lock->granted_before_lost = lock->granted_tail; /* SPEC 10.10 */
    *reply = (lki_reply){.answer = LKI_FORCED, .count = force(lock, owner)};
    lki_operation_end(lock, NULL);
    return LKI_DONE;
}
