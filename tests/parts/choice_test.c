/*
 * What a client is opened with: caller, environment, user's file, system's file, default, in this
 * order; and what belongs together.
 */
#include "client/choice.h"

#include "base/memory.h"
#include "client/config_files.h"
#include "test_memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY_UID = 65534 };

static char root[] = "/tmp/latchkey-choice-XXXXXX";
static char users[64], systems[64], secret[64], other_secret[64];
static const char sentinels[] = "redis+sentinel://h/m";
static bool has_more_rights; /* than its user: secure_getenv(3) says nothing */

/* In the place of the C library's. */
char *secure_getenv(const char *name) {
    return has_more_rights ? NULL : getenv(name);
}

static void write_file(const char *path, const char *text, mode_t mode) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static int set_up(void **state) {
    (void)state;
    memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    if (!mkdtemp(root))
        return -1;
    snprintf(users, sizeof users, "%s/latchkey.conf", root);
    snprintf(systems, sizeof systems, "%s/system.conf", root);
    snprintf(secret, sizeof secret, "%s/secret", root);
    snprintf(other_secret, sizeof other_secret, "%s/other", root);
    write_file(secret, "hunter2\n", 0600);
    write_file(other_secret, "hunter3", 0600);
    lki_config_system_at(systems);
    for (int i = 0; i < LKI_CONFIG_COUNT; i++)
        unsetenv(lki_config_variable((lki_config_key)i));
    unsetenv("LATCHKEY_CONFIG");
    unsetenv("LATCHKEY_PASSWORD");
    unsetenv("LATCHKEY_SENTINEL_PASSWORD");
    unsetenv("HOME");
    setenv("XDG_CONFIG_HOME", root, 1);
    has_more_rights = false;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char *command = test_print("rm -rf %s", root);
    int ended = system(command);
    free(command);
    return ended;
}

static lki_choice read_choice(const char *url, const lk_client_options *options) {
    lki_choice choice = {0};
    lki_error error = {0};
    if (lki_choice_read(url, options, &choice, &error) != LK_OK)
        fail_msg("%s", error.text);
    return choice;
}

static void assert_invalid(const char *url, const char *words) {
    lki_choice choice = {0};
    lki_error error = {0};
    assert_int_equal(lki_choice_read(url, NULL, &choice, &error), LK_INVALID);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, error.text);
    assert_null(choice.url);
}

/* Both may be NULL. */
static void assert_text(const char *found, const char *expected) {
    if (!found || !expected)
        assert_true(found == expected);
    else
        assert_string_equal(found, expected);
}

static void assert_url(const char *given, const char *expected, const char *from) {
    lki_choice choice = read_choice(given, NULL);
    assert_string_equal(choice.url, expected);
    assert_text(choice.from[LKI_CONFIG_URL], from);
    assert_int_equal(choice.url_is_default, !given && !from);
    lki_choice_clear(&choice);
}

static char *place(const char *path, unsigned line) {
    static char text[128];
    snprintf(text, sizeof text, "%s:%u", path, line);
    return text;
}

/* ------------------------------------------------------------------------------ the order */

static void the_url_is_that_of_caller_environment_user_system_or_nobody(void **state) {
    (void)state;
    assert_url(NULL, "local:", NULL);
    write_file(systems, "\nurl = redis://system\n", 0644);
    assert_url(NULL, "redis://system", place(systems, 2));
    write_file(users, "url = redis://user\n", 0644);
    assert_url(NULL, "redis://user", place(users, 1));
    setenv("LATCHKEY_URL", "redis://environment", 1);
    assert_url(NULL, "redis://environment", "LATCHKEY_URL");
    assert_url("redis://caller", "redis://caller", NULL);
    setenv("LATCHKEY_URL", "", 1);
    assert_url(NULL, "redis://user", place(users, 1));
}

static void local_that_somebody_chose_is_chosen(void **state) {
    (void)state;
    write_file(systems, "url = local:\n", 0644);
    assert_url(NULL, "local:", place(systems, 1));
    setenv("LATCHKEY_URL", "local:", 1);
    assert_url(NULL, "local:", "LATCHKEY_URL");
}

