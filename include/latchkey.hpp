/*
 * latchkey for C++17: clients and handles with destructors; a mutex for std::unique_lock,
 * std::shared_lock and std::scoped_lock; errors as exceptions. latchkey.h is the manual: this
 * header adds no behaviour of its own.
 *
 * Limits first.
 *
 * - A shared_mutex is one handle, and a handle is one holder. Threads that share the object do not
 *   exclude each other. Give each thread its own object of the same name.
 * - unlock() and unlock_shared() do not throw, because destructors call them, and an exception
 *   there would end the program. To find out whether a hold was lost, use valid(), on_lost, or
 *   last_unlock_status() after the unlock.
 * - lock() on an object that holds lock_shared() is an upgrade. It throws with LK_DEADLOCK if
 *   another holder already waits to upgrade. Other mutexes hang in that case, so code that must
 *   also work with them cannot rely on upgrades.
 * - A hold is a lease, and can be lost while a guard has it. Before work that needs the lock, check
 *   valid(), or pass fence() to the store that the work writes to.
 *
 *     latchkey::client client;
 *     latchkey::shared_mutex order(client, "order:42");
 *     std::unique_lock guard(order, std::chrono::seconds(5));
 *     if (guard)
 *         ...
 */
#ifndef LATCHKEY_HPP
#define LATCHKEY_HPP

#include "latchkey.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace latchkey {

/* ------------------------------------------------------------------------------------------------
 * errors */

namespace detail {

class status_category final : public std::error_category {
public:
    const char *name() const noexcept override {
        return "latchkey";
    }

    std::string message(int value) const override {
        bool is_status = value >= LK_OK && value <= LK_INTERNAL;
        return is_status ? lk_status_text(static_cast<lk_status>(value))
                         : "not a status of latchkey";
    }

    std::error_condition default_error_condition(int value) const noexcept override {
        switch (value) {
        case LK_BUSY:
            return std::errc::device_or_resource_busy;
        case LK_TIMEOUT:
            return std::errc::timed_out;
        case LK_CANCELED:
            return std::errc::operation_canceled;
        case LK_NOT_HELD:
            return std::errc::operation_not_permitted;
        case LK_DEADLOCK:
            return std::errc::resource_deadlock_would_occur;
        case LK_DENIED:
            return std::errc::permission_denied;
        case LK_UNSUPPORTED:
            return std::errc::not_supported;
        case LK_INVALID:
            return std::errc::invalid_argument;
        case LK_NOMEM:
            return std::errc::not_enough_memory;
        default:
            return std::error_condition(value, *this);
        }
    }
};

} // namespace detail

/* The category of error codes whose value is an lk_status. */
inline const std::error_category &category() noexcept {
    static const detail::status_category instance;
    return instance;
}

/*
 * The exception that this header throws. what() is the sentence of lk_last_error(). code() can be
 * compared with an lk_status, and with a std::errc of the same meaning if there is one.
 */
class error : public std::system_error {
public:
    explicit error(lk_status status, const char *sentence = lk_last_error())
        : std::system_error(static_cast<int>(status), category()), sentence_(sentence) {
    }

    lk_status status() const noexcept {
        return static_cast<lk_status>(code().value());
    }

    const char *what() const noexcept override {
        return sentence_.what();
    }

private:
    std::runtime_error sentence_; /* a text that can be copied without throwing */
};

namespace detail {

inline void check(lk_status status) {
    if (status != LK_OK)
        throw error(status);
}

/* Whether the lock was acquired. A lock that is not free is not an error. */
inline bool taken(lk_status status) {
    if (status == LK_BUSY || status == LK_TIMEOUT)
        return false;
    check(status);
    return true;
}

/* Rounds up, so that no call waits for less than it was asked to. The most is a thousand years. */
template <class Rep, class Period>
std::int64_t wait_ms(const std::chrono::duration<Rep, Period> &wait) {
    constexpr std::chrono::hours longest(24 * 365 * 1000);
    using wide = std::chrono::duration<double>;
    if (wide(wait) <= wide::zero())
        return 0;
    if (wide(wait) >= wide(longest))
        return std::chrono::milliseconds(longest).count();
    return std::chrono::ceil<std::chrono::milliseconds>(wait).count();
}

} // namespace detail

/* ------------------------------------------------------------------------------------------------
 * client */

/* An lk_client. An object that was moved from can only be destroyed or assigned to. */
class client {
public:
    /* As lk_open(). Throws error. */
    explicit client(const char *url = nullptr,
                    const lk_client_options &options = lk_client_options{}) {
        detail::check(lk_open(url, &options, &handle_));
    }

    explicit client(const std::string &url, const lk_client_options &options = lk_client_options{})
        : client(url.c_str(), options) {
    }

