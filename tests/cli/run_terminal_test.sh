# `latchkey run` on a terminal: the status line while it waits, and the keys of job control.
# shellcheck shell=bash disable=SC2317,SC2016,SC2119
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

# shellcheck source-path=SCRIPTDIR source=terminal.sh
source "${BASH_SOURCE%/*}/terminal.sh"

test_a_terminal_is_told_how_the_wait_goes() {
    open_terminal
    hold a
    type_line '$latchkey run a true; echo "ended $?"'
    eventually sees '^waiting for a: held by sh on .*, pid [0-9]*, for .*; place 1 of 1, waited '
    eventually sees 'waited 2'
    [ "$(screen | grep -c 'waiting for')" -eq 1 ] || fail "$(screen)"
    echo >stop
    eventually sees '^ended 0'
    ! sees 'waiting for' || fail "$(screen)"
}

test_the_line_fits_a_narrow_terminal() {
    open_terminal 40
    hold a
    type_line 'clear; $latchkey run a true'
    eventually sees '^waiting for a: held by'
    screen >seen
    [ "$(grep -A1 '^waiting for' seen | wc -l)" -eq 1 ] || fail "$(cat seen)"
    echo >stop
    eventually is_free a
}

test_a_file_is_not_told() {
    open_terminal
    hold a
    type_line '$latchkey run -w 0.8 a true 2>said; echo "ended $?"'
    eventually sees '^ended 1'
    [ ! -s said ] || fail "$(cat said)"
    ! sees 'waiting for' || fail "$(screen)"
    echo >stop
    wait
}

test_a_wait_that_is_short_says_nothing() {
    open_terminal
    type_line 'clear; $latchkey run a true; echo "ended $?"'
    eventually sees '^ended 0'
    ! sees 'waiting' || fail "$(screen)"
}

test_ctrl_c_ends_the_wait() {
    open_terminal
    hold a
    type_line '$latchkey run a true; echo "not ${x}here"'
    eventually waits a 1
    terminal send-keys C-c
    expect_code 130
    eventually waits a 0
    ! sees 'not here' || fail "$(screen)"
    echo >stop
    wait
}

test_ctrl_c_ends_the_wait_at_once_while_the_server_is_away() {
    start_server
    open_terminal
    hold -u "$url" a
    type_line '$latchkey run -u '"$url"' a true'
    eventually sees 'waited 1'
    kill -STOP "$server"
    # The status line stands still, because a request is in flight.
    screen >before
    eventually sh -c 'sleep 1.5; tmux -S "$1" capture-pane -p | grep -v "^$" | cmp -s - before' - "$pane"
    terminal send-keys C-c
    expect_code 130
    kill -CONT "$server"
    echo >stop
    wait "$!"
}

test_ctrl_c_ends_the_command_with_130() {
    open_terminal
    type_line '$latchkey run a sh -c "echo >up; exec sleep 1000"'
    eventually test -e up
    terminal send-keys C-c
    expect_code 130
    is_free a || fail "it is not free"
}

test_ctrl_c_ends_a_loop_around_the_command() {
    open_terminal
    type_line 'for i in 1 2 3; do $latchkey run a sh -c "echo >up.$i; exec sleep 1000"; done'
    eventually test -e up.1
    terminal send-keys C-c
    expect_code 130
    [ ! -e up.2 ] || fail "it went on"
}

test_a_command_that_handles_ctrl_c_goes_on() {
    open_terminal
    type_line '$latchkey run a bash -c "trap \"echo heard >heard\" INT; echo >up; while [ ! -e end ]; do sleep 0.01; done; exit 4"'
    eventually test -e up
    terminal send-keys C-c
    eventually test -e heard
    echo >end
    expect_code 4
}

test_ctrl_z_stops_and_fg_continues() {
    open_terminal
    type_line '$latchkey run a bash -c "echo \$\$ >up; read -r line; echo got \$line"'
    eventually test -s up
    stop_job "$(cat up)"
    waits a 0 || fail "$("$latchkey" inspect a)"
    continue_job
    type_line 'hello'
    eventually sees '^got hello'
    expect_code 0
    is_free a || fail "it is not free"
}

test_ctrl_z_stops_the_wait_too() {
    open_terminal
    hold a
    type_line '$latchkey run a echo granted'
    eventually waits a 1
    stop_job
    continue_job
    echo >stop
    eventually sees '^granted'
}

test_ctrl_z_stops_a_script_around_the_command() {
    open_terminal
    echo '"$latchkey" run a sh -c "echo \$\$ >up; read -r line; echo got \$line"; echo "script goes on"' >script
    type_line 'bash script'
    eventually test -s up
    stop_job "$(cat up)"
    continue_job
    type_line 'again'
    eventually sees '^got again'
    eventually sees '^script goes on'
}

test_bg_lets_it_run_and_its_end_leaves_the_terminal_to_the_shell() {
    open_terminal
    mkfifo end
    type_line '$latchkey run a sh -c "echo >up; read -r line <end; echo >ended"'
    eventually test -e up
    stop_job
    type_line 'bg'
    echo >end
    eventually test -e ended
    eventually is_free a
    type_line 'echo "the shell $((40 + 2))"'
    eventually sees '^the shell 42'
    type_line 'cat'
    type_line 'typed'
    terminal send-keys C-d
    type_line 'echo "cat ended $?"'
    eventually sees '^cat ended 0'
}

test_a_command_behind_that_reads_stops_and_fg_gives_it_the_terminal() {
    open_terminal
    type_line '$latchkey run a bash -c "echo >up; read -r line; echo got \$line" &'
    eventually test -e up
    # The shell reports it with its next prompt.
    eventually sh -c 'tmux -S "$1" send-keys Enter; tmux -S "$1" capture-pane -p | grep -q Stopped' - "$pane"
    continue_job
    type_line 'in front'
    eventually sees '^got in front'
}

test_where_nobody_could_continue_it_ctrl_z_does_not_stop_it() {
    open_terminal
    terminal new-window "exec '$latchkey' run a bash -c 'echo >up; read -r line; echo \"\$line\" >got'"
    eventually test -e up
    terminal send-keys C-z
    type_line 'still here'
    eventually grep -q 'still here' got
    eventually is_free a
}

test_a_lock_that_is_lost_while_stopped_lets_nothing_go_on() {
    open_terminal
    type_line '$latchkey run --lease 3 a '"$beat"
    eventually test -s beats
    stop_job
    expect_exit 0 "$latchkey" run -w 30 a true
    wc -l <beats >before
    type_line 'fg'
    eventually sees '^> fg'
    expect_code 79
    wc -l <beats | cmp - before || fail "it went on"
}

test_the_terminal_is_the_commands() {
    open_terminal
    type_line '$latchkey run a bash -c "tty >tty; ps -o pgid=,tpgid= -p \$\$ >groups"; echo "code $?"'
    eventually sees '^code 0'
    read -r group front <groups
    [ "$group" = "$front" ] || fail "group $group, in front is $front"
}

run_tests