static void each_key_is_settled_by_itself(void **state) {
    (void)state;
    write_file(systems,
               "url = redis://system\nprefix = s\napp = s\nconnect_timeout = 1s\n"
               "command_timeout = 1s\n",
               0644);
    write_file(users, "app = u\nconnect_timeout = 2s\ncommand_timeout = 2s\n", 0644);
    setenv("LATCHKEY_CONNECT_TIMEOUT", "3s", 1);
    lki_choice choice = read_choice(NULL, &(lk_client_options){.command_timeout_ms = 4000});
    assert_string_equal(choice.url, "redis://system");
    assert_string_equal(choice.options.prefix, "s");
    assert_string_equal(choice.from[LKI_CONFIG_PREFIX], place(systems, 2));
    assert_string_equal(choice.options.app, "u");
    assert_int_equal(choice.options.connect_timeout_ms, 3000);
    assert_int_equal(choice.options.command_timeout_ms, 4000);
    lki_choice_clear(&choice);
    setenv("LATCHKEY_PREFIX", "e", 1);
    setenv("LATCHKEY_APP", "e", 1);
    choice = read_choice(NULL, &(lk_client_options){.app = "caller"});
    assert_string_equal(choice.options.prefix, "e");
    assert_string_equal(choice.from[LKI_CONFIG_PREFIX], "LATCHKEY_PREFIX");
    assert_string_equal(choice.options.app, "caller");
    lki_choice_clear(&choice);
}

static void replicas_are_asked_for_where_there_are_any(void **state) {
    (void)state;
    write_file(systems, "url = redis://system\nmin_replicas = 2\nreplica_timeout = 300ms\n", 0644);
    lki_choice choice = read_choice(NULL, NULL);
    assert_int_equal(choice.options.min_replicas, 2);
    assert_int_equal(choice.options.replica_timeout_ms, 300);
    lki_choice_clear(&choice);
    setenv("LATCHKEY_MIN_REPLICAS", "1", 1);
    choice = read_choice(NULL, NULL);
    assert_int_equal(choice.options.min_replicas, 1);
    lki_choice_clear(&choice);
    choice = read_choice("local:", NULL);
    assert_int_equal(choice.options.min_replicas, 0);
    lki_choice_clear(&choice);
}

/* A program that says where its locks are is not broken by a file that it does not know. */
static void with_a_url_of_the_caller_no_file_is_read(void **state) {
    (void)state;
    write_file(users, "nonsense\n", 0644);
    write_file(systems, "prefix = s\n", 0644);
    assert_invalid(NULL, place(users, 1));
    setenv("LATCHKEY_PREFIX", "e", 1);
    lki_choice choice = read_choice("redis://caller", NULL);
    assert_string_equal(choice.options.prefix, "e");
    lki_choice_clear(&choice);
    unsetenv("LATCHKEY_PREFIX");
    choice = read_choice("redis://caller", NULL);
    assert_null(choice.options.prefix);
    lki_choice_clear(&choice);
}

static void a_value_of_the_environment_that_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
    } bad[] = {{"LATCHKEY_PREFIX", "{"},
               {"LATCHKEY_CONNECT_TIMEOUT", "soon"},
               {"LATCHKEY_COMMAND_TIMEOUT", "5"},
               {"LATCHKEY_PASSWORD_FILE", "/no/such"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv(bad[i].name, bad[i].value, 1);
        assert_invalid("redis://h", bad[i].name);
        unsetenv(bad[i].name);
    }
}

/* ------------------------------------------------------------------------------ the files */

