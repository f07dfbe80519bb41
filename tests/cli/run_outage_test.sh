# `latchkey run` waits while the server goes away and comes back.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"
# shellcheck source=outage.sh
source "${BASH_SOURCE%/*}/outage.sh"

queues() {
    "$latchkey" inspect -u "$url" a | grep -q '1 holds it, 1 wait'
}

# queue WORD…: `run WORD…` waits behind another holder of the lock. Its pid is in $queued, its stderr in the file
# `said`.
queue() {
    choose_address
    serve
    hold_by_nobody a
    begin "$latchkey" run -u "$url" "$@" a sh -c 'echo ran >>ran' 2>said
    queued=$begun
    eventually queues
}

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
    expect_said "$socket"
}

is_away() {
    ! "$latchkey" ls -u "$url"
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

test_a_wait_that_is_over_during_an_outage_is_69_and_the_outage_is_told_once() {
    queue -w 14
    end_server
    ends_with 69 "$queued"
    [ "$(grep -c 'still waiting' said)" -eq 1 ] || fail "$(cat said)"
    [ "$(wc -l <said)" -eq 2 ] || fail "$(cat said)"
    [ ! -e ran ] || fail "it ran"
}

test_a_wait_that_is_over_after_an_outage_is_a_conflict() {
    queue -w 12 -E 9
    end_server
    eventually grep -q 'still waiting' said
    serve
    ends_with 9 "$queued"
    [ ! -e ran ] || fail "it ran"
}

test_the_server_timeout_bounds_an_outage() {
    queue -w 1000 --server-timeout 7
    end_server
    ends_with 69 "$queued"
    expect_said 'still waiting'
    [ ! -e ran ] || fail "it ran"
}

test_with_a_server_timeout_of_0_an_outage_ends_the_wait() {
    queue --server-timeout 0
    end_server
    ends_with 69 "$queued"
    expect_one_line
}

test_the_server_timeout_begins_anew_with_each_outage() {
    queue --server-timeout 12
    end_server
    eventually grep -q 'still waiting' said
    serve
    eventually queues
    # By now the whole time has passed since the first outage.
    expect_exit 1 "$latchkey" run -u "$url" -w 8 a true
    end_server
    eventually is_away
    serve
    eventually queues
    free_lock a
    ends_with 0 "$queued"
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
    eventually grep -q "does not answer; waited [0-9.]*s (unix:" shown
    serve
    eventually sh -c "tail -c 150 shown | grep -q 'waiting for a: held by'"
    free_lock a
    ends_with 0 "$queued"
    ! grep -q 'still waiting' shown || fail "it was told twice: $(cat shown)"
}

run_tests
