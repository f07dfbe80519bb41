# `latchkey run` waits while the server goes away and comes back.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"
# shellcheck source=outage.sh
source "${BASH_SOURCE%/*}/outage.sh"

# A short one saves time: `run` notices an outage after it, and tries for as long to leave the queue.
export LATCHKEY_COMMAND_TIMEOUT=2s

expect_outlasts_outage() {
    end_server
    eventually grep -q 'still waiting for lock "a"' said
    serve
    eventually queues
    [ ! -e ran ] || fail "it ran beside the holder"
    free_lock a
    ends_with 0 "$queued"
    [ "$(cat ran)" = ran ] || fail "ran: $(cat ran)"
    expect_one_line
    check [ "$(grep -oF "unix://$socket" said | wc -l)" -eq 1 ]
    check [ "$(grep -o '(' said | wc -l)" -eq 1 ]
}

test_a_wait_outlasts_an_outage() {
    queue -w 200
    expect_outlasts_outage
}

test_a_wait_without_end_outlasts_an_outage() {
    queue
    expect_outlasts_outage
}

test_a_wait_outlasts_a_server_that_is_stopped() {
    queue
    kill -STOP "$server"
    eventually grep -q 'still waiting for lock "a"' said
    kill -CONT "$server"
    eventually queues
    free_lock a
    ends_with 0 "$queued"
    [ "$(cat ran)" = ran ] || fail "ran: $(cat ran)"
}

test_a_signal_ends_the_wait_for_a_server_that_is_away() {
    local began
    queue
    end_server
    eventually grep -q 'still waiting' said
    began=$SECONDS
    kill -TERM "$queued"
    ends_with 143 "$queued"
    [ $((SECONDS - began)) -lt 4 ] || fail "it took $((SECONDS - began)) s"
}

test_a_terminal_is_told_why_the_wait_goes_on() {
    choose_address
    serve
    hold_by_nobody a
    on_terminal run -u "$url" a true
    eventually grep -q 'waiting for a: held by' shown
    end_server
    eventually grep -q 'waiting for a: the server does not answer; waited' shown
    eventually grep -q "does not answer; waited [0-9.]*s (cannot connect to unix:" shown
    serve
    eventually sh -c "tail -c 150 shown | grep -q 'waiting for a: held by'"
    free_lock a
    ends_with 0 "$queued"
    ! grep -q 'still waiting' shown || fail "it was told twice: $(cat shown)"
}

run_tests
