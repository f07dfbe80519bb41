# How the server of a lock is chosen, and the warning when none is configured.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

# An empty file, instead of the one that chooses local: for other tests.
export LATCHKEY_CONFIG=/dev/null

# configure LINE…: the test gets a configuration file with these lines.
configure() {
    printf '%s\n' "$@" >mine.conf
    export LATCHKEY_CONFIG=$PWD/mine.conf
}

# One line on stderr, and the command was not run.
expect_refused() {
    expect_exit "$1" "$latchkey" "${@:2}"
    expect_one_line
    [ ! -e ran ] || fail "the command was run"
    [ ! -s printed ] || fail "$(cat printed)"
}

# Whether a test can have its own mount namespace, with other files in /etc, /run and /tmp.
can_mount() {
    unshare --mount sh -c 'mount -t tmpfs none /etc' 2>/dev/null && return
    echo "left out: no mount namespace is to be had here"
    return 1
}

test_run_says_in_one_line_that_nobody_chose_a_server() {
    expect_exit 0 "$latchkey" run -n nightly echo ready
    expect_one_line
    expect_said 'latchkey run: no server is configured: lock "nightly" is private to this user on this machine (local:)'
    expect_said "set url in /etc/latchkey.conf or LATCHKEY_URL"
    check [ "$(cat printed)" = ready ]
    LATCHKEY_URL='' expect_exit 3 "$latchkey" run nightly sh -c 'exit 3'
    expect_one_line
}

test_a_choice_of_local_silences_it() {
    expect_exit 0 "$latchkey" run -u local: nightly true
    [ ! -s said ] || fail "$(cat said)"
    LATCHKEY_URL=local: expect_exit 0 "$latchkey" run nightly true
    [ ! -s said ] || fail "$(cat said)"
    configure "url = local:"
    expect_exit 0 "$latchkey" run nightly true
    [ ! -s said ] || fail "$(cat said)"
}

test_only_run_says_it() {
    local words
    for words in "ls" "inspect a" "doctor" "server status" "bench -t 10ms"; do
        # shellcheck disable=SC2086
        "$latchkey" $words >printed 2>said
        [ ! -s said ] || fail "$words: $(cat said)"
    done
}

test_the_url_of_a_file_is_the_server_for_all_commands() {
    start_server
    configure "url = $url"
    hold a
    local holder=$!
    [ ! -s said ] || fail "$(cat said)"
    expect_exit 1 "$latchkey" run -n a true
    expect_exit 0 "$latchkey" ls a
    expect_exit 0 "$latchkey" run -u local: -n a true
    LATCHKEY_CONFIG=/dev/null expect_exit 0 "$latchkey" ls -u "$url" a
    LATCHKEY_CONFIG=/dev/null LATCHKEY_URL=$url expect_exit 1 "$latchkey" run -n a true
    echo >stop
    check wait "$holder" # not for the server
}

test_a_prefix_of_a_file_is_for_all_commands_but_not_for_another_url() {
    start_server
    configure "url = $url" "prefix = shop"
    hold a
    local holder=$!
    expect_exit 0 "$latchkey" ls a
    expect_exit 1 "$latchkey" run -n a true
    expect_exit 0 "$latchkey" ls -u "$url" --prefix shop a
    expect_exit 1 "$latchkey" ls -u "$url" a
    LATCHKEY_PREFIX=shop expect_exit 0 "$latchkey" ls -u "$url" a
    echo >stop
    check wait "$holder" # not for the server
}

test_the_users_file_comes_before_the_systems() {
    can_mount || return 0
    start_server
    mkdir -p home/.config
    echo "prefix = mine" >home/.config/latchkey.conf
    # shellcheck disable=SC2016 # the inner shell expands it
    expect_exit 0 env -u LATCHKEY_CONFIG -u XDG_CONFIG_HOME HOME="$PWD/home" unshare --mount sh -c '
        mount -t tmpfs none /etc || exit 99
        printf "url = %s\nprefix = systems\n" "$1" >/etc/latchkey.conf
        "$0" run a true && "$0" doctor -u local: >/dev/null || exit
        "$0" doctor | grep "^fine  *server "
        LATCHKEY_URL=local: "$0" doctor | grep "^fine  *server "
        ' "$latchkey" "$url"
    [ ! -s said ] || fail "$(cat said)"
    expect_printed "$url, chosen by /etc/latchkey.conf:1; prefix mine, chosen by $PWD/home/.config/latchkey.conf:1"
    expect_printed "local:, chosen by LATCHKEY_URL"
}

