/* Clients of a server that something stands before; see network.h. */
#include "network.h"

proxy *net;
fake_server *fake;
lk_client *client, *other;
lk_lock *lock, *holder;
call waiting;

void network_with(int64_t command_timeout_ms) {
    net = start_proxy();
    client = open_client_at(proxy_socket(net), command_timeout_ms);
    other = open_client_at(test_server_socket(server), PATIENT_MS);
    teach_scripts(client);
    lock = new_lock(client, "a");
    holder = new_lock(other, "a");
}

void network(void) {
    network_with(PATIENT_MS);
}

void hasty_network(void) {
    network_with(HASTY_MS);
}

void fake_network(void) {
    fake = start_fake();
}

void open_here(int64_t command_timeout_ms) {
    client = open_client_at(fake_server_socket(fake), command_timeout_ms);
    lock = new_lock(client, "a");
}

void wait_behind_holder(void) {
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
}

void expect_no_waiter(void) {
    eventually(look_at(other, "a").waiters == 0);
    assert_ok(lk_wrunlock(holder));
    eventually(is_empty());
}
