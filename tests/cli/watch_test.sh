# The output of `latchkey watch`, and how it ends.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

watcher=
other_server=

# For the trap of each test, which runs in a subshell.
end_all() {
    local pid
    for pid in $watcher $other_server; do
        kill -s CONT "$pid" 2>/dev/null
        kill "$pid" 2>/dev/null
    done
}

# watch WORD…: starts a watch, with its lines in the file `seen`, and waits for the first snapshot.
watch() {
    rm -f seen # the file of an earlier watch already has the first line
    "$latchkey" watch --interval 50ms "$@" >seen 2>watch_said &
    watcher=$!
    trap end_all EXIT
    eventually grep -q watching seen
}

end_watch() {
    local code
    kill -s "${1:-TERM}" "$watcher"
    eventually is_gone "$watcher"
    wait "$watcher"
    code=$?
    watcher=
    [ "$code" -eq 0 ] || fail "watch ended with $code: $(cat watch_said)"
}

# hold NAME WORD…: holds a lock until the fifo of that name is written to. The file NAME.runs appears when its command
# runs. If the lock is lost earlier, there is no command to end, and nothing reads the fifo.
hold() {
    mkfifo "$1"
    "$latchkey" run "${@:2}" "$1" sh -c ": >$1.runs; read -r line <$1" &
    held_by=$!
}

let_go() {
    echo >"$1"
}

# shows PATTERN: a line matches the pattern.
shows() {
    eventually grep -qE -- "$1" seen
}

test_grants_and_releases_are_a_line_each() {
    watch
    hold plain
    shows "^[0-9:.]{12}  plain +granted +write +sh on [^ ]+, pid $held_by, "
    let_go plain
    shows "plain +released +write +sh on [^ ]+, pid $held_by, held "
    end_watch
    [ "$(grep -c plain seen)" -eq 2 ] || fail "not two lines: $(cat seen)"
}

test_waits_are_seen_and_how_long_they_were() {
    local first
    watch
    hold busy
    first=$held_by
    eventually "$latchkey" ls busy
    mkfifo next
    "$latchkey" run -s busy sh -c 'read -r line <next' &
    shows "busy +waiting +read .* pid $!, for "
    let_go busy
    shows "busy +granted +read .* pid $!, waited "
    shows "busy +released +write .* pid $first, "
    let_go next
    shows "busy +released +read .* pid $!, "
    end_watch
}

test_who_gives_up_has_left() {
    watch
    hold taken
    eventually "$latchkey" ls taken
    "$latchkey" run taken true &
    shows "taken +waiting +write .* pid $!, "
    kill "$!"
    shows "taken +left +write .* pid $!, waited "
    let_go taken
    end_watch
}

test_a_writer_that_is_gone_from_an_abandoned_lock_is_lost() {
    watch
    hold broken --on-lost ignore
    shows 'broken +granted'
    eventually test -e broken.runs
    check "$latchkey" release --yes broken >/dev/null
    shows "broken +lost +write .* pid $held_by, held "
    let_go broken
    end_watch
    grep -q 'broken +released' seen && fail "released and lost: $(cat seen)"
    return 0
}

# An abandoned lock keeps its fence. A read that comes and goes changes the fence and leaves the mark.
test_what_no_look_saw_is_told_by_the_fence() {
    hold mark --on-lost ignore
    eventually test -e mark.runs
    check "$latchkey" release --yes mark >/dev/null
    let_go mark
    watch mark
    kill -s STOP "$watcher"
    check "$latchkey" run -s mark true
    kill -s CONT "$watcher"
    shows 'mark +fence +rose from [0-9]+ to [0-9]+'
    end_watch
}

test_upgrades_are_seen() {
    mkfifo first second
    watch up
    # shellcheck disable=SC2016
    "$latchkey" run -s up sh -c 'read -r line <first
        '"$latchkey"' run --owner "$LATCHKEY_OWNER" up sh -c "read -r line <second"' &
    shows 'up +granted +read'
    let_go first
    shows 'up +(granted|upgraded) +write'
    let_go second
    shows 'up +released +write'
    shows 'up +released +read'
    end_watch
}