    client(client &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {
    }

    client &operator=(client &&other) noexcept {
        if (this != &other) {
            lk_close(handle_);
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }

    /* As lk_close(): has no effect inside a callback of this client. A shared_mutex may outlive its
     * client; calls that can throw then do so, with LK_INVALID. */
    ~client() {
        lk_close(handle_);
    }

    /* As lk_fd(): -1 without `dispatch` in the options. */
    int fd() const noexcept {
        return lk_fd(handle_);
    }

    /* As lk_dispatch(). Throws error. */
    void dispatch() {
        detail::check(lk_dispatch(handle_));
    }

    lk_client *native_handle() const noexcept {
        return handle_;
    }

private:
    lk_client *handle_ = nullptr;
};

/* ------------------------------------------------------------------------------------------------
 * mutex */

/* An lk_lock, with the calls that the guards of the standard library need. */
class shared_mutex {
public:
    using native_handle_type = lk_lock *;

    /*
     * As lk_lock_new(). on_lost replaces options.on_lost and is called in the same way. It must not
     * throw, and must not destroy this object. Throws error.
     */
    shared_mutex(const client &of, const std::string &name,
                 lk_lock_options options = lk_lock_options{}, std::function<void()> on_lost = {})
        : on_lost_(std::move(on_lost)) {
        if (std::strlen(name.c_str()) != name.size())
            throw error(LK_INVALID, "the lock's name has a byte of zero in it");
        if (on_lost_) {
            options.on_lost = call_on_lost;
            options.on_lost_arg = this;
        }
        detail::check(lk_lock_new(of.native_handle(), name.c_str(), &options, &handle_));
    }

    shared_mutex(const shared_mutex &) = delete;
    shared_mutex &operator=(const shared_mutex &) = delete;

    /* As lk_lock_free(): releases all holds. */
    ~shared_mutex() {
        lk_lock_free(handle_);
    }

    /* Write holds. lock() waits as long as it takes. The others return false if the lock was not
     * free in time. Every other failure throws error. */
    void lock() {
        detail::check(lk_wrlock(handle_));
    }

    [[nodiscard]] bool try_lock() {
        return detail::taken(lk_trywrlock(handle_));
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &wait) {
        return detail::taken(lk_timedwrlock(handle_, detail::wait_ms(wait)));
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &end) {
        return until(end, [this](auto wait) { return this->try_lock_for(wait); });
    }

    /* Does not throw: see the limits at the top. */
    void unlock() noexcept {
        last_unlock_ = lk_wrunlock(handle_);
    }

    /* Read holds: the same. */
    void lock_shared() {
        detail::check(lk_rdlock(handle_));
    }

    [[nodiscard]] bool try_lock_shared() {
        return detail::taken(lk_tryrdlock(handle_));
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &wait) {
        return detail::taken(lk_timedrdlock(handle_, detail::wait_ms(wait)));
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &end) {
        return until(end, [this](auto wait) { return this->try_lock_shared_for(wait); });
    }

    void unlock_shared() noexcept {
        last_unlock_ = lk_rdunlock(handle_);
    }

    /* The status of the last unlock() or unlock_shared() of this object, for example LK_LOST or
     * LK_UNAVAILABLE. LK_OK before the first. */
    lk_status last_unlock_status() const noexcept {
        return last_unlock_;
    }

    /* As lk_valid(), lk_remaining_ms(), lk_fence() and lk_abandoned(). */
    bool valid() const noexcept {
        return lk_valid(handle_);
    }

    std::chrono::milliseconds remaining() const noexcept {
        return std::chrono::milliseconds(lk_remaining_ms(handle_));
    }

    std::uint64_t fence() const noexcept {
        return lk_fence(handle_);
    }

    bool abandoned() const noexcept {
        return lk_abandoned(handle_);
    }

    /* For all other calls of latchkey.h. */
    lk_lock *native_handle() const noexcept {
        return handle_;
    }

private:
    /* The caller's clock may be set meanwhile, so that clock decides when the time is over. */
    template <class Clock, class Duration, class Take>
    static bool until(const std::chrono::time_point<Clock, Duration> &end, Take take) {
        auto now = Clock::now();
        do {
            if (take(now < end ? end - now : decltype(end - now)::zero()))
                return true;
            now = Clock::now();
        } while (now < end);
        return false;
    }

    static void call_on_lost(lk_lock *, void *self) noexcept {
        static_cast<shared_mutex *>(self)->on_lost_();
    }

    lk_lock *handle_ = nullptr;
    std::function<void()> on_lost_;
    std::atomic<lk_status> last_unlock_{LK_OK};
};

} // namespace latchkey

/* Allows a std::error_code to be made from, and compared with, an lk_status. */
inline std::error_code make_error_code(lk_status status) noexcept {
    return std::error_code(static_cast<int>(status), latchkey::category());
}

template <> struct std::is_error_code_enum<lk_status> : std::true_type {};

#endif
