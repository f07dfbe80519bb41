/* lk_list: the names, their order, and the cost for the server. */
#include "world.h"

typedef struct {
    char **names;
    size_t count, most; /* most 0: all */
} list;

static bool keep(const char *name, void *arg) {
    list *self = arg;
    self->names = test_grow(self->names, self->count, sizeof *self->names);
    self->names[self->count++] = test_copy(name, strlen(name));
    return self->count != self->most;
}

static list list_of(lk_client *client, const char *pattern) {
    list self = {0};
    assert_ok(lk_list(client, pattern, keep, &self));
    return self;
}

static void list_clear(list *self) {
    for (size_t i = 0; i < self->count; i++)
        free(self->names[i]);
    free(self->names);
}

/* lk_list finds exactly these names, ended by NULL, in this order. */
static void assert_list(lk_client *client, const char *pattern, const char *const *wanted) {
    list self = list_of(client, pattern);
    size_t count = 0;
    for (; wanted[count]; count++) {
        if (count == self.count)
            fail_msg("%s: %s is missing", pattern ? pattern : "all", wanted[count]);
        assert_string_equal(self.names[count], wanted[count]);
    }
    if (count != self.count)
        fail_msg("%s: %s is too much", pattern ? pattern : "all", self.names[count]);
    list_clear(&self);
}

static void hold_all(lk_client *client, const char *const *wanted, lk_lock **locks) {
    for (size_t i = 0; wanted[i]; i++) {
        locks[i] = new_lock(client, wanted[i]);
        assert_ok(lk_wrlock(locks[i]));
    }
}

/* ------------------------------------------------------------------------------ which */

static const char *const none[] = {NULL};

TEST(locks_are_listed_once_sorted_by_bytes) {
    static const char *const held[] = {"b:2", "a:10", "B:1", "a:9", "\xff", "a", NULL};
    static const char *const sorted[] = {"B:1", "a", "a:10", "a:9", "b:2", "\xff", NULL};
    lk_client *client = open_client();
    lk_lock *locks[6];
    assert_list(client, NULL, none);
    hold_all(client, held, locks);
    assert_list(client, NULL, sorted);
    for (size_t i = 0; i < 6; i++)
        assert_ok(lk_wrunlock(locks[i]));
    assert_list(client, NULL, none);
}

TEST(a_pattern_is_one_of_fnmatch) {
    static const char *const held[] = {"order:1", "order:2", "order:12", "user:1", "[x]", "a*b",
                                       "axb",     "a\\b",    ".dot",     "a/b",    NULL};
    static const struct {
        const char *pattern;
        const char *const wanted[8];
    } cases[] = {
        {"order:*", {"order:1", "order:12", "order:2"}},
        {"order:?", {"order:1", "order:2"}},
        {"*:1", {"order:1", "user:1"}},
        {"order:[2-9]", {"order:2"}},
        {"order:[!2-9]", {"order:1"}},
        {"order:1", {"order:1"}},
        {"order", {NULL}},
        {"\\[x\\]", {"[x]"}},
        {"a\\*b", {"a*b"}},
        {"a*b", {"a*b", "a/b", "a\\b", "axb"}},
        {"a\\\\b", {"a\\b"}},
        {"*dot", {".dot"}},
        {"", {NULL}},
        {"Order:*", {NULL}},
    };
    lk_client *client = open_client();
    lk_lock *locks[10];
    hold_all(client, held, locks);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_list(client, cases[i].pattern, cases[i].wanted);
}

TEST(names_with_braces_and_percent_signs_are_listed_as_they_are) {
    static const char *const held[] = {"%", "%%", "%}a", "a%", "a{b}c", "{", "{}", "}", "}a", NULL};
    lk_client *client = open_client();
    lk_lock *locks[9];
    hold_all(client, held, locks);
    assert_list(client, NULL, held);
    assert_list(client, "*", held);
    for (size_t i = 0; i < 9; i++)
        assert_list(client, held[i], (const char *const[]){held[i], NULL});
    assert_list(client, "}*", (const char *const[]){"}", "}a", NULL});
    assert_list(client, "%*", (const char *const[]){"%", "%%", "%}a", NULL});
    assert_list(client, "?a", (const char *const[]){"}a", NULL});
}

TEST(locks_that_are_waited_for_or_abandoned_are_listed) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "l:waited"), new_lock(client, "l:waited"),
                        new_leased_lock(client, "l:left", 200)};
    call waiter;
    assert_ok(lk_rdlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "l:waited", 1);
    assert_ok(lk_wrlock(locks[2]));
    assert_ok(lk_force_release(client, "l:left", NULL));
    assert_list(client, "l:*", (const char *const[]){"l:left", "l:waited", NULL});
    assert_ok(lk_rdunlock(locks[0]));
    assert_call(&waiter, LK_OK);
}

