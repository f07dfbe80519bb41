# `latchkey run` loses its lock: all processes of the command end before another holder gets the lock.
# shellcheck shell=bash disable=SC2317,SC2119
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

# A command with a child that ignores SIGTERM. Their pids are in `child` and `grandchild`.
cat >"$test_folder/stubborn" <<'END'
(trap "" TERM; echo "$BASHPID" >grandchild; while :; do sleep 0.01; done) &
echo $$ >child
wait
END
stubborn=(bash "$test_folder/stubborn")

# run_stubborn WORD…: starts `latchkey run WORD…` with that command in the background, and waits until it works.
run_stubborn() {
    begin "$latchkey" run "$@" "${stubborn[@]}" 2>said
    run=$begun
    eventually test -s child
    eventually test -s grandchild
}

expect_loss() {
    wait "$run"
    local code=$?
    [ "$code" -eq 79 ] || fail "ended with $code: $(cat said)"
    eventually is_dead "$(cat child)"
    eventually is_dead "$(cat grandchild)"
    expect_one_line
    expect_said "lost"
}

test_a_server_that_stops_for_longer_than_the_lease() {
    start_server
    run_stubborn -u "$url" --lease 0.6 a
    kill -STOP "$server"
    expect_loss
    kill -CONT "$server"
    expect_exit 0 "$latchkey" run -u "$url" -w 30 a true
}

test_a_server_that_is_killed() {
    local began
    start_server
    run_stubborn -u "$url" --lease 0.6 a
    began=$SECONDS
    kill -KILL "$server"
    expect_loss
    # It does not wait for the server: there is nothing to release.
    [ $((SECONDS - began)) -lt 4 ] || fail "it took $((SECONDS - began)) s"
}

test_a_server_that_is_away_for_less_than_the_lease_is_no_loss() {
    start_server
    "$latchkey" run -u "$url" --lease 4 a sh -c 'echo >up; while [ ! -e end ]; do sleep 0.01; done' &
    eventually test -e up
    kill -STOP "$server"
    # A request without an answer shows that the server is away.
    timeout 0.5 "$latchkey" ls -u "$url"
    kill -CONT "$server"
    eventually "$latchkey" ls -u "$url"
    echo >end
    wait "$!" || fail "ended with $?"
}

test_a_release_by_force_is_told_in_one_sentence() {
    run_stubborn a
    "$latchkey" release --yes a || fail "release: $?"
    expect_loss
    expect_said 'lock "a" is lost: its lease was not renewed in time, or it was released by force; ending the command'
}

test_a_line_that_cannot_be_written_is_no_reason_to_die() {
    truncate -s 1024K full
    (ulimit -f 1024 && exec "$latchkey" run a sleep 60 2>>full) &
    run=$!
    eventually "$latchkey" release --yes a
    wait "$run"
    check [ $? -eq 79 ]
}

# Nobody is left to end the command. latchkey-run(1) names this case.
test_a_command_that_ends_after_the_loss_is_a_loss_too() {
    mkfifo end
    begin "$latchkey" run --lease 0.5 a sh -c 'echo "$PPID" >guard; read -r line <end; echo >ended' 2>said
    run=$begun
    eventually test -s guard
    kill -STOP "$run" "$(cat guard)"
    expect_exit 0 "$latchkey" run -w 30 a true
    echo >end
    eventually test -e ended
    kill -CONT "$run" "$(cat guard)"
    wait "$run"
    [ $? -eq 79 ] || fail "not 79"
}

# The server is away only for the holder, and serves the next waiter.
test_the_command_has_ended_before_another_is_granted() {
    local next round
    start_server
    for round in 1 2 3; do
        rm -f child grandchild beside
        ask_server acl setuser holder on '>pw' '~*' '&*' '+@all' >/dev/null
        run_stubborn -u "unix://holder:pw@$socket" --lease 1.5 a
        # shellcheck disable=SC2016
        "$latchkey" run -u "$url" a sh -c '
            for pid in $(cat child grandchild); do
                if grep -q "^State:.[^Z]" "/proc/$pid/status"; then cat "/proc/$pid/stat" >>beside; fi
            done 2>/dev/null' &
        next=$!
        eventually sh -c "'$latchkey' inspect -u '$url' a | grep -q '1 wait'"
        ask_server acl setuser holder off >/dev/null
        ask_server client kill user holder >/dev/null
        wait "$next" || fail "round $round: the next ended with $?"
        [ ! -e beside ] || fail "round $round: not alone: $(cat beside)"
        wait "$run"
        [ $? -eq 79 ] || fail "round $round: not 79: $(cat said)"
        expect_one_line
    done
}

test_a_stopped_command_is_ended_too() {
    run_stubborn a
    kill -STOP "$(cat child)"
    "$latchkey" release --yes a || fail "release: $?"
    expect_loss
}

