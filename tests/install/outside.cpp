/* A C++ program outside the tree: what was installed is enough to build it. */
#include <latchkey.hpp>

#include <iostream>
#include <mutex>

int main() {
    try {
        latchkey::client client;
        latchkey::shared_mutex lock(client, "outside");
        {
            std::unique_lock guard(lock);
            std::cout << "latchkey " << LK_VERSION_STRING << ", fence " << lock.fence() << '\n';
        }
        return lock.last_unlock_status() == LK_OK ? 0 : 1;
    } catch (const latchkey::error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