static void the_users_file_is_below_xdg_config_home_or_home(void **state) {
    (void)state;
    char *folder = test_print("%s/.config", root);
    char *in_home = test_print("%s/.config/latchkey.conf", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(users, "url = redis://xdg\n", 0644);
    write_file(in_home, "url = redis://home\n", 0644);
    setenv("HOME", root, 1);
    assert_url(NULL, "redis://xdg", place(users, 1));
    static const char *const none[] = {"", "relative"};
    for (size_t i = 0; i < 2; i++) {
        setenv("XDG_CONFIG_HOME", none[i], 1);
        assert_url(NULL, "redis://home", place(in_home, 1));
    }
    unsetenv("XDG_CONFIG_HOME");
    assert_url(NULL, "redis://home", place(in_home, 1));
    setenv("HOME", "relative", 1);
    assert_url(NULL, "local:", NULL);
    unsetenv("HOME");
    assert_url(NULL, "local:", NULL);
    free(folder);
    free(in_home);
}

static void latchkey_config_names_a_file_in_the_place_of_both(void **state) {
    (void)state;
    char *named = test_print("%s/named", root);
    write_file(users, "prefix = u\n", 0644);
    write_file(systems, "nonsense\n", 0644);
    setenv("LATCHKEY_CONFIG", named, 1);
    assert_invalid(NULL, "No such file");
    write_file(named, "url = redis://named\n", 0644);
    lki_choice choice = read_choice(NULL, NULL);
    assert_string_equal(choice.url, "redis://named");
    assert_null(choice.options.prefix);
    lki_choice_clear(&choice);
    setenv("LATCHKEY_CONFIG", "/dev/null", 1);
    assert_url(NULL, "local:", NULL);
    free(named);
}

static void a_program_with_more_rights_than_its_user_reads_the_systems_file_alone(void **state) {
    (void)state;
    write_file(users, "url = redis://user\nprefix = u\n", 0644);
    write_file(systems, "url = redis://system\n", 0644);
    setenv("LATCHKEY_URL", "redis://environment", 1);
    setenv("LATCHKEY_PREFIX", "e", 1);
    setenv("LATCHKEY_PASSWORD", "e", 1);
    setenv("LATCHKEY_SENTINEL_PASSWORD", "e", 1);
    setenv("LATCHKEY_CONFIG", "/dev/null", 1);
    setenv("HOME", root, 1);
    has_more_rights = true;
    lki_choice choice = read_choice(NULL, NULL);
    assert_string_equal(choice.url, "redis://system");
    assert_null(choice.options.prefix);
    assert_null(choice.password);
    lki_choice_clear(&choice);
    choice = read_choice(sentinels, NULL);
    assert_null(choice.sentinel_password);
    lki_choice_clear(&choice);
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    assert_int_equal(mkdir(users, 0700), 0);
    assert_invalid(NULL, users);
    assert_invalid(NULL, "directory");
    assert_int_equal(rmdir(users), 0);
    assert_int_equal(mkfifo(users, 0600), 0);
    assert_invalid(NULL, "not a file");
    assert_int_equal(unlink(users), 0);
    assert_int_equal(symlink("/no/such", users), 0);
    assert_url(NULL, "local:", NULL);
}

static void a_file_that_is_too_long_is_refused(void **state) {
    (void)state;
    char *text = malloc(LKI_CONFIG_MOST + 2);
    assert_non_null(text);
    memset(text, '\n', LKI_CONFIG_MOST + 1);
    text[LKI_CONFIG_MOST + 1] = '\0';
    write_file(systems, text, 0644);
    assert_invalid(NULL, "too long");
    text[LKI_CONFIG_MOST] = '\0';
    write_file(systems, text, 0644);
    assert_url(NULL, "local:", NULL);
    free(text);
}

static int in_a_process_of_nobody(int (*run)(void)) {
    int ended;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(setuid(NOBODY_UID) == 0 ? run() : 99);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

static int status_of_choice(void) {
    lki_choice choice = {0};
    lki_error error = {0};
    lk_status status = lki_choice_read(NULL, NULL, &choice, &error);
    lki_choice_clear(&choice);
    return (int)status;
}

static void a_file_that_may_not_be_read_is_refused(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(root, 0755), 0);
    write_file(users, "url = redis://user\n", 0600);
    assert_int_equal(in_a_process_of_nobody(status_of_choice), LK_INVALID);
}

/* HOME is still that of root in a service that gave up its rights. */
static void a_file_in_a_folder_that_may_not_be_entered_is_not_ours(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    write_file(users, "nonsense\n", 0644);
    lki_config_system_at("/dev/null");
    assert_int_equal(in_a_process_of_nobody(status_of_choice), LK_OK);
}

/* ------------------------------------------------------------------------------ a server is
 * required */

static void local_is_refused_where_a_server_is_required(void **state) {
    (void)state;
    setenv("LATCHKEY_REQUIRE_SERVER", "1", 1);
    assert_invalid(NULL, "LATCHKEY_REQUIRE_SERVER requires one");
    assert_url("local:", "local:", NULL);
    write_file(users, "url = redis://user\n", 0644);
    assert_url(NULL, "redis://user", place(users, 1));
    setenv("LATCHKEY_URL", "local:", 1);
    assert_invalid(NULL, "LATCHKEY_URL is local:");
    setenv("LATCHKEY_REQUIRE_SERVER", "0", 1);
    assert_url(NULL, "local:", "LATCHKEY_URL");
    setenv("LATCHKEY_REQUIRE_SERVER", "perhaps", 1);
    assert_invalid(NULL, "LATCHKEY_REQUIRE_SERVER: it must be yes or no");
}

static void a_file_may_require_a_server(void **state) {
    (void)state;
    write_file(systems, "# here\nrequire_server = yes\n", 0644);
    assert_invalid(NULL, place(systems, 2));
    write_file(users, "require_server = no\n", 0644);
    assert_url(NULL, "local:", NULL);
}

/* ------------------------------------------------------------------------------ TLS */

static void assert_tls(const lki_choice *choice, const char *ca, const char *cert, const char *key,
                       const char *name) {
    assert_text(choice->options.tls_ca, ca);
    assert_text(choice->options.tls_cert, cert);
    assert_text(choice->options.tls_key, key);
    assert_text(choice->options.tls_server_name, name);
}

static void tls_of_the_environment_is_used_with_tls_alone(void **state) {
    (void)state;
    static const char *const plain[] = {"redis://h", "unix:///s", "local:"};
    setenv("LATCHKEY_TLS_CA", "/ca", 1);
    setenv("LATCHKEY_TLS_CERT", "/cert", 1);
    setenv("LATCHKEY_TLS_KEY", "/key", 1);
    setenv("LATCHKEY_TLS_SERVER_NAME", "name", 1);
    lki_choice choice = read_choice("rediss://h", NULL);
    assert_tls(&choice, "/ca", "/cert", "/key", "name");
    lki_choice_clear(&choice);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        choice = read_choice(plain[i], NULL);
        assert_tls(&choice, NULL, NULL, NULL, NULL);
        lki_choice_clear(&choice);
    }
}

