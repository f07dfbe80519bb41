# How long `latchkey run` waits while the server is away: -w and --server-timeout.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"
# shellcheck source=outage.sh
source "${BASH_SOURCE%/*}/outage.sh"

# A short one saves time: `run` notices an outage after it, and tries for as long to leave the queue.
export LATCHKEY_COMMAND_TIMEOUT=2s

# ends_in_time CODE SECONDS: `run` ends in less than this, with the code, and has run nothing.
ends_in_time() {
    local began=$SECONDS
    ends_with "$1" "$queued"
    [ $((SECONDS - began)) -lt "$2" ] || fail "it took $((SECONDS - began)) s"
    [ ! -e ran ] || fail "it ran"
}

is_away() {
    ! "$latchkey" ls -u "$url"
}

test_a_wait_that_is_over_during_an_outage_is_69_and_the_outage_is_told_once() {
    queue -w 10
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

# The command_timeout is longer than each limit here: it must not matter.
test_the_server_timeout_bounds_an_outage_whatever_the_command_timeout_is() {
    LATCHKEY_COMMAND_TIMEOUT=60s queue -w 1000 --server-timeout 3
    end_server
    ends_in_time 69 40
    expect_one_line
}

test_the_server_timeout_bounds_a_silence_whatever_the_command_timeout_is() {
    LATCHKEY_COMMAND_TIMEOUT=60s queue --server-timeout 3
    kill -STOP "$server"
    ends_in_time 69 40
    expect_one_line
}

test_a_wait_ends_in_time_whatever_the_command_timeout_is() {
    LATCHKEY_COMMAND_TIMEOUT=60s queue -w 10
    kill -STOP "$server"
    ends_in_time 69 50
    expect_one_line
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

run_tests
