# The command ends before another holder gets the lock, whatever happens to `latchkey run`.
# shellcheck shell=bash disable=SC2317,SC2016,SC2119
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

# begin_beats WORD…: starts `latchkey run WORD…` with a command that works all the time, and waits until it works.
begin_beats() {
    begin "$latchkey" run "$@" sh -c 'echo "$PPID" >guard; echo $$ >child; exec '"$beat" 2>said
    run=$begun
    eventually test -s beats
}

# The next holder works only after the first has ended, is stopped, or has been sent SIGKILL (signal 9): then it
# ends as soon as it gets CPU, without another instruction. And the first does not go on.
# expect_next_alone WORD…: the next is `latchkey run WORD…`.
expect_next_alone() {
    mv said said.first
    expect_exit 0 "$latchkey" run "$@" -w 60 a sh -c '
        cat "/proc/$(cat child)/status" >status 2>/dev/null
        if grep -q "^State:.[^ZXT]" status && ! grep -q "^SigPnd:.*[13579bdf]..$" status; then mv status beside; fi
        wc -l <beats >before'
    mv said.first said
    [ ! -e beside ] || fail "the first is at work beside the next: $(cat beside)"
    kill -CONT "$run" 2>/dev/null
    eventually is_dead "$(cat child)"
    wc -l <beats | cmp - before || fail "the first went on"
}

stop_with() {
    begin_beats --lease 6 a
    kill -s "$1" "$run"
    eventually grep -q '^State:.T' "/proc/$run/status"
    expect_next_alone
    ends_with 79 "$run"
    expect_one_line
}

test_run_stopped_by_sigstop() {
    stop_with STOP
}

test_run_stopped_by_sigttin() {
    stop_with TTIN
}

test_run_stopped_by_sigttou() {
    stop_with TTOU
}

# `run` itself is not stopped: it stops its command, and keeps the lock.
test_a_stop_of_run_without_a_terminal_is_passed_on() {
    begin_beats --lease 10 a
    kill -TSTP "$run"
    eventually grep -q '^State:.T' "/proc/$(cat child)/status"
    wc -l <beats >before
    expect_exit 1 "$latchkey" run -w 11 a true
    wc -l <beats | cmp - before || fail "it went on"
    kill -CONT "$run"
    eventually sh -c '! wc -l <beats | cmp -s - before'
    kill -TERM "$run"
    ends_with 143 "$run"
}

test_the_whole_job_stopped_by_sigstop() {
    begin_beats --lease 6 a
    kill -STOP -- "-$run"
    eventually grep -q '^State:.T' "/proc/$run/status"
    expect_next_alone
    ends_with 79 "$run"
}

test_run_killed() {
    begin_beats --lease 6 a
    kill -KILL "$run"
    expect_next_alone
    ends_with 137 "$run"
}

test_the_guard_killed() {
    begin_beats --lease 30 a
    kill -KILL "$(cat guard)"
    ends_with 70 "$run"
    is_dead "$(cat child)" || fail "the command goes on"
    expect_one_line
    expect_said "guard"
    expect_exit 0 "$latchkey" run -n a true
}

test_the_guard_killed_ends_what_the_command_has_started_too() {
    begin "$latchkey" run a sh -c 'echo "$PPID" >guard; sleep 1000 & echo $! >grandchild; wait' 2>said
    eventually test -s grandchild
    kill -KILL "$(cat guard)"
    ends_with 70 "$begun"
    is_dead "$(cat grandchild)" || fail "it goes on"
}

# As by `pkill -KILL latchkey`, but only here. If that killed the guard too, nobody would end the grandchild.
test_run_killed_by_its_name_ends_what_the_command_has_started() {
    local named
    begin "$latchkey" run --lease 6 a sh -c 'echo "$PPID" >guard; sleep 1000 & echo $! >grandchild; wait'
    eventually test -s grandchild
    named=$(pgrep latchkey | grep -xE "$begun|$(cat guard)")
    [ "$named" = "$begun" ] || fail "its name is $(cat "/proc/$(cat guard)/comm")"
    kill -KILL "$named"
    ends_with 137 "$begun"
    eventually is_dead "$(cat grandchild)"
}

# The guard is in no group of the test: if the test fails, it must not stay stopped.
stop_guard() {
    guard=$(cat guard)
    trap 'kill -CONT "$guard" 2>/dev/null; end_started' EXIT
    kill -STOP "$guard"
    eventually grep -q '^State:.T' "/proc/$guard/status"
}

# begin_frozen_guard WORD…: as begin_beats, and stops the guard.
begin_frozen_guard() {
    begin_beats "$@"
    stop_guard
}