static void a_key_comes_from_where_its_certificate_comes_from(void **state) {
    (void)state;
    setenv("LATCHKEY_TLS_KEY", "/key", 1);
    assert_invalid("rediss://h", "LATCHKEY_TLS_KEY without LATCHKEY_TLS_CERT");
    lki_choice choice = read_choice("redis://h", NULL);
    lki_choice_clear(&choice);
    setenv("LATCHKEY_TLS_CERT", "/cert", 1);
    choice = read_choice("rediss://h", &(lk_client_options){.tls_cert = "/own"});
    assert_tls(&choice, NULL, "/own", NULL, NULL);
    lki_choice_clear(&choice);
    unsetenv("LATCHKEY_TLS_KEY");
    write_file(users, "url = rediss://user\ntls_cert = /u\ntls_key = /u.key\n", 0644);
    choice = read_choice(NULL, NULL);
    assert_tls(&choice, NULL, "/cert", NULL, NULL);
    lki_choice_clear(&choice);
}

/* ------------------------------------------------------------------------------ what belongs to a
 * url */

static void write_bound_files(void) {
    char *text = test_print("url = rediss://system\ntls_ca = /s\ntls_cert = /s\n"
                            "tls_server_name = s\npassword_file = %s\n",
                            secret);
    write_file(systems, text, 0644);
    free(text);
}

static void a_file_gives_its_url_what_stands_beside_it(void **state) {
    (void)state;
    write_bound_files();
    lki_choice choice = read_choice(NULL, NULL);
    assert_string_equal(choice.url, "rediss://system");
    assert_tls(&choice, "/s", "/s", NULL, "s");
    assert_string_equal(choice.password, "hunter2");
    lki_choice_clear(&choice);
}