test_a_server_that_is_required_is_not_the_private_one() {
    LATCHKEY_REQUIRE_SERVER=1 expect_refused 78 run nightly touch ran
    expect_said "no server is configured, and LATCHKEY_REQUIRE_SERVER requires one"
    LATCHKEY_REQUIRE_SERVER=1 expect_refused 78 ls
    configure "" "require_server = yes"
    expect_refused 78 run nightly touch ran
    expect_said "$PWD/mine.conf:2 requires one"
    LATCHKEY_URL=local: expect_refused 78 run nightly touch ran
    LATCHKEY_REQUIRE_SERVER=0 expect_exit 0 "$latchkey" run nightly true
    expect_exit 0 "$latchkey" run -u local: nightly true
    expect_exit 0 "$latchkey" server status
    start_server
    LATCHKEY_URL=$url expect_exit 0 "$latchkey" run nightly true
    [ ! -s said ] || fail "$(cat said)"
}

test_a_file_that_cannot_be_used_is_78_with_its_line_and_nothing_is_run() {
    local line words
    for line in "nonsense" "no_such = 1" "url = http://h" "url =" "prefix = {" "require_server = maybe" \
        "connect_timeout = 5" "tls_ca = relative" $'app = \001' "url = redis://:s3cr3t@h" "app = y" \
        "url = redis://:s3cr3t@h:port" "= x" "$(printf 'x%.0s' {1..5000})"; do
        configure "# mine" "app = y" "$line"
        expect_refused 78 run nightly touch ran
        expect_said "latchkey run: $PWD/mine.conf:3: "
        ! grep -q s3cr3t said || fail "the password is told: $(cat said)"
        ! grep -q '""' said || fail "$(cat said)"
    done
    for words in "run -n nightly touch ran" "ls" "inspect a" "doctor" "watch" "release --yes a" \
        "bench -t 10ms"; do
        # shellcheck disable=SC2086
        expect_refused 78 $words
        expect_said "latchkey ${words%% *}: $PWD/mine.conf:3: "
    done
    LATCHKEY_URL=local: expect_refused 78 run nightly touch ran
    expect_exit 0 "$latchkey" run -u local: nightly true
    [ ! -s said ] || fail "$(cat said)"
}

# Only opening a client finds these.
test_a_value_of_a_file_that_cannot_be_used_is_78_with_its_line_and_nothing_is_run() {
    local line words
    mkdir "with blank"
    for line in "tls_ca = /no/such" "tls_cert = /no/such" "tls_server_name = ." "replica_timeout = 10s"; do
        configure "# mine" "url = rediss://127.0.0.1:1" "$line"
        mv mine.conf "with blank"
        LATCHKEY_CONFIG="$PWD/with blank/mine.conf" expect_refused 78 run nightly touch ran
        expect_said "latchkey run: $PWD/with blank/mine.conf:3: ${line%% *}"
        ! grep -qE -- '--tls|_ms' said || fail "$(cat said)"
    done
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=test -days 2 2>/dev/null ||
        fail "no certificate"
    configure "url = rediss://127.0.0.1:1" "tls_cert = $PWD/cert.pem" "tls_key = /no/such"
    expect_refused 78 run nightly touch ran
    expect_said "$PWD/mine.conf:3: tls_key: the file /no/such cannot be read"
    configure "" "url = redis://user@127.0.0.1:1"
    for words in "run -n nightly touch ran" "ls" "inspect a" "doctor" "watch" "release --yes a" \
        "bench -t 10ms"; do
        # shellcheck disable=SC2086
        expect_refused 78 $words
        expect_said "latchkey ${words%% *}: $PWD/mine.conf:2: url: the password of the URL is missing"
    done
}

