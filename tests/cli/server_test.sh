# `latchkey server`: the private server of local:. Each test has a server in a folder of its own.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

# A short path, for the socket. However the test ends, no server is left.
own_folder() {
    LATCHKEY_LOCAL_DIR=$(mktemp -d "${TMPDIR:-/tmp}/latchkey.XXXXXX") || fail "no folder"
    export LATCHKEY_LOCAL_DIR
    trap end_server EXIT
}

pid_of_server() {
    cat "$LATCHKEY_LOCAL_DIR/server.pid"
}

is_free() {
    flock --nonblock "$LATCHKEY_LOCAL_DIR" true
}

end_server() {
    local _
    for _ in {1..200}; do
        is_free && break
        kill -KILL "$(pid_of_server)"
        sleep 0.05
    done 2>/dev/null
    rm -rf "$LATCHKEY_LOCAL_DIR"
}

test_status_says_where_which_and_since_when() {
    own_folder
    expect_exit 0 "$latchkey" server start
    expect_printed "was started"
    expect_exit 0 "$latchkey" server status
    expect_printed "folder   $LATCHKEY_LOCAL_DIR"
    expect_printed "socket   $LATCHKEY_LOCAL_DIR/server.sock"
    expect_printed "pid      $(pid_of_server)"
    expect_printed "locks    0"
    grep -qE '^version  (redis|valkey) [0-9]+\.[0-9]+' printed || fail "$(cat printed)"
    grep -qE '^since    20[0-9-]+T[0-9:]+[+-][0-9]+$' printed || fail "$(cat printed)"
    expect_exit 0 "$latchkey" server status --json
    check [ "$(jq -r '[.running, .folder, .pid, .locks] | @tsv' printed)" = \
        "$(printf 'true\t%s\t%s\t0' "$LATCHKEY_LOCAL_DIR" "$(pid_of_server)")" ]
}

test_status_counts_the_locks() {
    own_folder
    mkfifo stop
    "$latchkey" run a "$latchkey" run b sh -c 'read -r line <stop' &
    eventually "$latchkey" ls b
    expect_exit 0 "$latchkey" server status
    expect_printed "locks    2"
    expect_exit 0 "$latchkey" server status --prefix other
    expect_printed "locks    0"
    echo >stop
    wait
}

test_status_starts_no_server_and_makes_no_folder() {
    own_folder
    expect_exit 1 "$latchkey" server status
    expect_printed "no private server is running"
    check is_free
    check rmdir "$LATCHKEY_LOCAL_DIR"
    expect_exit 1 "$latchkey" server status
    expect_exit 0 "$latchkey" server stop
    expect_exit 1 "$latchkey" server status --json
    check [ "$(jq .running printed)" = false ]
    [ ! -e "$LATCHKEY_LOCAL_DIR" ] || fail "there is a folder"
}

test_a_folder_whose_name_is_no_text_has_json_all_the_same() {
    own_folder
    local LATCHKEY_LOCAL_DIR=$LATCHKEY_LOCAL_DIR/$'by\xffte'
    expect_exit 1 "$latchkey" server status --json
    check [ "$(jq -r '.folder' printed)" = "${LATCHKEY_LOCAL_DIR/$'\xff'/?}" ]
}

test_a_server_that_runs_is_not_started_again() {
    local pid
    own_folder
    expect_exit 0 "$latchkey" server start
    pid=$(pid_of_server)
    expect_exit 0 "$latchkey" server start
    expect_printed "was already running"
    expect_printed "(pid $pid)"
    check [ "$(pid_of_server)" = "$pid" ]
}

test_stop_ends_it_and_says_so() {
    own_folder
    expect_exit 0 "$latchkey" server start
    expect_exit 0 "$latchkey" server stop
    expect_printed "has stopped"
    check is_free
    expect_exit 1 "$latchkey" server status
    expect_exit 0 "$latchkey" server stop
    expect_printed "no private server is running"
}

test_locks_are_there_again_after_a_stop() {
    own_folder
    mkfifo stop
    "$latchkey" run a sh -c 'echo >held; read -r line <stop' &
    eventually test -e held
    expect_exit 0 "$latchkey" server stop
    expect_printed "has stopped"
    expect_exit 1 "$latchkey" run -n a true
    echo >stop
    wait $! || fail "the lock was lost"
}

test_a_server_that_does_not_answer_is_69() {
    own_folder
    expect_exit 0 "$latchkey" server start
    kill -STOP "$(pid_of_server)"
    expect_exit 69 "$latchkey" server status
    expect_one_line
    expect_said "pid $(pid_of_server)"
    expect_exit 69 "$latchkey" server stop
    expect_one_line
    expect_said "kill"
}

test_a_folder_that_is_open_to_others_is_77() {
    own_folder
    chmod 777 "$LATCHKEY_LOCAL_DIR"
    expect_exit 77 "$latchkey" server status
    expect_one_line
    expect_exit 77 "$latchkey" server stop
    expect_exit 77 "$latchkey" server start
    expect_one_line
}

test_a_command_line_that_makes_no_sense_is_64() {
    local words
    for words in "server" "server restart" "server start stop" "server -u local: status"; do
        # shellcheck disable=SC2086
        expect_exit 64 "$latchkey" $words
        expect_one_line
    done
    LATCHKEY_LOCAL_DIR=relative expect_exit 64 "$latchkey" server status
    expect_one_line
}

run_tests