static void another_url_gets_nothing_of_it(void **state) {
    (void)state;
    write_bound_files();
    lki_choice choice = read_choice("rediss://caller", NULL);
    assert_tls(&choice, NULL, NULL, NULL, NULL);
    assert_null(choice.password);
    lki_choice_clear(&choice);
    setenv("LATCHKEY_URL", "rediss://environment", 1);
    choice = read_choice(NULL, NULL);
    assert_tls(&choice, NULL, NULL, NULL, NULL);
    assert_null(choice.password);
    lki_choice_clear(&choice);
    unsetenv("LATCHKEY_URL");
    write_file(users, "url = rediss://user\n", 0644);
    choice = read_choice(NULL, NULL);
    assert_string_equal(choice.url, "rediss://user");
    assert_tls(&choice, NULL, NULL, NULL, NULL);
    assert_null(choice.password);
    lki_choice_clear(&choice);
}

static void a_file_without_a_url_serves_any_that_the_machine_chooses(void **state) {
    (void)state;
    write_file(systems, "tls_ca = /s\n", 0644);
    write_file(users, "url = rediss://user\n", 0644);
    lki_choice choice = read_choice(NULL, NULL);
    assert_tls(&choice, "/s", NULL, NULL, NULL);
    lki_choice_clear(&choice);
    setenv("LATCHKEY_URL", "rediss://environment", 1);
    choice = read_choice(NULL, NULL);
    assert_tls(&choice, "/s", NULL, NULL, NULL);
    lki_choice_clear(&choice);
    setenv("LATCHKEY_URL", "redis://environment", 1);
    choice = read_choice(NULL, NULL);
    assert_tls(&choice, NULL, NULL, NULL, NULL);
    lki_choice_clear(&choice);
}

/* ------------------------------------------------------------------------------ passwords */

static void assert_password(const char *url, const char *expected) {
    lki_choice choice = read_choice(url, NULL);
    assert_text(choice.password, expected);
    lki_choice_clear(&choice);
}

static void the_password_is_that_of_the_environment_before_that_of_a_file(void **state) {
    (void)state;
    write_bound_files();
    setenv("LATCHKEY_PASSWORD_FILE", other_secret, 1);
    assert_password(NULL, "hunter3");
    assert_password("redis://caller", "hunter3");
    setenv("LATCHKEY_PASSWORD", "hunter4", 1);
    assert_password(NULL, "hunter4");
    assert_password("redis://caller", "hunter4");
    assert_password("redis://:own@caller", NULL);
    assert_password("local:", NULL);
}

static void a_password_file_that_others_may_read_is_refused(void **state) {
    (void)state;
    static const mode_t bad[] = {0644, 0604, 0660, 0666, 0606};
    write_bound_files();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(chmod(secret, bad[i]), 0);
        assert_invalid(NULL, place(systems, 5));
        assert_invalid(NULL, "open to others: chmod 600");
    }
    if (geteuid() != 0)
        return;
    assert_int_equal(chmod(secret, 0640), 0); /* for the group of a service */
    assert_password(NULL, "hunter2");
    assert_int_equal(chown(secret, NOBODY_UID, NOBODY_UID), 0);
    assert_int_equal(chmod(secret, 0600), 0);
    assert_invalid(NULL, "belongs to another user");
}

static void a_password_file_has_one_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {{"", "empty"},
               {"\n", "empty"},
               {"\r\n", "empty"},
               {"a\nb\n", "more than one line"},
               {"\n\n", "more than one line"}};
    write_bound_files();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(secret, bad[i].text, 0600);
        assert_invalid(NULL, bad[i].words);
        assert_invalid(NULL, secret);
    }
    write_file(secret, " with spaces \r\n", 0600);
    assert_password(NULL, " with spaces ");
    int fd = open(secret, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "a\0b", 3), 3);
    close(fd);
    assert_invalid(NULL, "NUL");
    char *text = calloc(1, 4098);
    assert_non_null(text);
    memset(text, 'p', 4097);
    write_file(secret, text, 0600);
    assert_invalid(NULL, "too long");
    text[4096] = '\0';
    write_file(secret, text, 0600);
    assert_password(NULL, text);
    free(text);
    assert_int_equal(unlink(secret), 0);
    assert_invalid(NULL, "No such file");
}

static void assert_sentinel_password(const char *url, const char *expected) {
    lki_choice choice = read_choice(url, NULL);
    assert_text(choice.sentinel_password, expected);
    lki_choice_clear(&choice);
}