test_an_option_in_place_of_a_value_that_cannot_be_used_is_used() {
    configure "url = rediss://127.0.0.1:1" "tls_ca = /no/such/in/file"
    expect_refused 64 run --tls-ca /no/such/option nightly touch ran
    expect_said "latchkey run: --tls-ca: /no/such/option cannot be read"
    LATCHKEY_TLS_CA=/no/such/variable expect_refused 78 run nightly touch ran
    expect_said "latchkey run: LATCHKEY_TLS_CA: /no/such/variable cannot be read"
}

test_a_file_that_cannot_be_read_is_78() {
    mkdir folder
    LATCHKEY_CONFIG=$PWD/folder expect_refused 78 run nightly touch ran
    expect_said "$PWD/folder: it cannot be read: "
    LATCHKEY_CONFIG=/no/such expect_refused 78 run nightly touch ran
    expect_said "/no/such: it cannot be read: "
    mkdir home
    mkdir home/latchkey.conf
    expect_exit 78 env -u LATCHKEY_CONFIG XDG_CONFIG_HOME="$PWD/home" "$latchkey" run nightly touch ran
    expect_one_line
    expect_said "$PWD/home/latchkey.conf: it cannot be read: "
    check [ ! -e ran ]
}

test_a_variable_that_cannot_be_is_told_by_its_name() {
    LATCHKEY_PREFIX='{' expect_refused 78 run nightly touch ran
    expect_said "latchkey run: LATCHKEY_PREFIX: it must be "
    LATCHKEY_PREFIX='{' expect_refused 64 run -u local: nightly touch ran
    expect_said "latchkey run: LATCHKEY_PREFIX: it must be "
    LATCHKEY_REQUIRE_SERVER=maybe expect_refused 78 run nightly touch ran
    expect_said "LATCHKEY_REQUIRE_SERVER: it must be yes or no"
    LATCHKEY_URL=nonsense expect_refused 64 run nightly touch ran
    expect_said "latchkey run: LATCHKEY_URL: the URL has no scheme"
    expect_said "rediss+sentinel://, redis+cluster:// or rediss+cluster://"
    LATCHKEY_URL=http://h expect_refused 64 run nightly touch ran
    expect_said "latchkey run: LATCHKEY_URL: the scheme of the URL is not one of "
    expect_said "rediss+sentinel://, redis+cluster:// and rediss+cluster://"
    LATCHKEY_URL=redis://user@127.0.0.1:1 expect_refused 64 run nightly touch ran
    expect_said "latchkey run: LATCHKEY_URL: the password of the URL is missing"
    LATCHKEY_REPLICA_TIMEOUT=10s expect_refused 64 run -u redis://127.0.0.1:1 nightly touch ran
    expect_said "latchkey run: LATCHKEY_REPLICA_TIMEOUT must be 0 to 2500 ms, half of the command timeout"
    export LATCHKEY_URL=rediss://127.0.0.1:1
    LATCHKEY_REPLICA_TIMEOUT=10s expect_refused 78 run nightly touch ran
    expect_said "latchkey run: LATCHKEY_REPLICA_TIMEOUT must be 0 to 2500 ms, half of the command timeout"
    LATCHKEY_TLS_SERVER_NAME=. expect_refused 78 run nightly touch ran
    expect_said "latchkey run: LATCHKEY_TLS_SERVER_NAME is not the name of a server"
    LATCHKEY_TLS_CERT=/no/such expect_refused 78 run nightly touch ran
    expect_said "latchkey run: LATCHKEY_TLS_CERT: the file /no/such cannot be read"
    LATCHKEY_TLS_CERT=/no/such expect_refused 64 run -u "$LATCHKEY_URL" nightly touch ran
    expect_said "latchkey run: LATCHKEY_TLS_CERT: the file /no/such cannot be read"
}

test_the_password_of_a_file_is_used_and_told_to_nobody() {
    start_server --requirepass s3cr3t
    echo s3cr3t >secret
    chmod 600 secret
    configure "url = $url" "password_file = $PWD/secret"
    expect_exit 0 "$latchkey" run --verbose a true
    ! grep -q s3cr3t said || fail "$(cat said)"
    expect_exit 77 "$latchkey" run -u "$url" a touch ran
    LATCHKEY_URL=$url expect_exit 77 "$latchkey" run a touch ran
    LATCHKEY_PASSWORD_FILE=$PWD/secret expect_exit 0 "$latchkey" run -u "$url" a true
    check [ ! -e ran ]
}

