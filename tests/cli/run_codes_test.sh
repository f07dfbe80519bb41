# The exit codes of `latchkey run`.
# shellcheck shell=bash
source "${BASH_SOURCE%/*}/harness.sh"

test_the_status_of_the_command_is_passed_through() {
    expect_exit 0 "$latchkey" run a true
    expect_exit 1 "$latchkey" run a false
    expect_exit 42 "$latchkey" run a sh -c 'exit 42'
}

test_death_by_a_signal_is_128_and_its_number() {
    expect_exit 137 "$latchkey" run a sh -c 'kill -KILL $$'
    expect_exit 143 "$latchkey" run a sh -c 'kill -TERM $$'
}

test_a_command_that_is_not_there_is_127() {
    expect_exit 127 "$latchkey" run a no-such-command
    expect_one_line
    expect_said no-such-command
}

test_a_command_that_cannot_be_run_is_126() {
    : >plain
    expect_exit 126 "$latchkey" run a ./plain
    expect_one_line
}

test_a_conflict_is_1_or_what_was_asked_for() {
    mkfifo stop
    "$latchkey" run a sh -c 'read -r line <stop' &
    eventually "$latchkey" ls a
    expect_exit 1 "$latchkey" run -n a true
    expect_exit 1 "$latchkey" run --nonblock a true
    expect_exit 1 "$latchkey" run -w 0 a true
    expect_exit 1 "$latchkey" run -w 0.05 a true
    expect_exit 7 "$latchkey" run -n -E 7 a true
    expect_exit 0 "$latchkey" run --timeout 50ms --conflict-exit-code 0 a false
    echo >stop
    wait
    expect_exit 0 "$latchkey" run -n a true
}

# Two readers that both want to write would wait for each other, so the second fails at once.
test_a_conflict_of_upgrades_is_a_conflict_too() {
    export latchkey
    cat >second <<'END'
"$latchkey" run --owner one a true &
until "$latchkey" inspect a | grep -q '1 wait'; do sleep 0.01; done
"$latchkey" run --owner other -E 9 a true
echo $? >code
kill $!
END
    expect_exit 0 "$latchkey" run -s --owner one a "$latchkey" run -s --owner other a sh second
    [ "$(cat code)" -eq 9 ] || fail "ended with $(cat code): $(cat said)"
    expect_one_line
}

test_a_command_line_that_makes_no_sense_is_64() {
    local words
    for words in "run" "run a" "run --no-such a true" "run -w soon a true" "run -w -1 a true" \
        "run -w inf a true" "run -w nan a true" "run -w 1e400 a true" "run -E 256 a true" "run -E x a true" "run -E +5 a true" "run --lease 1ms a true" "run --policy odd a true" \
        "run --on-lost odd a true" "run a -c" "run -c true a true" "no-such" ""; do
        # shellcheck disable=SC2086
        expect_exit 64 "$latchkey" $words
        expect_one_line
    done
}

test_a_server_that_cannot_be_reached_is_69() {
    expect_exit 69 "$latchkey" run -u unix:///no/such/socket a true
    expect_one_line
    expect_said /no/such/socket
}

run_tests