static void
the_password_of_sentinels_is_that_of_the_environment_before_that_of_a_file(void **state) {
    (void)state;
    char *text = test_print("sentinel_password_file = %s\n", secret);
    write_file(systems, text, 0644);
    free(text);
    assert_sentinel_password(sentinels, NULL); /* with a URL of the caller, no file is read */
    setenv("LATCHKEY_URL", sentinels, 1);
    assert_sentinel_password(NULL, "hunter2");
    setenv("LATCHKEY_SENTINEL_PASSWORD_FILE", other_secret, 1);
    assert_sentinel_password(NULL, "hunter3");
    assert_sentinel_password(sentinels, "hunter3");
    setenv("LATCHKEY_SENTINEL_PASSWORD", "hunter4", 1);
    assert_sentinel_password(NULL, "hunter4");
    assert_sentinel_password(sentinels, "hunter4");
    assert_sentinel_password("redis+sentinel://h/m?sentinel_password=own", NULL);
    assert_sentinel_password("redis+sentinel://:own@h/m", "hunter4");
}

static void the_passwords_of_servers_and_sentinels_are_apart(void **state) {
    (void)state;
    setenv("LATCHKEY_PASSWORD", "hunter4", 1);
    assert_sentinel_password(sentinels, NULL);
    assert_password(sentinels, "hunter4");
    assert_password("redis+sentinel://h/m?sentinel_password=own", "hunter4");
    assert_password("redis+sentinel://:own@h/m", NULL);
    unsetenv("LATCHKEY_PASSWORD");
    setenv("LATCHKEY_SENTINEL_PASSWORD", "hunter5", 1);
    assert_password(sentinels, NULL);
}

/* Its file is not even opened. */
static void urls_without_sentinels_need_no_password_of_sentinels(void **state) {
    (void)state;
    static const char *const urls[] = {"redis://h", "unix:///s", "local:", "redis+cluster://h"};
    setenv("LATCHKEY_SENTINEL_PASSWORD_FILE", "/no/such", 1);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_sentinel_password(urls[i], NULL);
    assert_invalid(sentinels, "LATCHKEY_SENTINEL_PASSWORD_FILE: /no/such");
}

static void a_password_file_of_sentinels_has_the_rules_of_a_password_file(void **state) {
    (void)state;
    char *text = test_print("url = redis://system\nsentinel_password_file = %s\n", secret);
    write_file(systems, text, 0644);
    setenv("LATCHKEY_URL", sentinels, 1);
    assert_sentinel_password(NULL, NULL); /* it is for the url beside it */
    write_file(systems, strchr(text, '\n'), 0644);
    assert_sentinel_password(NULL, "hunter2");
    assert_int_equal(chmod(secret, 0644), 0);
    assert_invalid(NULL, place(systems, 2));
    assert_invalid(NULL, ": sentinel_password_file: ");
    assert_invalid(NULL, "open to others: chmod 600");
    free(text);
}

static void a_password_in_the_url_of_a_file_that_others_may_read_is_refused(void **state) {
    (void)state;
    write_file(users, "prefix = a\nurl = redis://:hunter2@h\n", 0644);
    assert_invalid(NULL, place(users, 2));
    assert_invalid(NULL, "it contains a password");
    write_file(users, "url = redis+sentinel://h/m?sentinel_password=hunter2\n", 0644);
    assert_invalid(NULL, "it contains a password");
    write_file(users, "url = redis://user@h\n", 0644);
    assert_url(NULL, "redis://user@h", place(users, 1));
    write_file(users, "url = redis://:hunter2@h\n", 0600);
    assert_url(NULL, "redis://:hunter2@h", place(users, 1));
}

/* ------------------------------------------------------------------------------ lk_defaults_read */

