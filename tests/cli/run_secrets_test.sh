# Nobody can see a password that `latchkey run` is given.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

password=pw-geheim-1

# Neither a command line of the process or its children nor a file contains the password.
expect_secret() {
    local pid
    for pid in "$1" $(cat child); do
        tr '\0' ' ' <"/proc/$pid/cmdline" >line
        [ -s line ] || fail "no command line of $pid"
        ! grep -q geheim line || fail "seen: $(cat line)"
    done
}

run_with() {
    run_as run --verbose "$@"
}

# run_as WORD…: the words before the lock name.
run_as() {
    mkfifo stop
    # shellcheck disable=SC2016
    "$latchkey" "$@" a sh -c 'echo $$ >child; read -r line <stop; env >environment' 2>said &
    eventually test -s child
    expect_secret "$!"
    echo >stop
    wait "$!" || fail "ended with $?: $(cat said)"
    [ -s said ] || fail "--verbose said nothing"
    ! grep -q geheim said || fail "seen: $(cat said)"
}

test_a_password_in_the_url_is_seen_neither_by_ps_nor_in_the_log() {
    start_server --requirepass "$password"
    run_with -u "unix://:$password@$socket"
    ! grep -q geheim environment || fail "the command was told"
}

test_the_long_form_hides_it_too() {
    start_server --requirepass "$password"
    run_with --url="unix://default:$password@$socket"
}

test_before_the_subcommand_it_is_hidden_too() {
    start_server --requirepass "$password"
    run_as --verbose -u "unix://:$password@$socket" run
    rm stop child
    run_as --verbose --url="unix://:$password@$socket" run
    rm stop child
    run_as --verbose -u "unix://:$password@/nowhere" run --url="unix://:$password@$socket"
}

test_a_waiter_hides_it_too() {
    start_server --requirepass "$password"
    mkfifo stop
    # shellcheck disable=SC2016
    "$latchkey" run -u "unix://:$password@$socket" a sh -c 'echo $$ >child; read -r line <stop' &
    eventually test -s child
    "$latchkey" run -u "unix://:$password@$socket" a true &
    eventually sh -c "'$latchkey' inspect -u 'unix://:$password@$socket' a | grep -q '1 wait'"
    expect_secret "$!"
    echo >stop
    wait "$!" || fail "ended with $?"
}

test_a_password_from_the_environment_works() {
    start_server --requirepass "$password"
    LATCHKEY_PASSWORD=$password expect_exit 0 "$latchkey" run -u "unix://$socket" a true
    LATCHKEY_URL="unix://:$password@$socket" expect_exit 0 "$latchkey" run a true
}

test_a_password_that_is_refused_is_77_and_not_shown() {
    start_server --requirepass "$password"
    expect_exit 77 "$latchkey" run --verbose -u "unix://:wrong-geheim@$socket" a true
    ! grep -q geheim said || fail "seen: $(cat said)"
    expect_exit 77 "$latchkey" run -u "unix://$socket" a true
    expect_one_line
}

test_a_server_that_is_not_there_is_named_without_it() {
    expect_exit 69 "$latchkey" run --verbose -u "unix://:$password@/no/such/socket" a true
    ! grep -q geheim said || fail "seen: $(cat said)"
    expect_said /no/such/socket
}

run_tests
