# `latchkey run` is started while the server is away.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"
# shellcheck source=outage.sh
source "${BASH_SOURCE%/*}/outage.sh"

# open_later WORD…: starts `run WORD…` and waits until it has noticed that the server is away. Its pid is in $queued.
open_later() {
    choose_address
    begin "$latchkey" run -u "$url" "$@" a touch ran 2>said
    queued=$begun
    eventually grep -q 'waiting for the server' said
}

test_with_w_the_server_is_waited_for() {
    open_later -w 200
    serve
    ends_with 0 "$queued"
    check test -e ran
    expect_one_line
    expect_said "$socket"
}

test_with_a_server_timeout_the_server_is_waited_for() {
    open_later --server-timeout 200
    serve
    ends_with 0 "$queued"
    check test -e ran
}

test_otherwise_it_ends_with_69_at_once() {
    local words
    choose_address
    for words in "" "-n" "-w 0" "-n -w 100" "-n --server-timeout 100" "-w 100 --server-timeout 0"; do
        # shellcheck disable=SC2086
        expect_exit 69 timeout 60 "$latchkey" run -u "$url" $words a touch ran
        expect_one_line
    done
    [ ! -e ran ] || fail "it ran"
}

test_a_server_that_stays_away_is_69() {
    choose_address
    expect_exit 69 timeout 60 "$latchkey" run -u "$url" -w 0.5 a true
    [ "$(wc -l <said)" -eq 2 ] || fail "$(cat said)"
    expect_exit 69 timeout 60 "$latchkey" run -u "$url" -w 100 --server-timeout 0.5 a true
    expect_exit 69 timeout 60 "$latchkey" run -u "$url" -w 0.5 --server-timeout 100 a true
}

test_the_wait_for_the_server_is_part_of_the_wait() {
    local began=$SECONDS
    open_later -w 10
    kill -STOP "$queued"
    serve
    hold_by_nobody a
    until [ $((SECONDS - began)) -ge 10 ]; do sleep 0.1; done
    kill -CONT "$queued"
    began=$SECONDS
    ends_with 1 "$queued"
    [ $((SECONDS - began)) -lt 5 ] || fail "it waited for another $((SECONDS - began)) s"
    [ ! -e ran ] || fail "it ran"
}

test_a_server_that_refuses_is_not_waited_for() {
    start_server --requirepass secret
    eventually answers
    expect_exit 77 timeout 60 "$latchkey" run -u "$url" -w 1000 --server-timeout 1000 a true
    expect_one_line
    expect_exit 64 timeout 60 "$latchkey" run -u nonsense: -w 1000 --server-timeout 1000 a true
    expect_one_line
}

test_a_signal_ends_the_wait_for_the_server() {
    open_later -w 1000
    kill -TERM "$queued"
    ends_with 143 "$queued"
}

test_a_terminal_is_told_that_the_server_is_away() {
    choose_address
    on_terminal run -u "$url" -w 200 a true
    eventually grep -q 'waiting for the server, for [1-9]' shown
    serve
    ends_with 0 "$queued"
}

run_tests