static void defaults_tell_who_chose_and_no_password(void **state) {
    (void)state;
    lk_defaults *found = NULL;
    assert_int_equal(lk_defaults_read(&found), LK_OK);
    assert_string_equal(found->url, "local:");
    assert_string_equal(found->url_from, "");
    assert_string_equal(found->prefix, "lk");
    assert_string_equal(found->prefix_from, "");
    lk_defaults_free(found);
    write_file(systems, "prefix = shop\n", 0644);
    setenv("LATCHKEY_URL", "redis://user:hunter2@h", 1);
    assert_int_equal(lk_defaults_read(&found), LK_OK);
    assert_string_equal(found->url, "redis://user@h:6379");
    assert_string_equal(found->url_from, "LATCHKEY_URL");
    assert_string_equal(found->prefix, "shop");
    assert_string_equal(found->prefix_from, place(systems, 1));
    lk_defaults_free(found);
    setenv("LATCHKEY_URL", "nonsense", 1);
    assert_int_equal(lk_defaults_read(&found), LK_OK);
    assert_string_equal(found->url, "");
    lk_defaults_free(found);
    lk_defaults_free(NULL);
}

static void a_fault_is_the_same_for_open_examine_and_defaults(void **state) {
    (void)state;
    lk_defaults *found = NULL;
    lk_client *client = NULL;
    lk_facts *facts = NULL;
    write_file(systems, "url = local:\nnonsense\n", 0644);
    assert_int_equal(lk_defaults_read(&found), LK_INVALID);
    assert_non_null(strstr(lk_last_error(), place(systems, 2)));
    assert_int_equal(lk_open(NULL, NULL, &client), LK_INVALID);
    assert_non_null(strstr(lk_last_error(), place(systems, 2)));
    assert_int_equal(lk_examine(NULL, NULL, &facts), LK_INVALID);
    assert_non_null(strstr(lk_last_error(), place(systems, 2)));
    write_file(systems, "\nurl = redis://user@127.0.0.1:1\n", 0644);
    assert_int_equal(lk_open(NULL, NULL, &client), LK_INVALID);
    assert_non_null(strstr(lk_last_error(), place(systems, 2)));
    assert_int_equal(lk_examine(NULL, NULL, &facts), LK_INVALID);
    assert_non_null(strstr(lk_last_error(), place(systems, 2)));
    assert_int_equal(lk_defaults_read(NULL), LK_INVALID);
    assert_null(found);
    assert_null(client);
    assert_null(facts);
}

static int allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    lk_status status = LK_NOMEM;
    char *text = test_print("url = rediss://user@system\ntls_cert = /s\ntls_key = /s\n"
                            "password_file = %s\nconnect_timeout = 1s\n",
                            secret);
    write_file(systems, text, 0644);
    free(text);
    write_file(users, "app = u\n", 0644);
    setenv("LATCHKEY_PREFIX", "e", 1);
    for (refused_one = 1; status != LK_OK; refused_one++) {
        lk_defaults *found = NULL;
        allocations = 0;
        lki_memory_refuse(refuses);
        status = lk_defaults_read(&found);
        lki_memory_refuse(NULL);
        assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
        assert_int_equal(found != NULL, status == LK_OK);
        lk_defaults_free(found);
    }
    assert_true(refused_one > 20);
}

/* ------------------------------------------------------------------------------ errors */

static void assert_named(const char *url, const lk_client_options *options, const char *text,
                         const char *expected) {
    lki_choice choice = read_choice(url, options);
    lki_error error;
    lki_error_set(&error, LK_INVALID, "%s", text);
    lki_choice_name_source(&choice, &error);
    assert_int_equal(error.status, LK_INVALID);
    assert_string_equal(error.text, expected);
    lki_choice_clear(&choice);
}

