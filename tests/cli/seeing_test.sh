# `latchkey ls`, `inspect` and `release`: their output for people and for programs, and the confirmation.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

unset NO_COLOR
export LC_ALL=C.UTF-8 TERM=xterm

# hold ARGUMENT… NAME: starts `run` with these arguments, until the test ends or the file `go` exists. Its pid is in
# $begun.
hold() {
    begin "$latchkey" run "$@" sh -c "until [ -e '$PWD/go' ] || [ ! -d '$PWD' ]; do sleep 0.02; done"
}

# crowd LOCK HOLDERS WAITERS
crowd() {
    [ "$("$latchkey" inspect --json "$1" | jq -c '[.holders, .waiters]')" = "[$2,$3]" ]
}

# on_terminal ANSWER WORD…: runs the command on a pseudo-terminal, with both outputs in `printed`. The answer is typed
# after the question appears, because an earlier one might be lost.
on_terminal() {
    local answer=$1 got
    shift
    mkfifo typed
    : >printed
    (
        exec >typed
        if [ -n "$answer" ]; then
            eventually grep -qF '[y/N]' printed
            echo "$answer"
        fi
        eventually test -e over
    ) &
    SHELL=$BASH script -qefc "$(printf '%q ' "$@")" /dev/null <typed >printed
    got=$?
    : >over
    wait $!
    rm typed over
    return "$got"
}