test_a_pattern_leaves_others_out() {
    watch 'in:*'
    hold out
    hold in:1
    shows 'in:1 +granted'
    let_go in:1
    let_go out
    shows 'in:1 +released'
    end_watch
    grep -q 'out ' seen && fail "out is there: $(cat seen)"
    return 0
}

# has PART…: a line of --json contains all of these parts.
has() {
    local part lines
    lines=$(cat seen)
    for part in "$@"; do
        lines=$(grep -F -- "$part" <<<"$lines") || return 1
    done
}

test_json_has_an_object_a_line_with_names_that_stay() {
    watch --json
    check has '"event":"watching"' '"at":"2' '"locks":'
    hold json
    eventually has '"event":"granted"' '"lock":"json"' '"at":"2' '"app":"sh"' '"host":"' \
        "\"pid\":$held_by," '"mode":"write"' '"fence":' '"held_ms":'
    mkfifo go
    "$latchkey" run -s json sh -c 'read -r line <go' &
    eventually has '"event":"waiting"' "\"pid\":$!," '"mode":"read"' '"waited_ms":'
    let_go json
    eventually has '"event":"released"' "\"pid\":$held_by," '"held_ms":' '"fence":'
    eventually has '"event":"granted"' "\"pid\":$!," '"waited_ms":'
    let_go go
    end_watch
}

test_names_cannot_order_the_terminal_about() {
    local name=$'odd\033[31m\nline'
    watch
    check "$latchkey" run "$name" timeout 60 sh -c 'until grep -q "odd?\[31m?line" seen; do sleep 0.02; done'
    end_watch
}

test_it_ends_when_nobody_reads() {
    mkfifo pipe
    "$latchkey" watch >pipe 2>said &
    watcher=$!
    trap end_all EXIT
    head -n 1 <pipe >first
    eventually is_gone "$watcher"
    wait "$watcher" || fail "it ended with $?: $(cat said)"
    watcher=
    [ -s said ] && fail "it said $(cat said)"
    grep -q watching first || fail "no first line: $(cat first)"
}

test_signals_end_it_in_good_order() {
    local name
    for name in INT TERM HUP; do
        # Without job control, a script starts background commands with SIGINT ignored.
        set -m
        watch
        set +m
        end_watch "$name"
        [ -s watch_said ] && fail "it said $(cat watch_said)"
    done
    return 0
}

start_other_server() {
    local program
    program=$(command -v redis-server || command -v valkey-server)
    "$program" --port 0 --unixsocket "$PWD/socket" --dir "$PWD" --save '' >server_said 2>&1 &
    other_server=$!
    trap end_all EXIT
    eventually test -S socket
}

test_it_goes_on_when_the_server_was_away() {
    start_other_server
    watch -u "unix://$PWD/socket"
    kill -s KILL "$other_server"
    wait "$other_server" 2>/dev/null
    rm -f socket
    shows '^[0-9:.]+  away '
    start_other_server
    shows '^[0-9:.]+  back '
    "$latchkey" run -u "unix://$PWD/socket" again timeout 60 sh -c \
        'until grep -q "again .*granted" seen; do sleep 0.02; done'
    shows 'again +released'
    end_watch
    [ "$(grep -cE '  (away|back) ' seen)" -eq 2 ] || fail "not one line each: $(cat seen)"
    kill "$other_server"
    wait "$other_server"
    other_server=
}

test_it_ends_at_once_while_the_server_is_away() {
    start_other_server
    watch -u "unix://$PWD/socket"
    kill -s STOP "$other_server"
    end_watch
    kill -s CONT "$other_server"
    kill "$other_server"
    wait "$other_server"
    other_server=
}

test_a_command_line_that_makes_no_sense_is_64() {
    local words
    for words in "a b" "--interval soon" "--interval 0" "--interval" "--no-such"; do
        # shellcheck disable=SC2086
        expect_exit 64 "$latchkey" watch $words
        expect_one_line
    done
}

test_the_help_says_what_is_not_seen_and_what_it_costs() {
    expect_exit 0 "$latchkey" watch --help
    expect_printed 'between two snapshots'
    expect_printed 'costs nothing'
}

run_tests