static void an_error_names_the_source_of_the_value(void **state) {
    (void)state;
    const lk_client_options given = {.tls_ca = "/given"};
    char expected[256];
    write_file(users, "url = rediss://user\ntls_ca = /ca\nreplica_timeout = 9s\n", 0644);
    snprintf(expected, sizeof expected, "%s: url: the host of the URL is bad", place(users, 1));
    assert_named(NULL, NULL, "the host of the URL is bad", expected);
    snprintf(expected, sizeof expected, "%s: tls_ca: no such file", place(users, 2));
    assert_named(NULL, NULL, "tls_ca: no such file", expected);
    snprintf(expected, sizeof expected, "%s: replica_timeout must be 1", place(users, 3));
    assert_named(NULL, NULL, "replica_timeout_ms must be 1", expected);
    assert_named(NULL, &given, "tls_ca: no such file", "tls_ca: no such file");
    assert_named(NULL, NULL, "tls_cert: no such file", "tls_cert: no such file");
    setenv("LATCHKEY_TLS_CA", "/ca", 1);
    assert_named(NULL, NULL, "tls_ca: no such file", "LATCHKEY_TLS_CA: no such file");
    setenv("LATCHKEY_URL", "rediss://h", 1);
    assert_named(NULL, NULL, "the host of the URL is bad",
                 "LATCHKEY_URL: the host of the URL is bad");
    assert_named("rediss://h", NULL, "the host of the URL is bad", "the host of the URL is bad");
    assert_named("rediss://h", NULL, "tls_ca: no such file", "LATCHKEY_TLS_CA: no such file");
    assert_named(NULL, NULL, "LATCHKEY_LOCAL_DIR is bad", "LATCHKEY_LOCAL_DIR is bad");
}

static void an_error_of_the_server_stays_as_it_is(void **state) {
    (void)state;
    setenv("LATCHKEY_URL", "redis://h", 1);
    lki_choice choice = read_choice(NULL, NULL);
    lki_error error;
    lki_error_set(&error, LK_UNAVAILABLE, "the URL leads nowhere");
    lki_choice_name_source(&choice, &error);
    assert_string_equal(error.text, "the URL leads nowhere");
    lki_choice_clear(&choice);
}

#define CHOICE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CHOICE_TEST(the_url_is_that_of_caller_environment_user_system_or_nobody),
        CHOICE_TEST(local_that_somebody_chose_is_chosen),
        CHOICE_TEST(each_key_is_settled_by_itself),
        CHOICE_TEST(replicas_are_asked_for_where_there_are_any),
        CHOICE_TEST(with_a_url_of_the_caller_no_file_is_read),
        CHOICE_TEST(a_value_of_the_environment_that_cannot_be_is_refused_by_name),
        CHOICE_TEST(the_users_file_is_below_xdg_config_home_or_home),
        CHOICE_TEST(latchkey_config_names_a_file_in_the_place_of_both),
        CHOICE_TEST(a_program_with_more_rights_than_its_user_reads_the_systems_file_alone),
        CHOICE_TEST(what_is_no_file_is_refused),
        CHOICE_TEST(a_file_that_is_too_long_is_refused),
        CHOICE_TEST(a_file_that_may_not_be_read_is_refused),
        CHOICE_TEST(a_file_in_a_folder_that_may_not_be_entered_is_not_ours),
        CHOICE_TEST(local_is_refused_where_a_server_is_required),
        CHOICE_TEST(a_file_may_require_a_server),
        CHOICE_TEST(tls_of_the_environment_is_used_with_tls_alone),
        CHOICE_TEST(a_key_comes_from_where_its_certificate_comes_from),
        CHOICE_TEST(a_file_gives_its_url_what_stands_beside_it),
        CHOICE_TEST(another_url_gets_nothing_of_it),
        CHOICE_TEST(a_file_without_a_url_serves_any_that_the_machine_chooses),
        CHOICE_TEST(the_password_is_that_of_the_environment_before_that_of_a_file),
        CHOICE_TEST(a_password_file_that_others_may_read_is_refused),
        CHOICE_TEST(a_password_file_has_one_line),
        CHOICE_TEST(the_password_of_sentinels_is_that_of_the_environment_before_that_of_a_file),
        CHOICE_TEST(the_passwords_of_servers_and_sentinels_are_apart),
        CHOICE_TEST(urls_without_sentinels_need_no_password_of_sentinels),
        CHOICE_TEST(a_password_file_of_sentinels_has_the_rules_of_a_password_file),
        CHOICE_TEST(a_password_in_the_url_of_a_file_that_others_may_read_is_refused),
        CHOICE_TEST(defaults_tell_who_chose_and_no_password),
        CHOICE_TEST(a_fault_is_the_same_for_open_examine_and_defaults),
        CHOICE_TEST(an_error_names_the_source_of_the_value),
        CHOICE_TEST(an_error_of_the_server_stays_as_it_is),
        CHOICE_TEST(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("configuration: choice", tests, NULL, NULL);
}