# offset_of TEXT LINE: the column at which the text begins, in characters of width 1.
offset_of() {
    local before=${2%%"$1"*}
    [ "$before" != "$2" ] || fail "\"$1\" is not in: $2"
    echo ${#before}
}

# end_of TEXT LINE: the column at which it ends, for numbers.
end_of() {
    echo $(($(offset_of "$1" "$2") + ${#1}))
}

test_ls_lines_up_with_names_of_any_length() {
    local long name line mode holders
    long=$(printf 'n%.0s' {1..512})
    for name in a "grün:äöü" "$long" "два слова"; do
        hold "$name"
        eventually crowd "$name" 1 0
    done
    expect_exit 0 "$latchkey" ls
    check [ "$(wc -l <printed)" -eq 5 ]
    line=$(head -1 printed)
    mode=$(offset_of MODE "$line")
    holders=$(end_of HOLDERS "$line")
    check [ "$mode" -eq 514 ]
    while read -r line; do
        check [ "$(offset_of write "$line")" -eq "$mode" ]
        check [ "${line:holders-2:2}" = " 1" ]
        check [ ${#line} -eq "$(awk 'NR == 1 { print length }' printed)" ]
    done < <(tail -n +2 printed)
}

test_ls_lines_up_with_wide_characters() {
    local narrow wide
    hold 日本
    eventually crowd 日本 1 0
    hold abcdef
    eventually crowd abcdef 1 0
    expect_exit 0 "$latchkey" ls
    narrow=$(grep '^abcdef' printed)
    wide=$(grep '^日本' printed)
    check [ "$narrow" = "abcdef  write        1        0            -" ]
    check [ "$wide" = "日本    write        1        0            -" ]
}

test_ls_shows_modes_holders_and_waiters() {
    hold -s shared
    hold -s shared
    eventually crowd shared 2 0
    hold shared
    eventually crowd shared 2 1
    hold single
    eventually crowd single 1 0
    expect_exit 0 "$latchkey" ls
    check grep -qE '^shared +read +2 +1 +[0-9.]+s$' printed
    check grep -qE '^single +write +1 +0 +-$' printed
    expect_exit 0 "$latchkey" ls 'sha*'
    check [ "$(wc -l <printed)" -eq 2 ]
    expect_exit 0 "$latchkey" ls 'sing[a-l]e' -j
    check [ "$(wc -l <printed)" -eq 1 ]
}

# The server in the environment does not exist, so the option must have had an effect.
test_options_before_the_subcommand_mean_the_same() {
    hold --prefix other one
    one_is_held() {
        "$latchkey" ls --prefix other one
    }
    eventually one_is_held
    export LATCHKEY_URL=unix:///nowhere
    expect_exit 0 "$latchkey" -u local: --prefix other ls
    check grep -q '^one ' printed
    expect_exit 0 "$latchkey" --url=local: --json ls --prefix other
    check [ "$(jq -r .name printed)" = one ]
    expect_exit 0 "$latchkey" -julocal: --prefix other -- inspect one
    check [ "$(jq -r .name printed)" = one ]
    expect_exit 0 "$latchkey" --verbose -u local: --prefix other -- ls -j
    check [ "$(jq -r .name printed)" = one ]
    expect_exit 5 "$latchkey" -u local: run two sh -c 'exit 5'
    expect_exit 0 "$latchkey" --prefix lk -u local: ls
    check [ ! -s printed ]
    expect_exit 0 "$latchkey" -u local: help ls
    expect_printed "usage: latchkey ls"
    expect_exit 0 "$latchkey" -u local: --version
    expect_printed "latchkey "
    expect_exit 0 "$latchkey" -u local: ls --help
    expect_printed "usage: latchkey ls"
}

test_of_an_option_given_twice_the_later_counts() {
    expect_exit 69 "$latchkey" -u local: ls -u unix:///nowhere
    expect_exit 0 "$latchkey" -u unix:///nowhere ls -u local:
    expect_exit 0 "$latchkey" -u unix:///nowhere -u local: ls
    expect_exit 0 "$latchkey" ls --prefix a -u unix:///nowhere --prefix b -u local:
}

# fits OPTION…: prints the owners of the holders that ls lists with these options, on one line.
fits() {
    "$latchkey" ls --json "$@" | jq -r .owner | sort | paste -sd' '
}

# r1 and r2 hold the lock `shared`, w holds `single`. No renewal happens during the test.
hold_three() {
    hold --lease 1h -s --owner r1 shared
    pid_of_r1=$begun
    hold --lease 1h -s --owner r2 shared
    hold --lease 1h --owner w single
    eventually crowd shared 2 0
    eventually crowd single 1 0
}

test_ls_l_has_a_line_for_each_holder() {
    local line fence
    hold_three
    expect_exit 0 "$latchkey" ls -l
    check [ "$(wc -l <printed)" -eq 4 ]
    check [ "$(head -1 printed | tr -s ' ')" = "LOCK MODE APP HOST PID HELD FOR LEASE LEFT FENCE OWNER" ]
    fence=$("$latchkey" inspect --json single | jq '.held_by[0].fence')
    check grep -qE "^shared +read +sh +$(hostname) +$pid_of_r1 +[0-9.]+s +[0-9mh]+s? +[0-9]+ +r1\$" printed
    check grep -qE "^shared +read .* r2\$" printed
    check grep -qE "^single +write +sh +$(hostname) +[0-9]+ +[0-9.]+s +[0-9mh]+s? +$fence +w\$" printed
    expect_exit 0 "$latchkey" ls --long 'sin*'
    check [ "$(wc -l <printed)" -eq 2 ]
    expect_exit 0 "$latchkey" ls
    check [ "$(head -1 printed | tr -s ' ')" = "LOCK MODE HOLDERS WAITERS OLDEST WAIT" ]
}

holder_fields=name,mode,owner,group,app,host,pid,reads,writes,held_ms,left_ms,fence,provisional,handle

test_ls_l_as_json_has_the_same() {
    hold_three
    expect_exit 0 "$latchkey" ls -lj
    check [ "$(wc -l <printed)" -eq 3 ]
    check [ "$(jq -r 'keys_unsorted | join(",")' printed | sort -u)" = "$holder_fields" ]
    check [ "$(jq -c "select(.owner == \"r1\") | [.name, .mode, .app, .host, .pid]" printed)" = \
        "[\"shared\",\"read\",\"sh\",\"$(hostname)\",$pid_of_r1]" ]
    check [ "$(jq -c 'select(.owner == "w") | [.name, .mode, .writes, .left_ms > 0, .held_ms >= 0, .fence > 0]' \
        printed)" = '["single","write",1,true,true,true]' ]
}

test_ls_chooses_holders_by_who_and_how() {
    hold_three
    check [ "$(fits --host "$(hostname)")" = "r1 r2 w" ]
    check [ "$(fits --host 'no-such-*')" = "" ]
    check [ "$(fits --pid "$pid_of_r1")" = r1 ]
    check [ "$(fits --app sh)" = "r1 r2 w" ]
    check [ "$(fits --app 's*')" = "r1 r2 w" ]
    check [ "$(fits --app s)" = "" ]
    check [ "$(fits --owner r2)" = r2 ]
    check [ "$(fits --owner 'r[12]')" = "r1 r2" ]
    check [ "$(fits --mode read)" = "r1 r2" ]
    check [ "$(fits --mode write)" = w ]
    check [ "$(fits --mode read --owner '*2' --app sh)" = r2 ]
    check [ "$(fits --mode read --owner w)" = "" ]
    check [ "$(fits --mode read single)" = "" ]
    check [ "$(fits --mode read 'sh*')" = "r1 r2" ]
    expect_exit 0 "$latchkey" ls --owner r2
    check [ "$(wc -l <printed)" -eq 2 ]
    check grep -q '^shared .* r2$' printed
}

test_ls_chooses_holders_by_how_long_they_have_held() {
    hold --owner early one
    eventually crowd one 1 0
    early_is_old() {
        [ "$(fits --held-for 1s)" = early ]
    }
    check [ "$(fits --held-for 0)" = early ]
    check [ "$(fits --held-for 1h)" = "" ]
    eventually early_is_old
    hold --owner late two
    eventually crowd two 1 0
    local held_ms
    held_ms=$("$latchkey" ls -l --json one | jq .held_ms)
    check [ "$(fits --held-for "${held_ms}ms" --owner early)" = early ]
    expect_exit 64 "$latchkey" ls --held-for long
    expect_said "--held-for long is not a time"
}

test_holders_that_nothing_fits_are_1() {
    hold_three
    expect_exit 1 "$latchkey" ls --owner nobody
    expect_one_line
    expect_said "no holder matches the options"
    check [ ! -s printed ]
    expect_exit 1 "$latchkey" ls --json --mode read 'single'
    expect_one_line
    expect_said "no holder matches the options in the locks that match single"
    expect_exit 1 "$latchkey" ls -l 'two*'
    expect_said "no lock matches two*"
    expect_exit 64 "$latchkey" ls --mode shared
    expect_said "--mode cannot be shared; it can be read, write"
    expect_exit 64 "$latchkey" ls --pid -1
    expect_said "--pid -1 is not a process number"
}

test_ls_l_shows_a_lock_that_nobody_holds_unless_holders_are_chosen() {
    hold left
    eventually crowd left 1 0
    check "$latchkey" release -y left
    ends_with 79 "$begun"
    expect_exit 0 "$latchkey" ls -l
    check grep -qE '^left +abandoned +- +- +- +- +- +- +-$' printed
    expect_exit 0 "$latchkey" ls -lj
    check [ "$(jq -c '[.name, .mode]' printed)" = '["left","none"]' ]
    check [ "$(jq -r 'keys_unsorted | join(",")' printed)" = "$holder_fields" ]
    check [ "$(jq -c 'del(.name, .mode) | [.[]] | unique' printed)" = '[null]' ]
    expect_exit 1 "$latchkey" ls --held-for 0
    check "$latchkey" run left true
}

# calls_of COMMAND: how often the server has run the command.
calls_of() {
    "$asker" -s "$LATCHKEY_LOCAL_DIR/server.sock" info commandstats |
        sed -nE "s/^cmdstat_$1:calls=([0-9]+),.*/\1/p"
}

# `ls -l` with any filter sends no more requests than `ls`.
# asks_twice WORD…: the server runs two scripts for this command.
asks_twice() {
    local before
    before=$(calls_of evalsha)
    "$latchkey" "$@" >/dev/null
    check [ $(($(calls_of evalsha) - before)) -ge 2 ]
    [ $(($(calls_of evalsha) - before)) -eq 2 ]
}

# Not every time: holders renew when they have their second connection.
test_ls_l_asks_for_each_lock_once() {
    asker=$(command -v redis-cli || command -v valkey-cli)
    hold_three
    "$latchkey" ls -l >/dev/null # its script is loaded
    eventually asks_twice ls
    eventually asks_twice ls -l --host '*' --pid "$pid_of_r1" --app '*' --owner '*' --mode read --held-for 0
}

test_ls_without_a_lock_prints_nothing() {
    expect_exit 0 "$latchkey" ls
    check [ ! -s printed ]
    check [ ! -s said ]
    expect_exit 0 "$latchkey" ls --json
    check [ ! -s printed ]
}

test_a_pattern_that_nothing_fits_is_1() {
    hold one
    eventually crowd one 1 0
    expect_exit 1 "$latchkey" ls 'two*'
    expect_one_line
    expect_said 'two*'
    check [ ! -s printed ]
    expect_exit 1 "$latchkey" ls --json 'two*'
    expect_one_line
    check [ ! -s printed ]
}

# A hash whose key only looks like a lock must not hide the other locks.
test_what_is_no_lock_is_not_listed() {
    local asker
    asker=$(command -v redis-cli || command -v valkey-cli)
    hold one
    eventually crowd one 1 0
    check "$asker" -s "$LATCHKEY_LOCAL_DIR/server.sock" hset 'lk:{other}' field value >/dev/null
    expect_exit 0 "$latchkey" ls
    check [ "$(wc -l <printed)" -eq 2 ]
    expect_exit 1 "$latchkey" ls other
    expect_exit 0 "$latchkey" server status
    expect_printed "locks    1"
    expect_exit 64 "$latchkey" inspect other
    expect_one_line
    check "$asker" -s "$LATCHKEY_LOCAL_DIR/server.sock" del 'lk:{other}' >/dev/null
}

# Ages grow and leases shrink, by the clock of the server.
test_ages_are_those_of_the_server() {
    local held
    hold --lease 1h aged
    eventually crowd aged 1 0
    hold aged
    eventually crowd aged 1 1
    aged() {
        [ "$("$latchkey" inspect --json aged | jq "$1")" = true ]
    }
    eventually aged '.held_by[0].held_ms >= 1100 and .waited_for_by[0].waited_ms >= 1100'
    check aged '.held_by[0].held_ms >= .waited_for_by[0].waited_ms'
    check aged '.oldest_wait_ms == .waited_for_by[0].waited_ms'
    check aged '.held_by[0].left_ms > 3500000 and .held_by[0].left_ms <= 3600000'
    expect_exit 0 "$latchkey" inspect aged
    held=$(sed -nE 's/^sh +[^ ]+ +[0-9]+ +0 +1 +([0-9.]+)s +(59m[0-9]+s|1h00m) .*/\1/p' printed)
    check [ -n "$held" ]
    check awk -v held="$held" 'BEGIN { exit !(held >= 1.1 && held < 60) }'
    expect_exit 0 "$latchkey" ls aged
    check grep -qE ' [1-9][0-9]*(\.[0-9])?s$' printed
}

test_inspect_lines_up() {
    local line
    hold --owner kurz -s both
    eventually crowd both 1 0
    hold --owner "ein-länger-er" -s both
    eventually crowd both 2 0
    hold --owner w both
    eventually crowd both 2 1
    expect_exit 0 "$latchkey" inspect both
    check [ "$(sed -n 1p printed)" = "lock     both" ]
    check [ "$(sed -n 2p printed)" = "state    read, 2 hold it, 1 waits" ]
    check [ "$(sed -n 3p printed)" = "policy   fair" ]
    check grep -qE '^fence    [1-9][0-9]*$' printed
    check [ "$(sed -n 5p printed)" = "server   $LATCHKEY_LOCAL_DIR/server.sock" ]
    local head owner reads
    head=$(grep '^HELD BY' printed)
    owner=$(offset_of OWNER "$head")
    reads=$(end_of READS "$head")
    for line in kurz ein-länger-er; do
        line=$(grep -F -- "$line" printed)
        check [ "${line:owner-2:2}" = "  " ]
        check [ "${line:reads-2:2}" = " 1" ]
    done
    check [ "$(offset_of kurz "$(grep kurz printed)")" -eq "$owner" ]
    check [ "$(offset_of ein-l "$(grep ein-l printed)")" -eq "$owner" ]
    head=$(grep 'WAITS' printed)
    line=$(tail -1 printed)
    check [ "$(offset_of 'FOR A' "$head")" -eq "$(offset_of write "$line")" ]
    check [ "$(offset_of OWNER "$head")" -eq $((${#line} - 1)) ]
}

test_counts_go_with_their_words() {
    hold counted
    eventually crowd counted 1 0
    check [ "$("$latchkey" inspect counted | sed -n 2p)" = "state    write, 1 holds it, 0 wait" ]
    hold counted
    eventually crowd counted 1 1
    check [ "$("$latchkey" inspect counted | sed -n 2p)" = "state    write, 1 holds it, 1 waits" ]
    hold counted
    eventually crowd counted 1 2
    check [ "$("$latchkey" inspect counted | sed -n 2p)" = "state    write, 1 holds it, 2 wait" ]
}

test_inspect_of_a_lock_that_nobody_uses_says_free() {
    expect_exit 0 "$latchkey" inspect nobody
    check [ "$(cat printed)" = "lock     nobody
state    free
server   $LATCHKEY_LOCAL_DIR/server.sock" ]
    expect_exit 0 "$latchkey" inspect nobody --json
    check [ "$(jq -c '[.mode, .holders, .held_by, .waited_for_by]' printed)" = '["none",0,[],[]]' ]
}

test_json_has_the_fields_of_the_source_and_no_others() {
    local summary=name,mode,policy,fence,abandoned,holders,waiters,oldest_wait_ms
    hold 'quote"d\ and:grün'
    eventually crowd 'quote"d\ and:grün' 1 0
    hold -s 'quote"d\ and:grün'
    eventually crowd 'quote"d\ and:grün' 1 1
    hold plain
    eventually crowd plain 1 0
    expect_exit 0 "$latchkey" ls --json
    check [ "$(wc -l <printed)" -eq 2 ]
    while read -r line; do
        check [ "$(jq -r 'keys_unsorted | join(",")' <<<"$line")" = "$summary" ]
        check [ "$(jq -c 'map_values(type) | [.[]]' <<<"$line")" = \
            '["string","string","string","number","boolean","number","number","number"]' ]
    done <printed
    check [ "$(jq -r .name printed | sort | paste -sd'|')" = 'plain|quote"d\ and:grün' ]
    expect_exit 0 "$latchkey" inspect --json 'quote"d\ and:grün'
    check [ "$(wc -l <printed)" -eq 1 ]
    check [ "$(jq -r 'keys_unsorted | join(",")' printed)" = "$summary,server,held_by,waited_for_by" ]
    check [ "$(jq -r .server printed)" = "$LATCHKEY_LOCAL_DIR/server.sock" ]
    check [ "$(jq -r '.held_by[0] | keys_unsorted | join(",")' printed)" = \
        owner,group,app,host,pid,reads,writes,held_ms,left_ms,fence,provisional,handle ]
    check [ "$(jq -r '.waited_for_by[0] | keys_unsorted | join(",")' printed)" = \
        owner,group,app,host,pid,mode,waited_ms,left_ms,handle ]
    check [ "$(jq -r '.mode + .held_by[0].host + .waited_for_by[0].mode' printed)" = "write$(hostname)read" ]
}

test_json_of_names_that_are_no_text_is_json_all_the_same() {
    local name=$'by\xffte'
    hold "$name"
    eventually crowd "$name" 1 0
    hold $'li\nne\e[31m'
    eventually crowd $'li\nne\e[31m' 1 0
    expect_exit 0 "$latchkey" ls --json
    check [ "$(wc -l <printed)" -eq 2 ]
    check [ "$(jq -r '.holders' printed | paste -sd,)" = 1,1 ]
    check [ "$(jq -c '.name' printed | sort | paste -sd,)" = '"by?te","li\nne\u001b[31m"' ]
}

test_a_name_gives_no_orders_to_a_terminal() {
    local name=$'li\nne\e[31m\u009b5m'
    hold "$name"
    eventually crowd "$name" 1 0
    expect_exit 0 "$latchkey" ls
    check [ "$(wc -l <printed)" -eq 2 ]
    expect_printed 'li?ne?[31m??5m'
    expect_exit 0 "$latchkey" inspect "$name"
    check [ "$(head -1 printed)" = 'lock     li?ne?[31m??5m' ]
    expect_exit 1 "$latchkey" ls $'no\x9b31m\xe4ne\xc3'
    expect_said 'no?31m?ne?'
    expect_exit 1 "$latchkey" ls $'none\n\e[31m'
    expect_one_line
    expect_said 'none??[31m'
    on_terminal n "$latchkey" release "$name"
    check [ $? -eq 1 ]
    expect_printed 'li?ne?[31m??5m'
    check [ "$(grep -c $'\e' printed)" -eq 0 ]
}

test_colour_is_for_terminals_alone() {
    hold coloured
    eventually crowd coloured 1 0
    expect_exit 0 "$latchkey" ls
    check [ "$(grep -c $'\e' printed)" -eq 0 ]
    check on_terminal "" "$latchkey" ls
    check grep -qF $'\e[1mLOCK' printed
    check on_terminal "" "$latchkey" inspect coloured
    check grep -qF $'\e[1mcoloured\e[0m' printed
    check on_terminal "" "$latchkey" ls --json
    check [ "$(grep -c $'\e' printed)" -eq 0 ]
    local term
    for term in '' dumb; do
        check on_terminal "" env TERM="$term" "$latchkey" ls
        expect_printed coloured
        check [ "$(grep -c $'\e' printed)" -eq 0 ]
    done
}

test_no_color_is_heeded() {
    hold coloured
    eventually crowd coloured 1 0
    export NO_COLOR=1
    check on_terminal "" "$latchkey" ls
    expect_printed coloured
    check [ "$(grep -c $'\e' printed)" -eq 0 ]
    check on_terminal "" "$latchkey" inspect coloured
    expect_printed coloured
    check [ "$(grep -c $'\e' printed)" -eq 0 ]
}

test_colours_do_not_move_columns() {
    hold coloured
    eventually crowd coloured 1 0
    check on_terminal "" "$latchkey" ls
    check [ "$(sed 's/\x1b\[[0-9]*m//g; s/\r$//' printed)" = "$("$latchkey" ls)" ]
}

test_release_asks_and_takes_no_for_an_answer() {
    local got answer
    hold asked
    eventually crowd asked 1 0
    for answer in n "" N maybe; do
        on_terminal "${answer:- }" "$latchkey" release asked
        got=$?
        check [ "$got" -eq 1 ]
        expect_printed 'lock "asked"'
        expect_printed 'not released'
        check crowd asked 1 0
    done
}

test_release_asks_and_takes_yes_for_an_answer() {
    hold asked
    eventually crowd asked 1 0
    check on_terminal y "$latchkey" release asked
    ends_with 79 "$begun"
    check "$latchkey" run asked true # otherwise it would stay abandoned
}

test_release_without_a_terminal_needs_yes() {
    hold kept
    eventually crowd kept 1 0
    expect_exit 64 "$latchkey" release kept </dev/null
    expect_one_line
    expect_said --yes
    expect_exit 64 "$latchkey" release kept <<<y
    expect_one_line
    check crowd kept 1 0
    expect_exit 0 "$latchkey" release kept --yes </dev/null
    check [ ! -s said ]
    ends_with 79 "$begun"
    check "$latchkey" run kept true
}

test_release_of_what_nobody_holds_is_1() {
    expect_exit 1 "$latchkey" release -y nobody
    expect_one_line
    expect_said nobody
}

test_release_of_one_owner_spares_the_others() {
    hold -s --owner one shared
    local one=$begun
    hold -s --owner two shared
    local two=$begun
    eventually crowd shared 2 0
    expect_exit 1 "$latchkey" release --yes --owner three shared
    expect_one_line
    expect_said three
    check crowd shared 2 0
    expect_exit 0 "$latchkey" release --yes --owner one shared
    ends_with 79 "$one"
    check [ "$("$latchkey" inspect -j shared | jq -r '.held_by[].owner')" = two ]
    expect_exit 64 "$latchkey" release --yes --owner '' shared
    expect_one_line
    check crowd shared 1 0
    : >go
    ends_with 0 "$two"
}

test_a_lock_that_a_writer_lost_is_shown_as_abandoned() {
    hold left
    eventually crowd left 1 0
    check "$latchkey" release -y left
    ends_with 79 "$begun"
    expect_exit 0 "$latchkey" ls left
    check grep -qE '^left +abandoned +0 +0 +-$' printed
    expect_exit 0 "$latchkey" inspect left
    check [ "$(sed -n 2p printed)" = "state    nobody holds it, 0 wait" ]
    expect_printed 'abandoned: a writer was lost'
    check [ "$("$latchkey" ls -j left | jq -c '[.mode, .abandoned]')" = '["none",true]' ]
    check "$latchkey" run left true
    expect_exit 1 "$latchkey" ls left
}

run_tests
