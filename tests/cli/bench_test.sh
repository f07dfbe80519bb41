# `latchkey bench`: figures of every workload, and nothing left.
# shellcheck shell=bash
source "${BASH_SOURCE%/*}/harness.sh"

test_every_workload_has_a_row_and_leaves_nothing() {
    local words
    expect_exit 0 "$latchkey" bench -t 50ms -T 3
    for words in "a question to the server" "write lock and unlock" "read lock and unlock" \
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