# expect_frozen_end: `run` alone has ended the command, and the guard with it.
expect_frozen_end() {
    ends_with 79 "$run"
    is_dead "$(cat child)" || fail "the command goes on"
    is_dead "$(cat guard)" || fail "the guard is left"
    expect_one_line
    expect_said "lost"
}

test_the_guard_stopped_and_the_lock_released_by_force() {
    local how
    for how in term kill; do
        rm -f beats guard child
        begin_frozen_guard --lease 60 --on-lost "$how" a
        "$latchkey" release --yes a || fail "release: $?"
        expect_frozen_end
    done
}

test_the_guard_stopped_and_the_server_stopped_past_the_lease() {
    start_server
    begin_frozen_guard -u "$url" --lease 6 a
    kill -STOP "$server"
    expect_frozen_end
    kill -CONT "$server"
    expect_exit 0 "$latchkey" run -u "$url" -w 60 a true
}

# Only the holder is cut off: the server grants the lock to the next waiter as soon as the lease has ended.
test_the_guard_stopped_and_the_holder_cut_off() {
    start_server
    ask_server acl setuser holder on '>pw' '~*' '&*' '+@all' >/dev/null
    begin_frozen_guard -u "unix://holder:pw@$socket" --lease 6 a
    ask_server acl setuser holder off >/dev/null
    ask_server client kill user holder >/dev/null
    expect_next_alone -u "$url"
    expect_frozen_end
}

# The command itself stops the guard, perhaps before the guard has reported that the command has begun.
test_the_guard_stopped_by_the_command() {
    start_server
    begin "$latchkey" run -u "$url" --lease 6 a sh -c 'echo $$ >child; echo "$PPID" >guard; kill -STOP "$PPID"; exec '"$beat" 2>said
    run=$begun
    eventually test -s beats
    stop_guard
    kill -KILL "$server"
    expect_frozen_end
}

# What the command has started ends too, in a session of its own as well. A daemon goes on.
test_the_guard_stopped_and_a_loss_of_all_processes() {
    begin "$latchkey" run a bash -c '
        (setsid sh -c "echo \$\$ >daemon; exec sleep 1000" &)
        setsid --wait sh -c "echo \$\$ >other; exec sleep 1000" &
        sleep 1000 & echo $! >same
        echo "$PPID" >guard; wait' 2>said
    for file in daemon other same guard; do
        eventually test -s "$file"
    done
    eventually grep -q sleep "/proc/$(cat daemon)/comm"
    stop_guard
    "$latchkey" release --yes a || fail "release: $?"
    ends_with 79 "$begun"
    is_dead "$(cat same)" || fail "a process goes on"
    is_dead "$(cat other)" || fail "a process with a session of its own goes on"
    ! is_dead "$(cat daemon)" || fail "the daemon was killed"
    kill "$(cat daemon)"
}

test_the_guard_stopped_does_not_matter_to_a_command_that_ends() {
    local how
    mkfifo go
    for how in term ignore; do
        begin "$latchkey" run --on-lost "$how" a sh -c 'echo "$PPID" >guard; read -r line <go; exit 7' 2>said
        eventually test -s guard
        stop_guard
        echo >go
        ends_with 7 "$begun"
        [ ! -s said ] || fail "$(cat said)"
        expect_exit 0 "$latchkey" run -n a true
        rm guard
    done
}

# A machine that sleeps stops all processes, and continues them after their leases have ended.
test_all_stopped_and_continued_as_by_a_machine_that_sleeps() {
    begin_beats --lease 6 a
    kill -STOP "$(cat guard)" "$run" "$(cat child)"
    eventually grep -q '^State:.T' "/proc/$(cat guard)/status"
    wc -l <beats >before
    expect_exit 0 "$latchkey" run -w 60 a true
    kill -CONT "$(cat guard)"
    eventually is_dead "$(cat child)"
    kill -CONT "$run"
    ends_with 79 "$run"
    wc -l <beats | cmp - before || fail "it went on"
}

# stutter PID COUNT: stops the process nearly all the time, as if it got no CPU.
stutter() {
    perl -e '
        my ($pid, $times) = @ARGV;
        for (1 .. $times) {
            kill STOP => $pid or exit;
            select undef, undef, undef, rand 1.0;
            kill CONT => $pid;
            select undef, undef, undef, rand 0.02;
        }' "$1" "$2"
}

test_a_run_that_gets_no_cpu() {
    local one other
    cat >work <<'END'
open my $acts, ">>", "acts" or die;
for (1 .. 100) { syswrite $acts, "$$\n"; select undef, undef, undef, 0.01 }
END
    for _ in 1 2 3; do
        begin "$latchkey" run --lease 0.4 a perl work 2>/dev/null
        one=$begun
        begin "$latchkey" run --lease 0.4 a perl work 2>/dev/null
        other=$begun
        stutter "$one" 5 &
        stutter "$other" 5 &
        wait "$one" "$other"
    done
    # Nobody acts again after another has begun: the lines of each process are side by side.
    [ -z "$(uniq acts | sort | uniq -d)" ] || fail "two at once: $(uniq acts | tr '\n' ' ')"
}

