# A terminal for tests of job control, sourced after harness.sh. Keys go to a real shell, in tmux or in script(1), and
# tests read its screen. script(1) has no screen: there, tests read all lines that were shown.
# shellcheck shell=bash disable=SC2154
command -v tmux >/dev/null || {
    echo "there is no tmux" >&2
    exit 70
}

export latchkey LC_ALL=C.UTF-8

terminal() {
    tmux -S "$pane" -f /dev/null "$@"
}

interactive() {
    case $1 in
    bash) echo "bash --norc --noprofile -i" ;;
    *) echo "$1 -i" ;;
    esac
}

# open_terminal [WIDTH [SHELL]]: opens, in tmux, a terminal with a shell in the folder of the test. It ends with the test.
open_terminal() {
    kind=tmux
    shell_name=${2:-bash}
    pane=$(mktemp -u "$test_folder/t.XXXX")
    trap 'terminal kill-server 2>/dev/null; end_started' EXIT
    unset TMUX ENV
    terminal new-session -d -x "${1:-200}" -y 50 "PS1='> ' exec $(interactive "$shell_name")"
    eventually sees '^>'
}

# begin_script SHELL TEXT: runs the text in a terminal of script(1). Keys are written to descriptor 8.
begin_script() {
    mkfifo keys
    exec 8<>keys
    set -m
    SHELL=$(command -v "$1") script -qefc "$2" shown <keys >/dev/null 2>&1 &
    set +m
    begun=$!
    started+=("$begun")
}

# open_script SHELL: as open_terminal, in script(1).
open_script() {
    kind=script
    shell_name=$1
    unset ENV
    TERM=screen begin_script "$1" "tty >tty; stty rows 50 cols 80; PS1='> ' exec $(interactive "$1")"
    eventually sees '^>'
}

# press KEY…: keys as tmux names them.
press() {
    local key
    if [ "$kind" = tmux ]; then
        terminal send-keys "$@"
        return
    fi
    for key; do
        case $key in
        Enter) printf '\r' ;;
        C-c) printf '\003' ;;
        C-z) printf '\032' ;;
        *) printf %s "$key" ;;
        esac
    done >&8
}

# type_line TEXT: types the text and Enter.
type_line() {
    case $kind in
    tmux) terminal send-keys -l "$1" ;;
    script) printf %s "$1" >&8 ;;
    esac
    press Enter
}

sees() {
    screen | grep -q -- "$1"
}

screen() {
    case $kind in
    tmux) terminal capture-pane -p ;;
    # Without what moves the cursor, and without text that was written over.
    script) sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g; s/\x1b[=>]//g; s/\r*$//; s/.*\r//; s/ *$//' shown ;;
    esac | grep -v '^$'
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
    press C-z
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

device() {
    case $kind in
    tmux) terminal display-message -p '#{pane_tty}' ;;
    script) cat tty ;;
    esac
}

is_in_line_mode() {
    stty -aF "$(device)" | grep -q ' icanon'
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
