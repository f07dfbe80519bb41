# The options of `latchkey run`, and the environment of its command.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

shows() {
    "$latchkey" inspect "$1" >seen && grep -q -- "$2" seen
}

test_a_lock_is_exclusive_unless_it_is_shared() {
    local words
    hold -s a
    for words in "" "-x" "-e" "--exclusive" "--write" "-s -x"; do
        # shellcheck disable=SC2086
        expect_exit 1 "$latchkey" run -n $words a true
    done
    for words in "-s" "--shared" "-x -s"; do
        # shellcheck disable=SC2086
        expect_exit 0 "$latchkey" run -n $words a true
    done
    let_go
}

test_all_spellings_of_not_waiting() {
    local words
    hold a
    for words in "-n" "--nonblock" "--nb" "-w 0" "-w0" "--wait 0" "--timeout=0" "-w 0.0" "-w 0s" "-nx" "-n -w 1h" "-w 1h -n"; do
        # shellcheck disable=SC2086
        expect_exit 1 timeout 60 "$latchkey" run $words a true
        [ ! -s said ] || fail "$words: $(cat said)"
    done
    let_go
}

test_a_time_may_have_a_fraction_and_a_unit() {
    local words began
    hold a
    for words in "-w 0.05" "-w .05" "-w 50ms" "--wait=0.05s" "--timeout 0.001m"; do
        began=${EPOCHREALTIME/./}
        # shellcheck disable=SC2086
        expect_exit 1 "$latchkey" run $words a true
        [ $((${EPOCHREALTIME/./} - began)) -ge 50000 ] || fail "$words: gave up early"
    done
    let_go
}

test_the_conflict_code_is_what_was_asked_for() {
    hold a
    expect_exit 99 "$latchkey" run -n -E 99 a true
    expect_exit 0 "$latchkey" run -n -E0 a true
    expect_exit 255 "$latchkey" run -n --conflict-exit-code=255 a true
    expect_exit 3 "$latchkey" run -w 0.05 --conflict-exit-code 3 a true
    let_go
}

test_a_text_for_the_shell_stands_before_or_behind_the_name() {
    export SHELL=/bin/sh
    expect_exit 5 "$latchkey" run -c 'echo one; exit 5' a
    expect_printed one
    expect_exit 6 "$latchkey" run a -c 'echo two; exit 6'
    expect_printed two
    expect_exit 0 "$latchkey" run --command 'echo three' a
    expect_printed three
    expect_exit 0 "$latchkey" run a --command 'echo four'
    expect_printed four
    expect_exit 64 "$latchkey" run a -c 'true' more
}

test_the_shell_is_that_of_the_user() {
    printf '#!/bin/sh\necho "my shell was given: $*"\n' >shell
    chmod +x shell
    SHELL=$PWD/shell expect_exit 0 "$latchkey" run a -c 'some text'
    expect_printed "my shell was given: -c some text"
    unset SHELL
    expect_exit 0 "$latchkey" run a -c 'echo plain'
    expect_printed plain
}

test_two_dashes_end_the_options() {
    expect_exit 0 "$latchkey" run -- a echo -n -s
    expect_exit 0 "$latchkey" run a -- echo x -- y
    expect_printed "x -- y"
    expect_exit 0 "$latchkey" run a echo --help -x
    expect_printed "--help -x"
    printf '#!/bin/sh\necho dashed\n' >-c
    chmod +x ./-c
    PATH=$PWD:$PATH expect_exit 0 "$latchkey" run a -- -c
    expect_printed dashed
}

# A command of this name exists, and would run if the word were taken for a command.
test_an_option_behind_the_name_is_refused_and_sent_before_it() {
    local word
    for word in -n --nonblock -w5 --wait=5 -sn -cx --help -u --no-such -Z ---; do
        printf '#!/bin/sh\necho ran >ran\n' >"./$word"
        chmod +x "./$word"
        PATH=$PWD:$PATH expect_exit 64 "$latchkey" run a "$word" true
        expect_one_line
        expect_said "${word%%=*} comes after lock \"a\": options go before NAME;"
        [ ! -e ran ] || fail "$word was run"
    done
    PATH=$PWD:$PATH expect_exit 0 "$latchkey" run a -- -n true
    check test -e ran
    expect_exit 64 "$latchkey" run a --url=redis://:s3cr3t@host true
    ! grep -q s3cr3t said || fail "the password is in: $(cat said)"
}

test_words_of_the_command_are_passed_as_they_are() {
    # shellcheck disable=SC2016
    expect_exit 0 "$latchkey" run a printf '[%s]' 'a b' '' '$HOME' '*'
    # shellcheck disable=SC2016
    [ "$(cat printed)" = '[a b][][$HOME][*]' ] || fail "$(cat printed)"
}

test_close_is_taken_for_the_sake_of_flock() {
    expect_exit 0 "$latchkey" run -o a true
    expect_exit 0 "$latchkey" run --close a true
}

test_the_command_has_no_descriptor_of_ours() {
    sh -c 'ls /proc/$$/fd' >inherited
    expect_exit 0 "$latchkey" run a sh -c 'ls /proc/$$/fd'
    cmp -s inherited printed || fail "$(cat inherited), and under the lock $(cat printed)"
}

