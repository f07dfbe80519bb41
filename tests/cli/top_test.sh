# `latchkey top` on a terminal that tmux emulates.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

terminal=
stopped=
export TMUX_TMPDIR=$LATCHKEY_LOCAL_DIR

# For the trap of each test, which runs in a subshell.
end_all() {
    tmux -L "$terminal" kill-server 2>/dev/null
    [ -z "$stopped" ] || kill -s CONT "$stopped"
}

in_tmux() {
    tmux -L "$terminal" -f /dev/null "$@"
}

# Runs top in a shell on the terminal, so that the test can see what top leaves behind.
start_top() {
    terminal=latchkey-test-$BASHPID
    trap end_all EXIT
    check in_tmux new-session -d -x 100 -y 30 "env PS1='prompt> ' sh"
    eventually shows 'prompt>'
    type_line "$latchkey top --interval 100ms; echo ended with \$?"
    eventually shows 'latchkey top: '
}

type_line() {
    in_tmux send-keys -l "$1"
    in_tmux send-keys Enter
}

press() {
    in_tmux send-keys "$@"
}

shows() {
    in_tmux capture-pane -p | grep -qE -- "$1"
}

shows_not() {
    ! shows "$1"
}

# The names of the locks on the screen, from top to bottom, are these.
lists() {
    [ "$(in_tmux capture-pane -p | sed -n '3,29s/^\([^ ][^ ]*\) .*/\1/p' | tr '\n' ' ')" = "$* " ]
}

expect_plain_terminal() {
    type_line 'clear; stty -a | tr " " "\n" | grep -E "^-?(echo|icanon);?$"'
    eventually shows '^icanon'
    eventually shows '^echo'
}

quit_top() {
    press q
    eventually shows 'ended with 0'
    eventually shows 'prompt>'
    shows_not OLDEST || fail "the screen stays: $(in_tmux capture-pane -p)"
}

# hold FIFO WORD…: runs a holder of a lock until the fifo is written to.
hold() {
    mkfifo "$1"
    "$latchkey" run "${@:2}" sh -c "read -r line <$1" &
}

let_go() {
    local name
    for name in "$@"; do
        echo >"$name"
    done
    wait
}

# Two readers hold apple, and berry has a waiter.
hold_some() {
    hold one -s apple
    hold two -s apple
    hold three berry
    eventually "$latchkey" ls berry
    hold four berry
    eventually eval "$latchkey inspect berry | grep -q WAITS"
    eventually eval "$latchkey inspect apple | grep -q '2 hold it'"
}

let_some_go() {
    let_go one two three four
}

test_locks_are_listed_those_waited_for_first() {
    hold_some
    start_top
    eventually lists berry apple
    check shows '^LOCK +MODE +HOLDERS +WAITERS +GRANTS/S +OLDEST WAIT'
    check shows '^berry +write +1 +1 +[0-9.]+ +[0-9.]+s'
    check shows '^apple +read +2 +0 +[0-9.]+ +-'
    quit_top
    let_some_go
}

test_counts_in_the_title_go_with_their_words() {
    hold one apple
    eventually "$latchkey" ls apple
    start_top
    eventually shows '^latchkey top: 1 lock, 1 holder, 0 waiters, by '
    hold two apple
    eventually shows '^latchkey top: 1 lock, 1 holder, 1 waiter, by '
    hold three -s berry
    eventually shows '^latchkey top: 2 locks, 2 holders, 1 waiter, by '
    quit_top
    let_go one two three
}

test_keys_sort() {
    hold_some
    start_top
    eventually lists berry apple
    press n
    eventually lists apple berry
    press w
    eventually lists berry apple
    press h
    eventually lists apple berry
    press g
    eventually shows 'by grants'
    quit_top
    let_some_go
}

test_a_filter_leaves_locks_out() {
    hold_some
    start_top
    eventually lists berry apple
    press /
    press -l app
    eventually shows '^/app_'
    press Enter
    eventually lists apple
    eventually shows 'filter: app'
    press Escape
    eventually lists berry apple
    quit_top
    let_some_go
}

test_enter_shows_one_lock_and_escape_goes_back() {
    hold_some
    start_top
    eventually lists berry apple
    press Enter
    eventually shows 'lock +berry'
    eventually shows '^HELD BY'
    eventually shows '^ *WAITS'
    press Escape
    eventually lists berry apple
    press Down
    press Enter
    eventually shows 'lock +apple'
    press BSpace
    eventually lists berry apple
    press '?'
    eventually shows 'GRANTS/S  '
    press Escape
    eventually lists berry apple
    quit_top
    let_some_go
}

test_it_follows_the_size_of_the_terminal() {
    start_top
    check in_tmux resize-window -x 60 -y 12
    eventually eval "in_tmux capture-pane -p | sed -n 12p | grep -q 'q quit'"
    check in_tmux resize-window -x 120 -y 40
    eventually eval "in_tmux capture-pane -p | sed -n 40p | grep -q 'q quit'"
    quit_top
}

# A combining accent takes no column. If such a name is cut, the columns after it must not move.
test_names_that_are_cut_keep_to_their_column() {
    local name
    export LC_ALL=C.UTF-8
    name=$(printf 'e\xcc\x81%.0s' {1..150})
    hold one "$name"
    hold two plain
    eventually "$latchkey" ls plain
    eventually "$latchkey" ls "$name"
    start_top
    check in_tmux resize-window -x 40 -y 12
    eventually shows '^plain     write '
    check shows '^[^ ]+~  write '
    quit_top
    let_go one two
}

test_it_goes_on_after_a_stop_and_at_any_size() {
    start_top
    check in_tmux resize-window -x 1 -y 1
    check in_tmux resize-window -x 300 -y 200
    eventually eval "in_tmux capture-pane -p | sed -n 200p | grep -q 'q quit'"
    press C-z
    eventually shows 'prompt>'
    expect_plain_terminal
    type_line fg
    eventually shows '^q quit'
    press q
    eventually shows 'prompt>'
    eventually shows_not '^q quit'
}

test_signals_leave_the_terminal_as_it_was() {
    local shell
    start_top
    press C-c
    eventually shows 'ended with 0'
    expect_plain_terminal
    type_line "clear; $latchkey top; echo ended with \$?"
    eventually shows 'latchkey top: '
    shell=$(in_tmux list-panes -F '#{pane_pid}')
    kill "$(tr -d ' ' <"/proc/$shell/task/$shell/children")"
    eventually shows 'ended with 0'
    expect_plain_terminal
}

test_it_goes_on_when_the_server_was_away() {
    local server
    read -r server <"$LATCHKEY_LOCAL_DIR/server.pid"
    start_top
    stopped=$server
    kill -s STOP "$server"
    eventually shows 'away for '
    kill -s CONT "$server"
    eventually shows '^q quit'
    quit_top
}

test_without_a_terminal_it_is_64() {
    expect_exit 64 "$latchkey" top </dev/null
    expect_one_line
    expect_said terminal
    expect_exit 64 "$latchkey" top name
    expect_one_line
}

run_tests
