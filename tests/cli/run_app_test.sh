# The name that `latchkey run` shows for its holder, and the group of its readers.
# shellcheck shell=bash disable=SC2317,SC2016
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

# expect_app APP WORD…: the holder of `run WORD…`, whose command is `look` or contains its text, has this name.
expect_app() {
    local app=$1
    shift
    expect_exit 0 "$latchkey" run "$@"
    [ "$(cat printed)" = "$app" ] || fail "$*: $(cat printed)"
}

make_look() {
    export latchkey SHELL=/bin/sh
    printf '#!/bin/sh\n%s\n' '"$latchkey" inspect --json "$LATCHKEY_NAME" | jq -r ".held_by[0].app"' >"$1"
    chmod +x "$1"
}

test_the_holder_is_called_as_the_command() {
    make_look look
    make_look "two words"
    expect_app look a ./look
    expect_app look a "$PWD/look"
    expect_app look a "$PWD//look"
    expect_app "two words" a "./two words"
    PATH=$PWD:$PATH expect_app look a look
}

test_with_a_text_for_the_shell_it_is_called_as_its_first_word() {
    make_look look
    expect_app look a -c ' ./look; exit 0'
    expect_app look -c "$PWD/look" a
    expect_app true a -c 'true;./look'
    expect_app latchkey a -c '(./look)'
}

test_app_names_it() {
    make_look look
    expect_app 'nightly report' --app 'nightly report' a ./look
    expect_app 'nightly report' --app='nightly report' a -c ./look
    expect_exit 64 "$latchkey" run --app "$(printf '%0129d' 0)" a true
    expect_one_line
}

test_a_name_that_is_too_long_is_cut_between_characters() {
    local long
    long=$(printf '%0127d' 0)
    make_look "$long"é
    make_look "$long"12
    expect_app "$long" a "./$long"é
    expect_app "$long"1 a "./$long"12
}

test_a_waiter_has_its_name_too() {
    hold --app holder a
    begin "$latchkey" run a true
    eventually waits a 1
    check [ "$("$latchkey" inspect --json a | jq -r '.held_by[0].app, .waited_for_by[0].app' | xargs)" = "holder true" ]
    let_go
}

test_readers_of_one_group_share_and_groups_exclude_each_other() {
    hold -s --group blue a
    expect_exit 0 "$latchkey" run -n -s --group blue a true
    expect_exit 1 "$latchkey" run -n -s --group green a true
    expect_exit 1 "$latchkey" run -n -s a true
    let_go
    expect_exit 64 "$latchkey" run -s --group "$(printf '%065d' 0)" a true
    expect_one_line
}

test_a_writer_has_no_group() {
    hold --group blue a
    expect_exit 1 "$latchkey" run -n --group blue a true
    expect_exit 1 "$latchkey" run -n -s --group blue a true
    let_go
}

run_tests