test_children_have_their_time_when_the_shell_has_died() {
    start_server
    # shellcheck disable=SC2016
    "$latchkey" run -u "$url" --lease 12 a sh -c '
        bash -c "trap \"sleep 0.2; echo >cleaned; exit\" TERM; echo >up; while :; do sleep 0.01; done"
        true' 2>said &
    run=$!
    eventually test -e up
    kill -KILL "$server"
    wait "$run"
    [ $? -eq 79 ] || fail "not 79: $(cat said)"
    check test -e cleaned
}

test_a_command_may_end_in_good_order() {
    "$latchkey" run a bash -c 'trap "echo >cleaned; exit 0" TERM; echo >up; while :; do sleep 0.01; done' \
        2>said &
    run=$!
    eventually test -e up
    "$latchkey" release --yes a || fail "release: $?"
    wait "$run"
    [ $? -eq 79 ] || fail "not 79: $(cat said)"
    check test -e cleaned
}

test_on_lost_kill_does_not_ask() {
    "$latchkey" run --on-lost kill a bash -c 'trap "echo >asked" TERM; echo >up; while :; do sleep 0.01; done' \
        2>said &
    run=$!
    eventually test -e up
    "$latchkey" release --yes a || fail "release: $?"
    wait "$run"
    [ $? -eq 79 ] || fail "not 79: $(cat said)"
    [ ! -e asked ] || fail "it was asked"
    expect_one_line
}

test_on_lost_term_is_the_default_and_kills_in_the_end() {
    run_stubborn --on-lost term a
    "$latchkey" release --yes a || fail "release: $?"
    expect_loss
}

ticks_of() {
    sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

test_on_lost_ignore_lets_the_command_go_on_and_costs_nothing() {
    local before
    "$latchkey" run --on-lost ignore a sh -c 'echo >up; while [ ! -e end ]; do sleep 0.01; done; exit 12' 2>said &
    run=$!
    eventually test -e up
    "$latchkey" release --yes a || fail "release: $?"
    "$latchkey" run -n a true || fail "it is not free"
    before=$(ticks_of "$run")
    "$latchkey" run b sleep 0.5
    [ $(($(ticks_of "$run") - before)) -lt 10 ] || fail "it spins: $(ticks_of "$run") ticks"
    echo >end
    wait "$run"
    [ $? -eq 12 ] || fail "not 12"
    [ ! -s said ] || fail "$(cat said)"
}

test_a_reader_of_stderr_that_sleeps_does_not_keep_the_command_alive() {
    mkfifo pipe
    exec 9<>pipe
    dd if=/dev/zero of=pipe bs=4096 count=64 oflag=nonblock conv=notrunc 2>/dev/null
    "$latchkey" run a "${stubborn[@]}" 2>pipe 9>&- &
    run=$!
    eventually test -s grandchild
    "$latchkey" release --yes a 9>&- || fail "release: $?"
    eventually is_dead "$(cat child)"
    eventually is_dead "$(cat grandchild)"
    cat <&9 >drained &
    wait "$run"
    [ $? -eq 79 ] || fail "not 79"
    kill "$!"
    exec 9<&-
}

test_a_reader_of_stderr_that_has_gone_does_not_keep_the_command_alive() {
    {
        "$latchkey" run a "${stubborn[@]}"
        echo $? >code
    } 2>&1 | true &
    eventually test -s grandchild
    "$latchkey" release --yes a || fail "release: $?"
    eventually test -s code
    [ "$(cat code)" -eq 79 ] || fail "ended with $(cat code)"
    eventually is_dead "$(cat grandchild)"
}

test_a_server_that_dies_ends_the_wait_with_a_reason() {
    start_server
    run_stubborn -u "$url" a
    "$latchkey" run --server-timeout 1 -u "$url" a true 2>why &
    eventually sh -c "'$latchkey' inspect -u '$url' a | grep -q '1 wait'"
    kill -KILL "$server"
    wait "$!"
    [ $? -eq 69 ] || fail "not 69: $(cat why)"
    grep -q "$socket" why || fail "no reason: $(cat why)"
    kill -KILL "$run" "$(cat grandchild)"
    eventually is_dead "$(cat child)"
}

test_a_signal_ends_the_wait_while_the_server_is_away() {
    start_server
    run_stubborn -u "$url" a
    "$latchkey" run -u "$url" a true &
    eventually sh -c "'$latchkey' inspect -u '$url' a | grep -q '1 wait'"
    kill -STOP "$server"
    kill -TERM "$!"
    wait "$!"
    [ $? -eq 143 ] || fail "not 143"
    kill -CONT "$server"
    kill -TERM "$run"
    kill -KILL "$(cat grandchild)"
    wait "$run"
    eventually sh -c "'$latchkey' run -u '$url' -n a true"
}

test_a_signal_ends_a_connect_that_hangs() {
    start_server
    kill -STOP "$server"
    "$latchkey" run -u "$url" a true 2>said &
    run=$!
    eventually grep -q latchkey "/proc/$run/comm"
    # shellcheck disable=SC2016
    eventually sh -c 'ls -l "/proc/$1/fd" | grep -q socket:' - "$run"
    kill -TERM "$run"
    wait "$run"
    [ $? -eq 143 ] || fail "not 143: $(cat said)"
}

run_tests
