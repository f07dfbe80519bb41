# `latchkey bench` prints results of every workload, and leaves no lock behind.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

test_every_workload_has_a_row_and_leaves_nothing() {
    local words
    expect_exit 0 "$latchkey" bench -t 50ms -T 3
    for words in "request to the server" "write lock and unlock" "read lock and unlock" \
        "each thread its own lock" "write, all threads one lock" "read, all threads one lock"; do
        expect_printed "$words"
    done
    [ ! -s said ] || fail "something was said: $(cat said)"
    expect_exit 0 "$latchkey" ls
    [ ! -s printed ] || fail "something is left: $(cat printed)"
}

test_json_has_an_object_for_each_workload() {
    local name
    expect_exit 0 "$latchkey" bench --time 0.05 --threads 2 --json
    [ "$(wc -l <printed)" -eq 6 ] || fail "not six lines"
    for name in round-trip write read many-locks mutex readers; do
        grep -q "^{\"workload\":\"$name\",\"operations\":[1-9].*\"p50_us\":.*\"round_trips\":.*}$" printed ||
            fail "no object of $name in: $(cat printed)"
    done
}

test_each_thread_does_its_work_once_even_if_the_time_is_over() {
    expect_exit 0 "$latchkey" bench --time 1ms --threads 200 --json
    jq -se 'any(.[]; .workload == "many-locks" and .operations >= 200)' printed >/dev/null ||
        fail "fewer operations than threads: $(cat printed)"
}

test_a_signal_ends_it_and_leaves_nothing() {
    local name code
    for name in INT TERM; do
        begin "$latchkey" bench -t 2s >printed # the first workload takes no lock
        eventually "$latchkey" ls 'latchkey-bench:*'
        kill -s "$name" "$begun"
        code=$((128 + $(kill -l "$name")))
        ends_with "$code" "$begun"
        expect_exit 0 "$latchkey" ls
        [ ! -s printed ] || fail "something is left: $(cat printed)"
    done
}

test_a_signal_ends_it_while_somebody_else_has_the_lock() {
    begin "$latchkey" run latchkey-bench:0 sleep 60
    eventually "$latchkey" ls 'latchkey-bench:0'
    begin "$latchkey" bench -t 10ms
    eventually sh -c "'$latchkey' inspect latchkey-bench:0 | grep -q '1 wait'"
    kill "$begun"
    ends_with 143 "$begun"
}

test_it_ends_when_nobody_reads() {
    mkfifo pipe
    "$latchkey" bench -t 100ms -j >pipe 2>said &
    head -n 1 <pipe >first
    wait $!
    check [ $? -eq 141 ]
    [ ! -s said ] || fail "it said $(cat said)"
    grep -q round-trip first || fail "no first line: $(cat first)"
}

test_what_cannot_be_understood_is_64() {
    local words
    for words in "-t x" "-t 0" "-T 1" "-T 257" "-T x" "word"; do
        # shellcheck disable=SC2086
        expect_exit 64 "$latchkey" bench $words
        expect_one_line
    done
}

test_a_server_that_goes_away_is_told_in_one_line() {
    expect_exit 69 "$latchkey" bench -u unix:///no/such/socket
    expect_one_line
}

run_tests
