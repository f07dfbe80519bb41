# Signals to `latchkey run`: while it waits, while the command runs, and SIGKILL.
# shellcheck shell=bash disable=SC2317,SC2016,SC2119
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

# A shell starts background commands with SIGINT ignored.
as_in_front=(env --default-signal=INT --default-signal=QUIT)

# killed_by FILE COMMAND…: writes the number of the signal that killed the command, or 0, to FILE, and its pid to
# FILE.pid.
killed_by() {
    perl -e '
        my $file = shift;
        my $pid = fork // die;
        if (!$pid) { exec @ARGV or die }
        open my $out, ">", "$file.new"; print $out "$pid\n"; close $out;
        rename "$file.new", "$file.pid";
        waitpid $pid, 0;
        my $by = $? & 127;
        open $out, ">", $file; print $out "$by\n"; close $out' "$@"
}

test_signals_reach_all_processes_of_the_command() {
    local name pid
    cat >listen <<'END'
for name in TERM INT HUP USR1 USR2 QUIT; do
    trap "echo $name >>heard.$1" "$name"
done
echo >"ready.$1"
while [ ! -e stop ]; do sleep 0.01; done
END
    # shellcheck disable=SC2016
    "${as_in_front[@]}" "$latchkey" run a bash -c '
        trap : TERM INT HUP USR1 USR2 QUIT
        for who in one other; do env --default-signal=INT,QUIT bash listen $who & done
        until [ -e stop ]; do sleep 0.01; done' &
    pid=$!
    eventually test -e ready.one
    eventually test -e ready.other
    for name in TERM INT HUP USR1 USR2 QUIT; do
        kill -s "$name" "$pid"
        eventually grep -qx "$name" heard.one
        eventually grep -qx "$name" heard.other
    done
    echo >stop
    wait "$pid" || fail "ended with $?"
}

test_each_signal_is_forwarded() {
    local name pid
    for name in INT HUP USR1 USR2 QUIT TERM; do
        rm -f ready
        # shellcheck disable=SC2016
        "${as_in_front[@]}" "$latchkey" run a bash -c '
            trap "exit 33" "$1"; echo >ready; while :; do sleep 0.01; done' - "$name" &
        pid=$!
        eventually test -e ready
        kill -s "$name" "$pid"
        wait "$pid"
        [ $? -eq 33 ] || fail "$name did not come through"
    done
}

test_a_command_that_dies_of_a_forwarded_signal_is_128_and_its_number() {
    local pid
    "$latchkey" run a sh -c 'echo >ready; exec sleep 1000' &
    pid=$!
    eventually test -e ready
    kill -USR1 "$pid"
    wait "$pid"
    [ $? -eq 138 ] || fail "not 138"
    expect_exit 0 "$latchkey" run -n a true
}

# The child process exists, but has not reached its exec: see late_exec.c.
test_a_signal_that_comes_before_the_exec_is_forwarded_too() {
    local preloaded=${latchkey%/cli/latchkey}/tests/liblk_late_exec.so
    check test -e "$preloaded"
    begin env ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" LD_PRELOAD="$preloaded" \
        "$latchkey" run a true
    eventually test -e forked
    kill -TERM "$begun"
    ends_with 143 "$begun"
    expect_exit 0 "$latchkey" run -n a true
}

test_a_signal_ends_the_wait_and_leaves_no_waiter() {
    local name
    hold a
    for name in TERM INT HUP QUIT USR1 USR2; do
        (
            ulimit -c 0
            killed_by "by.$name" "${as_in_front[@]}" "$latchkey" run a touch ran
        ) &
        eventually test -e "by.$name.pid"
        eventually waits a 1
        kill -s "$name" "$(cat "by.$name.pid")"
        eventually test -s "by.$name"
        [ "$(kill -l "$(cat "by.$name")")" = "$name" ] || fail "$name: died of $(cat "by.$name")"
        waits a 0 || fail "$name: $("$latchkey" inspect a)"
    done
    let_go
    [ ! -e ran ] || fail "its command ran"
    expect_exit 0 "$latchkey" run -n a true
}

test_what_was_ignored_stays_ignored() {
    local pid
    hold a
    env --ignore-signal=HUP "$latchkey" run a sh -c 'kill -HUP $$; echo went on' >later &
    pid=$!
    eventually waits a 1
    kill -HUP "$pid"
    echo >stop
    wait "$pid" || fail "ended with $?"
    grep -q 'went on' later || fail "$(cat later)"
    wait
}

