/*
 * The guards of the C++ standard library, with locks that many machines share.
 *
 * Tellers move money between two accounts. Each account has a lock of its own. std::scoped_lock
 * takes both locks without a deadlock, in whichever order a teller names them. Auditors read both
 * accounts with std::shared_lock, and must always find the same sum. Every thread has its own
 * latchkey::shared_mutex objects, because threads that share an object do not exclude each other.
 */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <latchkey.hpp>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr int tellers = 3, auditors = 2, rounds = 20, sum = 1000;
constexpr auto patience = std::chrono::seconds(30);

/* In a real program these are on a disk or in a database that the machines share. */
int account_a = sum, account_b = 0;
std::atomic<int> moves{0}, audits{0}, faults{0};

void move_money(const latchkey::client &client, int teller) {
    latchkey::shared_mutex a(client, "account:a"), b(client, "account:b");
    for (int i = 0; i < rounds; i++) {
        std::scoped_lock guard(teller % 2 ? a : b, teller % 2 ? b : a);
        account_a -= teller;
        account_b += teller;
        moves++;
    }
}

void audit(const latchkey::client &client) {
    latchkey::shared_mutex a(client, "account:a"), b(client, "account:b");
    for (int i = 0; i < rounds; i++) {
        std::shared_lock first(a, patience), second(b, patience);
        if (!first || !second || account_a + account_b != sum)
            faults++;
        audits++;
    }
}

/* An exception that leaves a thread would end the program. */
template <class Work> std::thread start(Work work) {
    return std::thread([work] {
        try {
            work();
        } catch (const latchkey::error &error) {
            std::printf("%s: %s\n", lk_status_name(error.status()), error.what());
            faults++;
        }
    });
}

} // namespace

int main() {
    try {
        latchkey::client client; /* $LATCHKEY_URL, latchkey.conf(5), or a private server */
        std::vector<std::thread> threads;
        for (int i = 0; i < tellers; i++)
            threads.push_back(start([&client, i] { move_money(client, i); }));
        for (int i = 0; i < auditors; i++)
            threads.push_back(start([&client] { audit(client); }));
        for (std::thread &thread : threads)
            thread.join();
    } catch (const std::system_error &error) { /* the server cannot be reached, for example */
        std::printf("%s\n", error.what());
        return 1;
    }
    std::printf("%d moves and %d audits, %d faults; the accounts have %d and %d\n", moves.load(),
                audits.load(), faults.load(), account_a, account_b);
    return faults == 0 && moves == tellers * rounds && account_a + account_b == sum ? 0 : 1;
}