test_a_password_file_that_others_may_read_is_78() {
    start_server --requirepass s3cr3t
    echo s3cr3t >secret
    chmod 644 secret
    configure "url = $url" "password_file = $PWD/secret"
    expect_refused 78 run a touch ran
    expect_said "$PWD/mine.conf:2: password_file: $PWD/secret is open to others: chmod 600"
    rm secret
    expect_refused 78 run a touch ran
    expect_said "$PWD/mine.conf:2: password_file: $PWD/secret: it cannot be read: "
}

test_tls_of_the_environment_does_no_harm_to_a_url_without_it() {
    local each
    start_server
    export LATCHKEY_TLS_CA=/no/such/ca LATCHKEY_TLS_CERT=/no/such/cert LATCHKEY_TLS_KEY=/no/such/key
    for each in "$url" local:; do
        expect_exit 0 "$latchkey" run -u "$each" a true
        LATCHKEY_URL=$each expect_exit 0 "$latchkey" run a true
    done
    expect_exit 64 "$latchkey" run -u rediss://127.0.0.1:1 a true
    expect_said "LATCHKEY_TLS_CA: /no/such/ca cannot be read"
    expect_exit 64 "$latchkey" run -u "$url" --tls-ca /no/such/ca a true
}

# Two programs of the same user, one of them in a service with PrivateTmp.
test_root_has_one_server_in_and_out_of_a_private_tmp() {
    if [ "$(id -u)" -ne 0 ] || ! can_mount; then
        return 0
    fi
    unset LATCHKEY_LOCAL_DIR
    mkdir -p service
    # shellcheck disable=SC2016 # the inner shells expand it
    expect_exit 0 unshare --mount sh -c '
        mount -t tmpfs -o mode=755 none /run && mkfifo stop || exit 99
        "$0" run -u local: a sh -c "echo >held; read -r line <stop" &
        until [ -e held ]; do sleep 0.02; done
        $1 service "$0" sh -c "
            \"\$0\" run -u local: -n a true || exit
            \"\$0\" server stop >/dev/null" "$0"
        echo "conflict $?"
        echo >stop
        wait
        "$0" server stop >/dev/null' "$latchkey" "$private_tmp"
    check grep -qx "conflict 1" printed
}

test_another_user_is_refused_in_a_private_tmp() {
    if [ "$(id -u)" -ne 0 ] || ! can_mount; then
        return 0
    fi
    if ! setpriv --reuid 65534 --clear-groups test -x "$latchkey"; then
        echo "left out: others may not run what is built here"
        return 0
    fi
    unset LATCHKEY_LOCAL_DIR
    mkdir -m 1777 service
    # shellcheck disable=SC2016 # the inner shell expands it
    # shellcheck disable=SC2086 # three words
    expect_exit 69 $private_tmp service "$latchkey" sh -c '
        setpriv --reuid 65534 --clear-groups "$0" run -u local: a touch ran
        code=$?
        setpriv --reuid 65534 --clear-groups "$0" server stop >/dev/null 2>&1
        exit $code' "$latchkey"
    expect_one_line
    expect_said "/tmp is private to this service"
    expect_said "LATCHKEY_LOCAL_DIR"
    check [ ! -e ran ]
}

# As under `sudo -E`.
test_a_folder_of_another_user_gets_advice_that_can_be_followed() {
    [ "$(id -u)" -eq 0 ] || return 0
    local theirs
    theirs=$(mktemp -d "$LATCHKEY_LOCAL_DIR/f.XXXX") # short, for the socket in it
    chown 65534 "$theirs"
    LATCHKEY_LOCAL_DIR=$theirs expect_refused 77 run -u local: a touch ran
    expect_said "sudo -u '#65534'"
    expect_said "unset LATCHKEY_LOCAL_DIR"
    ! grep -q remove said || fail "$(cat said)"
}

run_tests
