/*
 * latchkey.hpp with the guards of the standard library, on the server of local:. A test is a
 * function that throws when it fails.
 */
#include "latchkey.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<latchkey::shared_mutex> &&
              !std::is_move_constructible_v<latchkey::shared_mutex>);
static_assert(!std::is_copy_constructible_v<latchkey::client> &&
              std::is_nothrow_move_constructible_v<latchkey::client> &&
              std::is_nothrow_move_assignable_v<latchkey::client>);
static_assert(std::is_nothrow_copy_constructible_v<latchkey::error>);
static_assert(noexcept(std::declval<latchkey::shared_mutex &>().unlock()) &&
              noexcept(std::declval<latchkey::shared_mutex &>().unlock_shared()));

namespace {

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition))                                                        \
            throw std::logic_error(std::to_string(__LINE__) + ": " #condition); \
    } while (0)

constexpr auto patience = 20s;

template <class Condition> bool eventually(Condition condition) {
    auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

/* The status that it throws; LK_OK if it throws nothing. */
template <class Call> lk_status thrown_by(Call call) {
    try {
        call();
    } catch (const latchkey::error &error) {
        return error.status();
    }
    return LK_OK;
}

std::size_t waiters(const latchkey::client &client, const char *name) {
    lk_info *info = nullptr;
    CHECK(lk_inspect(client.native_handle(), name, &info) == LK_OK);
    std::size_t total = info->waiter_total;
    lk_info_free(info);
    return total;
}

void force(const latchkey::client &client, const char *name) {
    CHECK(lk_force_release(client.native_handle(), name, nullptr) == LK_OK);
}

/* ------------------------------------------------------------------------------ guards */

void a_unique_lock_keeps_out_everybody_else() {
    latchkey::client client;
    latchkey::shared_mutex mine(client, "cpp:unique"), other(client, "cpp:unique");
    {
        std::unique_lock guard(mine);
        CHECK(guard.owns_lock() && mine.valid() && mine.fence() > 0);
        CHECK(mine.remaining() > 0ms && !mine.abandoned());
        CHECK(!other.try_lock() && !other.try_lock_shared());
        CHECK(!other.valid() && other.fence() == 0);
    }
    CHECK(mine.last_unlock_status() == LK_OK && !mine.valid());
    std::unique_lock guard(other, std::try_to_lock);
    CHECK(guard.owns_lock());
}

void shared_locks_share_and_keep_out_writers() {
    latchkey::client client;
    latchkey::shared_mutex first(client, "cpp:shared"), second(client, "cpp:shared"),
        writer(client, "cpp:shared");
    std::shared_lock one(first), two(second);
    CHECK(one.owns_lock() && two.owns_lock());
    CHECK(!writer.try_lock());
    one.unlock();
    CHECK(first.last_unlock_status() == LK_OK);
    CHECK(!writer.try_lock());
    two.unlock();
    CHECK(writer.try_lock());
    writer.unlock();
}

void an_object_can_be_locked_again_by_its_holder() {
    latchkey::client client;
    latchkey::shared_mutex mine(client, "cpp:nested"), other(client, "cpp:nested");
    std::unique_lock outer(mine);
    {
        std::unique_lock inner(mine);
        std::shared_lock read(mine);
    }
    CHECK(mine.valid() && !other.try_lock_shared());
}

/* Each thread has its own objects, and names them in another order. */
void scoped_locks_of_two_do_not_deadlock() {
    latchkey::client client;
    std::atomic<int> inside{0}, faults{0};
    auto work = [&](const char *one, const char *two) {
        latchkey::shared_mutex first(client, one), second(client, two);
        for (int i = 0; i < 30; i++) {
            std::scoped_lock guard(first, second);
            if (++inside != 1 || !first.valid() || !second.valid())
                ++faults;
            --inside;
        }
    };
    std::thread other(work, "cpp:left", "cpp:right");
    work("cpp:right", "cpp:left");
    other.join();
    CHECK(faults == 0);
}

/* ------------------------------------------------------------------------------ time */

void timed_calls_say_that_the_time_is_over() {
    latchkey::client client;
    latchkey::shared_mutex holder(client, "cpp:timed"), mine(client, "cpp:timed");
    std::unique_lock held(holder);
    auto began = std::chrono::steady_clock::now();
    CHECK(!mine.try_lock_for(30ms));
    CHECK(std::chrono::steady_clock::now() - began >= 30ms);
    CHECK(!mine.try_lock_shared_for(std::chrono::duration<double>(0.005)));
    CHECK(!mine.try_lock_for(-1h) && !mine.try_lock_shared_for(0s));
    auto soon = std::chrono::steady_clock::now() + 30ms;
    CHECK(!mine.try_lock_until(soon));
    CHECK(std::chrono::steady_clock::now() >= soon);
    CHECK(!mine.try_lock_shared_until(std::chrono::system_clock::now() + 5ms));
    CHECK(!mine.try_lock_until(std::chrono::steady_clock::time_point::min()));
    std::unique_lock late(mine, 5ms);
    CHECK(!late.owns_lock());
}

void timed_calls_that_have_all_time_get_the_lock() {
    latchkey::client client;
    latchkey::shared_mutex holder(client, "cpp:patient"), mine(client, "cpp:patient");
    auto wait_while_held = [&](auto take) {
        holder.lock();
        std::thread other([&] {
            eventually([&] { return waiters(client, "cpp:patient") == 1; });
            holder.unlock();
        });
        bool taken = take();
        other.join();
        return taken;
    };
    CHECK(wait_while_held([&] { return mine.try_lock_for(std::chrono::hours::max()); }));
    mine.unlock();
    CHECK(wait_while_held(
        [&] { return mine.try_lock_shared_until(std::chrono::steady_clock::time_point::max()); }));
    mine.unlock_shared();
    CHECK(wait_while_held([&] { return std::shared_lock(mine, patience).owns_lock(); }));
    CHECK(!mine.valid());
}

void a_wait_is_rounded_up_to_a_millisecond() {
    using latchkey::detail::wait_ms;
    CHECK(wait_ms(1ns) == 1 && wait_ms(1000us) == 1 && wait_ms(1001us) == 2);
    CHECK(wait_ms(std::chrono::duration<double>(0.0101)) == 11);
    CHECK(wait_ms(0ns) == 0 && wait_ms(-1ns) == 0 && wait_ms(std::chrono::hours::min()) == 0);
    CHECK(wait_ms(std::chrono::hours::max()) == wait_ms(std::chrono::hours(24 * 365 * 1000)));
    CHECK(wait_ms(std::chrono::nanoseconds::max()) > 0);
}

/* ------------------------------------------------------------------------------ errors */

void a_bad_url_is_an_exception_with_a_status_and_a_sentence() {
    try {
        latchkey::client client("nonsense://host");
        throw std::logic_error("it was opened");
    } catch (const std::system_error &error) {
        CHECK(error.code() == LK_INVALID && error.code() != LK_DENIED);
        CHECK(error.code() == std::errc::invalid_argument);
        CHECK(error.code().category() == latchkey::category());
        CHECK(std::string(error.code().category().name()) == "latchkey");
        CHECK(error.code().message() == lk_status_text(LK_INVALID));
        CHECK(std::string(error.what()) == lk_last_error() && *error.what());
    }
    CHECK(thrown_by([] { latchkey::client client(std::string("unix:///nowhere/at/all")); }) ==
          LK_UNAVAILABLE);
}

void every_status_has_a_message_and_a_condition() {
    for (int i = LK_OK; i <= LK_INTERNAL; i++) {
        std::error_code code = static_cast<lk_status>(i);
        CHECK(code.message() == lk_status_text(static_cast<lk_status>(i)));
        CHECK(static_cast<bool>(code) == (i != LK_OK));
        CHECK(code == code.default_error_condition());
    }
    CHECK(std::error_code(LK_DEADLOCK) == std::errc::resource_deadlock_would_occur);
    CHECK(std::error_code(LK_DENIED) == std::errc::permission_denied);
    CHECK(std::error_code(LK_TIMEOUT) == std::errc::timed_out);
    CHECK(std::error_code(LK_BUSY) == std::errc::device_or_resource_busy);
    CHECK(std::error_code(LK_CANCELED) == std::errc::operation_canceled);
    CHECK(std::error_code(LK_NOMEM) == std::errc::not_enough_memory);
    CHECK(std::error_code(LK_UNSUPPORTED) == std::errc::not_supported);
    CHECK(std::error_code(-1, latchkey::category()).message() == "not a status of latchkey");
    CHECK(std::error_code(99, latchkey::category()).message() == "not a status of latchkey");
}

void a_name_that_would_be_cut_short_is_refused() {
    latchkey::client client;
    CHECK(thrown_by([&] { latchkey::shared_mutex m(client, std::string("cpp:a\0b", 7)); }) ==
          LK_INVALID);
    CHECK(thrown_by([&] { latchkey::shared_mutex m(client, ""); }) == LK_INVALID);
    lk_lock_options options{};
    options.lease_ms = 1;
    CHECK(thrown_by([&] { latchkey::shared_mutex m(client, "cpp:a", options); }) == LK_INVALID);
}

void an_upgrade_that_cannot_be_is_an_exception() {
    latchkey::client client;
    latchkey::shared_mutex first(client, "cpp:upgrade"), second(client, "cpp:upgrade");
    std::shared_lock one(first), two(second);
    std::thread upgrades([&] { std::unique_lock guard(first); });
    bool waits = eventually([&] { return waiters(client, "cpp:upgrade") == 1; });
    lk_status status = thrown_by([&] { second.lock(); });
    two.unlock();
    upgrades.join();
    CHECK(waits && status == LK_DEADLOCK);
}

/* ------------------------------------------------------------------------------ loss */

void a_loss_is_told_and_the_guard_ends_in_peace() {
    latchkey::client client;
    std::atomic<int> losses{0};
    lk_lock_options options{};
    options.lease_ms = 500;
    latchkey::shared_mutex mine(client, "cpp:lost", options, [&losses] { ++losses; });
    {
        std::unique_lock guard(mine);
        force(client, "cpp:lost");
        CHECK(eventually([&] { return losses == 1; }));
        CHECK(!mine.valid());
        CHECK(thrown_by([&] { mine.lock(); }) == LK_LOST);
        CHECK(thrown_by([&] { (void)mine.try_lock(); }) == LK_LOST);
    }
    CHECK(mine.last_unlock_status() == LK_LOST);
    std::unique_lock again(mine);
    again.unlock();
    CHECK(mine.last_unlock_status() == LK_OK && losses == 1);
}

void callbacks_run_in_dispatch_where_that_was_chosen() {
    lk_client_options options{};
    options.dispatch = true;
    latchkey::client client(nullptr, options);
    std::thread::id told;
    latchkey::shared_mutex mine(client, "cpp:dispatch", lk_lock_options{},
                                [&told] { told = std::this_thread::get_id(); });
    std::unique_lock guard(mine);
    force(client, "cpp:dispatch");
    CHECK(eventually([&] { return !mine.valid(); }));
    pollfd readable = {client.fd(), POLLIN, 0};
    CHECK(poll(&readable, 1, 10000) == 1);
    CHECK(told == std::thread::id());
    client.dispatch();
    CHECK(told == std::this_thread::get_id());
    CHECK(latchkey::client().fd() == -1);
    CHECK(thrown_by([] { latchkey::client().dispatch(); }) == LK_INVALID);
}

/* ------------------------------------------------------------------------------ lives */

void a_client_moves_and_its_mutexes_stay() {
    latchkey::client first;
    lk_client *handle = first.native_handle();
    latchkey::shared_mutex mine(first, "cpp:moves");
    std::unique_lock guard(mine);
    latchkey::client second(std::move(first));
    CHECK(second.native_handle() == handle && !first.native_handle());
    CHECK(mine.valid());
    CHECK(thrown_by([&] { latchkey::shared_mutex m(first, "cpp:moves"); }) == LK_INVALID);
    first = std::move(second);
    CHECK(first.native_handle() == handle && mine.valid());
    latchkey::client &same = first;
    first = std::move(same);
    CHECK(first.native_handle() == handle && mine.valid());
}

void a_mutex_may_outlive_its_client() {
    latchkey::client other;
    latchkey::client client;
    latchkey::shared_mutex mine(client, "cpp:outlives");
    mine.lock();
    client = latchkey::client(); /* closes the one before */
    CHECK(!mine.valid());
    CHECK(thrown_by([&] { mine.lock(); }) == LK_INVALID);
    latchkey::shared_mutex next(other, "cpp:outlives");
    CHECK(next.try_lock());
    next.unlock();
}

void what_a_mutex_holds_is_given_back_with_it() {
    latchkey::client client;
    latchkey::shared_mutex other(client, "cpp:freed");
    {
        latchkey::shared_mutex mine(client, "cpp:freed");
        mine.lock();
        CHECK(mine.native_handle() && lk_writes(mine.native_handle()) == 1);
    }
    CHECK(other.try_lock_for(patience));
    other.unlock();
}

struct test {
    const char *name;
    void (*run)();
};

#define TEST(function) {#function, function}
constexpr test tests[] = {
    TEST(a_unique_lock_keeps_out_everybody_else),
    TEST(shared_locks_share_and_keep_out_writers),
    TEST(an_object_can_be_locked_again_by_its_holder),
    TEST(scoped_locks_of_two_do_not_deadlock),
    TEST(timed_calls_say_that_the_time_is_over),
    TEST(timed_calls_that_have_all_time_get_the_lock),
    TEST(a_wait_is_rounded_up_to_a_millisecond),
    TEST(a_bad_url_is_an_exception_with_a_status_and_a_sentence),
    TEST(every_status_has_a_message_and_a_condition),
    TEST(a_name_that_would_be_cut_short_is_refused),
    TEST(an_upgrade_that_cannot_be_is_an_exception),
    TEST(a_loss_is_told_and_the_guard_ends_in_peace),
    TEST(callbacks_run_in_dispatch_where_that_was_chosen),
    TEST(a_client_moves_and_its_mutexes_stay),
    TEST(a_mutex_may_outlive_its_client),
    TEST(what_a_mutex_holds_is_given_back_with_it),
};

} // namespace

int main() {
    int failed = 0;
    for (const test &each : tests) {
        try {
            each.run();
            std::printf("ok %s\n", each.name);
        } catch (const std::exception &error) {
            std::printf("FAILED %s: %s\n", each.name, error.what());
            failed++;
        }
        std::fflush(stdout);
    }
    return failed ? 1 : 0;
}