TEST(other_keys_are_no_locks) {
    lk_client *clients[] = {open_client(), open_client_with(&(lk_client_options){.prefix = "lk2"}),
                            open_client_with(&(lk_client_options){.prefix = "l?"})};
    lk_lock *locks[] = {new_lock(clients[0], "mine"), new_lock(clients[1], "second"),
                        new_lock(clients[2], "third")};
    ask("SET foreign x");
    ask("SET lk:plain x");
    ask("HSET lk:{} a b");
    ask("HSET other:{a} a b");
    ask("ZADD lk:{a}:i 1 x");
    for (size_t i = 0; i < 3; i++)
        assert_ok(lk_wrlock(locks[i]));
    assert_list(clients[0], NULL, (const char *const[]){"mine", NULL});
    assert_list(clients[1], NULL, (const char *const[]){"second", NULL});
    assert_list(clients[2], NULL, (const char *const[]){"third", NULL});
}

/* lk_list does not look inside keys. lk_inspect() tells that this one is not a lock. */
TEST(a_key_of_another_type_in_the_place_of_a_lock_is_listed) {
    static const char *const foreign[] = {"set", "string", NULL};
    lk_client *client = open_client();
    ask("SET lk:{string} x");
    ask("SADD lk:{set} x");
    assert_list(client, NULL, foreign);
    for (size_t i = 0; foreign[i]; i++) {
        lk_info *info = NULL;
        assert_int_equal(lk_inspect(client, foreign[i], &info), LK_INVALID);
    }
}

/* ------------------------------------------------------------------------------ how */

TEST(a_listing_stops_when_told_to) {
    static const char *const held[] = {"a", "b", "c", "d", NULL};
    lk_client *client = open_client();
    lk_lock *locks[4];
    hold_all(client, held, locks);
    list self = {.most = 2};
    assert_ok(lk_list(client, NULL, keep, &self));
    assert_int_equal(self.count, 2);
    assert_string_equal(self.names[1], "b");
    list_clear(&self);
}

typedef struct {
    lk_client *client;
    pthread_t thread;
    lk_status statuses[3];
    size_t count;
} nested;

static bool look_inside(const char *name, void *arg) {
    nested *self = arg;
    lk_info *info = NULL;
    self->thread = pthread_self();
    self->statuses[self->count] = lk_inspect(self->client, name, &info);
    lk_info_free(info);
    return ++self->count < 3;
}

TEST(the_callback_runs_on_the_callers_thread_and_may_use_every_call) {
    static const char *const held[] = {"a", "b", "c", NULL};
    lk_client *client = open_client();
    lk_lock *locks[3];
    nested self = {.client = client};
    hold_all(client, held, locks);
    assert_ok(lk_list(client, NULL, look_inside, &self));
    assert_int_equal(self.count, 3);
    assert_true(pthread_equal(self.thread, pthread_self()));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(self.statuses[i], LK_OK);
}

enum { MANY = 3000 };

TEST(thousands_of_locks_are_listed_without_stopping_the_server) {
    static lk_lock *locks[MANY];
    lk_client *client = open_client();
    tally done = {0};
    for (size_t i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "many:%05zu", i);
        locks[i] = new_lock(client, name);
        assert_ok(lk_acquire_async(locks[i], LK_WRITE, -1, tally_done, &done));
    }
    eventually(atomic_load(&done.count) == MANY);
    ask("CONFIG RESETSTAT");
    list all = list_of(client, "many:*");
    assert_int_equal(command_calls("keys"), 0);
    assert_true(command_calls("scan") > 1); /* in steps */
    assert_int_equal(all.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "many:%05zu", i);
        assert_string_equal(all.names[i], name);
    }
    list_clear(&all);
    free_locks(locks, MANY);
    close_client(client);
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ another process */

typedef struct {
    lk_client *client;
    list names;
    lk_status status;
} listing;

static void *run_listing(void *context) {
    listing *self = context;
    self->status = lk_list(self->client, NULL, keep, &self->names);
    return NULL;
}

/* The next process has its keys in another order, so that the cursor would skip some of them. */
TEST(a_list_begins_again_when_another_process_answers) {
    test_server *real =
        start_server((const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
    fake_server *fake = fake_server_start(test_server_socket(real));
    assert_non_null(fake);
    listing self = {.client = open_client_at(fake_server_socket(fake), PATIENT_MS)};
    assert_ok(lk_wrlock(new_leased_lock(self.client, "a", PATIENT_MS)));
    fake_server_on(fake, "SCAN 0", 1, "*2\r\n$1\r\n7\r\n*0\r\n"); /* goes on at 7 */
    fake_server_hold(fake, "SCAN 7");
    pthread_t thread = thread_start(run_listing, &self);
    bool is_in_the_middle = fake_server_wait_for(fake, "SCAN 7", 1, LONG_MS);
    test_server_end(real, SIGKILL);
    bool is_back = test_server_start_again(real);
    fake_server_let_go(fake);
    thread_join(thread);
    size_t begun = fake_server_count(fake, "SCAN 0"), gone_on = fake_server_count(fake, "SCAN 7");
    close_client(self.client);
    fake_server_stop(fake);
    assert_true(is_in_the_middle && is_back);
    assert_int_equal(self.status, LK_OK);
    assert_int_equal(begun, 2);
    assert_int_equal(gone_on, 1);
    assert_int_equal(self.names.count, 1);
    assert_string_equal(self.names.names[0], "a");
    list_clear(&self.names);
}

int main(void) {
    return world_run(begin_world);
}