test_a_caller_that_ignores_its_children_is_answered_too() {
    expect_exit 3 timeout 20 env --ignore-signal=CHLD "$latchkey" run a sh -c 'exit 3'
}

# The blocked and ignored signals among 1 to 31. The C library may use those above.
standard_signals() {
    local line
    while read -r _ line; do
        printf '%x\n' $((0x$line & 0x7fffffff))
    done
}

test_a_child_inherits_the_signals_as_they_came() {
    local words=(grep -E '^Sig(Blk|Ign)' /proc/self/status)
    "$latchkey" run a "${words[@]}" | standard_signals >under
    "${words[@]}" | standard_signals >plain
    check cmp under plain
    env --ignore-signal=CHLD,USR1 "$latchkey" run a "${words[@]}" | standard_signals >under
    env --ignore-signal=CHLD,USR1 "${words[@]}" | standard_signals >plain
    check cmp under plain
    [ "$(wc -l <under)" -eq 2 ] || fail "nothing was compared"
}

test_the_private_server_can_be_ended_when_run_started_it() {
    local folder pid
    folder=$(mktemp -d "$test_folder/own.XXXX")
    LATCHKEY_LOCAL_DIR=$folder "$latchkey" run a true || fail "ended with $?"
    eventually test -s "$folder/server.pid"
    pid=$(cat "$folder/server.pid")
    kill -TERM "$pid"
    eventually is_dead "$pid"
}

test_kill_of_run_kills_the_command_and_the_lease_frees_the_lock() {
    local pid
    # shellcheck disable=SC2016
    "$latchkey" run --lease 0.5 a sh -c 'echo $$ >child; exec sleep 1000' &
    pid=$!
    eventually test -s child
    kill -KILL "$pid"
    eventually is_dead "$(cat child)"
    expect_exit 0 "$latchkey" run -w 30 a true
    wait "$pid"
    [ $? -eq 137 ] || fail "not killed"
}

# A shell with a child. Their pids are in `child` and `grandchild`.
family='sleep 1000 & echo $! >grandchild; echo $$ >child; wait'

test_kill_of_run_kills_what_the_command_has_started() {
    begin "$latchkey" run --lease 0.5 a sh -c "$family"
    eventually test -s child
    kill -KILL "$begun"
    eventually is_dead "$(cat child)"
    eventually is_dead "$(cat grandchild)"
    expect_exit 0 "$latchkey" run -w 30 a true
}

test_kill_of_the_group_of_run_does_so_too() {
    begin "$latchkey" run --lease 0.5 a sh -c "$family"
    eventually test -s child
    kill -KILL -- "-$begun"
    eventually is_dead "$(cat child)"
    eventually is_dead "$(cat grandchild)"
}

test_what_the_command_leaves_behind_goes_on() {
    expect_exit 0 "$latchkey" run a sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >left'
    expect_exit 0 "$latchkey" run a true
    ! is_dead "$(cat left)" || fail "it was killed"
    kill "$(cat left)"
}

test_nothing_of_run_is_left_when_it_has_ended() {
    # Its output ends with it, and no process with its command line is left.
    local name=left-$$
    [ "$("$latchkey" run "$name" echo x | cat)" = x ] || fail "no x"
    ! grep -lsz "^$name\$" /proc/[0-9]*/cmdline || fail "something is left"
}

test_a_command_that_stops_keeps_its_lock_and_goes_on() {
    local pid
    # shellcheck disable=SC2016
    setsid --wait "$latchkey" run --lease 1 a sh -c 'echo $$ >child; kill -STOP $$; echo >on' &
    pid=$!
    eventually test -s child
    eventually grep -q '^State:.T' "/proc/$(cat child)/status"
    for _ in 1 2; do
        expect_exit 1 "$latchkey" run -w 1 a true
    done
    kill -CONT "$(cat child)"
    wait "$pid" || fail "ended with $?"
    check test -e on
}

test_a_signal_ends_the_wait_for_a_server_that_does_not_take_the_lock_back() {
    local pid
    start_server
    killed_by by "$latchkey" run -u "$url" a sh -c 'echo $$ >child; while [ ! -e end ]; do sleep 0.01; done' &
    eventually test -s child
    pid=$(cat by.pid)
    kill -STOP "$server"
    echo >end
    eventually is_gone "$(cat child)" # earlier, the signal would go to the command
    kill -TERM "$pid"
    eventually test -s by
    kill -CONT "$server"
    check [ "$(cat by)" = 15 ]
}

run_tests
