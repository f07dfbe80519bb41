# A terminal for tests of job control, sourced after harness.sh. Keys go to a real shell in tmux, and tests read its
# screen.
# shellcheck shell=bash disable=SC2154
command -v tmux >/dev/null || {
    echo "there is no tmux" >&2
    exit 70
}

export latchkey LC_ALL=C.UTF-8

terminal() {
    tmux -S "$pane" -f /dev/null "$@"
}

# open_terminal [WIDTH [SHELL]]: opens a terminal with a shell in the folder of the test. It ends with the test.
open_terminal() {
    local shell="bash --norc --noprofile"
    shell_name=${2:-bash}
    [ "$shell_name" = bash ] || shell="$shell_name -i"
    pane=$(mktemp -u "$test_folder/t.XXXX")
    trap 'terminal kill-server 2>/dev/null; end_started' EXIT
    unset TMUX ENV
    terminal new-session -d -x "${1:-200}" -y 50 "PS1='> ' exec $shell"
    eventually sees '^>'
}

# type_line TEXT: types the text and Enter.
type_line() {
    terminal send-keys -l "$1"
    terminal send-keys Enter
}

sees() {
    terminal capture-pane -p | grep -q -- "$1"
}

screen() {
    terminal capture-pane -p | grep -v '^$'
}

# The shell reads the next line. Keys that are typed before the line editor of bash has the terminal may be lost.
at_prompt() {
    screen | tail -n 1 | grep -qx '\(\^C\)\?>' && { [ "$shell_name" != bash ] || ! is_in_line_mode; }
}

is_stopped() {
    grep -q '^State:.T' "/proc/$1/status"
}

# stop_job [PID]: presses Ctrl-Z. Returns when the shell reads the next line. The shell waits only for `run` to stop,
# not for its command, PID, which might still take a key that is typed too soon.
stop_job() {
    terminal send-keys C-z
    eventually sees 'Stopped'
    [ -z "${1:-}" ] || eventually is_stopped "$1"
    eventually at_prompt
}

# continue_job: continues the job in the foreground. Returns when the shell no longer reads: its line editor would take
# the Enter that is meant for the job.
continue_job() {
    type_line 'fg'
    eventually is_in_line_mode
}

is_in_line_mode() {
    stty -aF "$(terminal display-message -p '#{pane_tty}')" | grep -q ' icanon'
}

# expect_code PATTERN: the job has ended, and the shell prints its status. Nothing is typed ahead: not every shell
# shows it again after its prompt.
expect_code() {
    eventually at_prompt
    type_line 'echo "code $?"'
    eventually sees "^code $1"
}

is_free() {
    "$latchkey" run -n "$1" true
}
