# `latchkey run` releases its lock while the server is away.
# shellcheck shell=bash disable=SC2317,SC2119
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"
# shellcheck source=outage.sh
source "${BASH_SOURCE%/*}/outage.sh"

# run_without SIGNAL: the command of `run` sends the signal to the server, and exits with 5.
run_without() {
    start_server
    eventually answers
    expect_exit 5 "$latchkey" run -u "$url" a sh -c "kill -s $1 $server; exit 5"
}

test_a_server_that_does_not_answer_is_told_of_with_the_end_of_the_lease() {
    run_without STOP
    expect_one_line
    grep -qE 'lock "a" could not be released; it becomes free when its lease ends, in [12][0-9]s \(unix:' said ||
        fail "$(cat said)"
}

test_a_server_that_has_gone_is_told_of_too() {
    run_without KILL
    expect_one_line
    expect_said 'lock "a" could not be released; it becomes free when its lease ends, in '
}

test_a_lease_that_ends_during_the_release_is_no_loss() {
    start_server
    eventually answers
    expect_exit 5 "$latchkey" run -u "$url" --lease 3 --on-lost kill a sh -c "kill -STOP $server; exit 5"
    expect_one_line
    expect_said 'lock "a" could not be released before its lease ended'
}

test_a_server_that_answers_in_time_is_not_told_of() {
    start_server
    eventually answers
    begin "$latchkey" run -u "$url" a sh -c "kill -STOP $server; echo \$\$ >child; exit 5" 2>said
    eventually test -s child
    eventually is_gone "$(cat child)"
    kill -CONT "$server"
    ends_with 5 "$begun"
    [ ! -s said ] || fail "$(cat said)"
}

test_a_terminal_is_told_while_the_release_is_tried() {
    start_server
    eventually answers
    on_terminal run -u "$url" a "sh -c 'kill -STOP $server'"
    eventually grep -q 'releasing a: the server does not answer' shown
    kill -CONT "$server"
    ends_with 0 "$queued"
    ! grep -q 'could not be released' shown || fail "$(cat shown)"
}

run_tests