# Otherwise a connection would get this descriptor number, and messages would go to the server.
test_descriptors_that_came_closed_are_used_for_nothing() {
    # shellcheck disable=SC2016
    "$latchkey" run a sh -c '
        run=$(sed "s/.*) . //; s/ .*//" "/proc/$PPID/stat") # the parent is the guard
        for fd in 0 1 2; do
            readlink "/proc/$run/fd/$fd"
            [ ! -e "/proc/$$/fd/$fd" ] || [ "$fd" -eq 1 ] || echo "the command has $fd"
        done >seen' <&- >&- 2>&-
    [ "$(sort seen | uniq -c | xargs)" = "3 /dev/null" ] || fail "$(cat seen)"
}

test_the_policy_is_that_of_the_first_holder() {
    local policy
    for policy in fair phase-fair prefer-writer prefer-reader; do
        (
            mkdir "$policy"
            cd "$policy" || exit
            hold --policy "$policy" "p:$policy"
            shows "p:$policy" "policy   $policy" || fail "$(cat seen)"
            let_go
        ) || exit 1
    done
}

test_the_lease_is_what_was_asked_for() {
    hold --lease 2h a
    shows a '1h59m\|2h' || fail "$(cat seen)"
    let_go
    expect_exit 0 "$latchkey" run --lease 0.1 a true
    expect_exit 0 "$latchkey" run --lease=100ms a true
    expect_exit 64 "$latchkey" run --lease 0.099 a true
    expect_exit 64 "$latchkey" run --lease 25h a true
}

test_a_short_lease_is_renewed_as_long_as_the_command_runs() {
    "$latchkey" run --lease 1 a sh -c 'echo >held; while [ ! -e enough ]; do sleep 0.01; done' &
    eventually test -e held
    # After two failed waits of one lease each, the time of two leases has passed.
    for _ in 1 2; do
        expect_exit 1 "$latchkey" run -w 1 a true
    done
    echo >enough
    wait "$!" || fail "ended with $?"
}

test_the_owner_in_the_environment_enters_the_lock_of_the_parent() {
    export latchkey
    # shellcheck disable=SC2016
    expect_exit 0 "$latchkey" run a sh -c '"$latchkey" run -n --owner "$LATCHKEY_OWNER" a echo inside'
    expect_printed inside
    # shellcheck disable=SC2016
    expect_exit 1 "$latchkey" run a sh -c '"$latchkey" run -n a echo inside'
    # shellcheck disable=SC2016
    expect_exit 0 "$latchkey" run -n --owner me a sh -c 'echo "owner $LATCHKEY_OWNER"'
    expect_printed "owner me"
    expect_exit 64 "$latchkey" run --owner '' a true
    expect_one_line
}

test_the_command_knows_the_lock_by_its_environment() {
    local first second
    # shellcheck disable=SC2016
    expect_exit 0 "$latchkey" run 'the name' sh -c 'echo "$LATCHKEY_NAME|$LATCHKEY_FENCE|$LATCHKEY_OWNER"'
    IFS='|' read -r name first owner <printed
    [ "$name" = 'the name' ] || fail "name: $name"
    [[ $first =~ ^[1-9][0-9]*$ ]] || fail "fence: $first"
    [ -n "$owner" ] || fail "no owner"
    # shellcheck disable=SC2016
    expect_exit 0 "$latchkey" run 'the name' sh -c 'echo "$LATCHKEY_FENCE"'
    second=$(cat printed)
    [ "$second" -gt "$first" ] || fail "fence $second after $first"
}

test_the_environment_is_otherwise_that_of_the_caller() {
    env -i A=1 LATCHKEY_LOCAL_DIR="$LATCHKEY_LOCAL_DIR" PATH="$PATH" LATCHKEY_NAME=stale \
        "$latchkey" run a env | sort >printed
    grep -q '^A=1$' printed || fail "$(cat printed)"
    [ "$(grep -c '^LATCHKEY_NAME=' printed)" -eq 1 ] || fail "$(cat printed)"
    grep -q '^LATCHKEY_NAME=a$' printed || fail "$(cat printed)"
    [ "$(wc -l <printed)" -eq 6 ] || fail "$(cat printed)"
}

test_stdin_and_stdout_are_those_of_the_command() {
    seq 100000 >numbers
    "$latchkey" run a cat <numbers >copy || fail "ended with $?"
    check cmp numbers copy
    # Input that the command does not read is left for the next command.
    printf 'one\ntwo\n' | {
        "$latchkey" run a true
        cat
    } >rest
    [ "$(wc -l <rest)" -eq 2 ] || fail "$(cat rest)"
}

test_verbose_says_what_it_does_and_otherwise_nothing_is_said() {
    expect_exit 0 "$latchkey" run a true
    [ ! -s said ] || fail "$(cat said)"
    expect_exit 0 "$latchkey" run --verbose a true
    [ -s said ] || fail "nothing was said"
    hold b
    expect_exit 1 "$latchkey" run --verbose -n b true
    expect_said 'lock "b" was not free in time'
    let_go
}

test_help_names_every_option() {
    local word
    expect_exit 0 "$latchkey" run --help
    for word in -s -x -e -n --nb -w --timeout -E -c -o --lease --policy --owner --on-lost -u --verbose; do
        expect_printed "$word"
    done
}

test_locks_of_other_prefixes_are_other_locks() {
    hold --prefix one a
    expect_exit 1 "$latchkey" run -n --prefix one a true
    expect_exit 0 "$latchkey" run -n --prefix two a true
    expect_exit 0 "$latchkey" run -n a true
    let_go
}

test_a_name_that_cannot_be_is_refused_with_a_reason() {
    expect_exit 64 "$latchkey" run '' true
    expect_one_line
    expect_exit 64 "$latchkey" run "$(printf '%0513d' 0)" true
    expect_one_line
}

run_tests