# `run` gets no CPU between the grant and the start of its command: see stopped_fork.c. It must not start the command
# under a lease that is over; it queues again.
test_a_run_that_gets_no_cpu_before_its_command_begins() {
    local late
    expect_exit 0 "$latchkey" run a true # the server runs now: the first fork is that of the guard
    LD_PRELOAD=${latchkey%/cli/latchkey}/tests/liblk_stopped_fork.so \
        begin "$latchkey" run --lease 0.5 a sh -c 'echo late >>acts' 2>said
    late=$begun
    eventually grep -q '^State:.T' "/proc/$late/status"
    mkfifo go
    begin "$latchkey" run a sh -c 'echo begins >>acts; read -r line <go; echo ends >>acts'
    eventually test -s acts
    kill -CONT "$late"
    eventually waits a 1
    echo >go
    ends_with 0 "$begun"
    ends_with 0 "$late"
    printf 'begins\nends\nlate\n' | cmp - acts || fail "$(cat acts)"
}

# Each of these starts a process that works on, writes its pid to `other`, and waits for it.
other_group='set -m; sleep 1000 & echo $! >other; wait'
other_session='setsid --wait sh -c "echo \$\$ >other; exec sleep 1000"'
other_terminal='script -qec "echo \$\$ >other; exec sleep 1000" /dev/null'
nested='exec "$0" run b sh -c "echo \$\$ >other; exec sleep 1000"'
orphan='(sleep 1000 & echo $! >other); exec sleep 1000'

lose_with() {
    begin "$latchkey" run "${@:2}" a bash -c "$1" "$latchkey" 2>said
    eventually test -s other
    "$latchkey" release --yes a || fail "release: $?"
    ends_with 79 "$begun"
    is_dead "$(cat other)" || fail "it goes on: $(ps -o pid,ppid,sid,stat,args -p "$(cat other)")"
}

test_a_loss_ends_processes_in_other_groups() {
    lose_with "$other_group"
}

test_a_loss_ends_processes_in_other_sessions() {
    lose_with "$other_session"
}

test_a_loss_ends_processes_in_other_terminals() {
    lose_with "$other_terminal"
}

test_a_loss_ends_a_run_below_and_its_command() {
    lose_with "$nested"
}

test_a_loss_ends_orphans() {
    lose_with "$orphan"
}

test_a_loss_ends_all_of_these_at_once_with_kill() {
    local what
    for what in "$other_group" "$other_session" "$other_terminal" "$nested" "$orphan"; do
        rm -f other
        lose_with "$what" --on-lost kill
    done
}

test_a_loss_spares_daemons() {
    begin "$latchkey" run a bash -c '(setsid sh -c "echo \$\$ >daemon; exec sleep 1000" &); exec sleep 1000' 2>said
    eventually test -s daemon
    eventually grep -q sleep "/proc/$(cat daemon)/comm"
    "$latchkey" release --yes a || fail "release: $?"
    ends_with 79 "$begun"
    ! is_dead "$(cat daemon)" || fail "it was killed"
    kill "$(cat daemon)"
}

test_a_signal_reaches_the_command_of_a_run_below_once() {
    begin "$latchkey" run a bash -c 'trap : TERM; "$0" run b bash -c "
        trap \"echo heard >>heard\" TERM; echo >up; until [ -e end ]; do read -r -t 0.1 line <>pipe; done"' "$latchkey"
    mkfifo pipe
    eventually test -e up
    kill -TERM "$begun"
    eventually test -s heard
    echo >end
    eventually is_gone "$begun"
    [ "$(wc -l <heard)" -eq 1 ] || fail "$(wc -l <heard) times"
}

test_the_guard_is_the_parent_and_out_of_the_terminals_reach() {
    "$latchkey" run a sh -c 'echo "$(cat /proc/$PPID/comm) $(ps -o sid= -p $PPID) $(ps -o sid= -p $$)" >parent'
    read -r name session ours <parent
    [ "$name" = lk-guard ] || fail "the parent is $name"
    [ "$session" != "$ours" ] || fail "it is in the session of the command"
}

test_the_command_is_in_the_group_and_session_of_run() {
    ps -o pgid=,sid= -p $$ >before
    "$latchkey" run a sh -c 'ps -o pgid=,sid= -p $$' >inside
    check cmp before inside
}

run_tests
