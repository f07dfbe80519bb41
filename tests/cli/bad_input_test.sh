# Invalid input: the command prints one line that says why, exits with the right code, and shows no secret.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2016,SC2317 # other shells expand it; tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

secret='s3cr3t-of-the-test'

# One line on stderr that names the command, nothing on stdout, no password.
expect_refusal() {
    expect_exit "$@"
    expect_one_line
    [[ $(cat said) = latchkey* ]] || fail "who says this? $(cat said)"
    [ ! -s printed ] || fail "printed: $(cat printed)"
    expect_no_secret
}

expect_no_secret() {
    if grep -aF -- "$secret" said printed; then
        fail "the secret is told"
    fi
}

# Starts a server with a password on the socket $PWD/guarded. It ends with the test.
start_guarded_server() {
    local program
    program=$(command -v redis-server || command -v valkey-server) || fail "no server is installed"
    # The configuration comes on stdin, so that the password is in no command line.
    begin sh -c 'exec "$0" - <guarded.conf >guarded.log' "$program"
    guarded=unix://:$secret@$PWD/guarded
    eventually "$latchkey" ls -u "$guarded"
}

write_guarded_configuration() {
    printf '%s\n' "port 0" "unixsocket $PWD/guarded" "requirepass $secret" "save ''" >guarded.conf
}

test_commands_that_are_not_there_are_64() {
    local word
    for word in no-such --no-such -z '' 'two words' $'two\nlines' "$(printf 'x%.0s' {1..3000})"; do
        expect_refusal 64 "$latchkey" "$word"
    done
    expect_refusal 64 "$latchkey"
    expect_refusal 64 "$latchkey" help no-such
    expect_refusal 64 "$latchkey" help run ls
}

test_options_that_are_not_there_are_64_and_named() {
    local command
    for command in run ls inspect watch top release doctor server bench; do
        expect_refusal 64 "$latchkey" "$command" --no-such
        [ "$command" = server ] || expect_refusal 64 "$latchkey" "$command" -u local: --no-such
        expect_said "latchkey $command: there is no option --no-such;"
        expect_refusal 64 "$latchkey" "$command" -Z
        expect_said "there is no option -Z;"
        expect_refusal 64 "$latchkey" "$command" --verbose -Zq
        expect_said "there is no option -Z;"
        expect_refusal 64 "$latchkey" "$command" --tl
        expect_said "there is no option --tl;"
        expect_refusal 64 "$latchkey" "$command" $'--no\nsuch'
    done
    expect_refusal 64 "$latchkey" ls --json -jZ
    expect_said "there is no option -Z;"
}

# Options of all commands may come before or after the subcommand, other options only after it.
test_an_option_of_one_command_before_its_name_is_64_and_sent_there() {
    expect_refusal 64 "$latchkey" -n run a true
    expect_said '-n is an option of `latchkey run`; write it after run;'
    expect_refusal 64 "$latchkey" --wait=5 run a true
    expect_said '--wait is an option of `latchkey run`; write it after run;'
    expect_refusal 64 "$latchkey" --interval 1s watch
    expect_said '--interval is an option of `latchkey watch` and `latchkey top`; write it after the command;'
    expect_refusal 64 "$latchkey" -u local: --no-such ls
    expect_said "latchkey: there is no option --no-such;"
    expect_refusal 64 "$latchkey" --json run a true
    expect_said "latchkey run: there is no option --json;"
    expect_refusal 64 "$latchkey" -u
    expect_said "-u needs a value;"
    expect_refusal 64 "$latchkey" -u local:
    expect_said "no command given"
    expect_refusal 64 "$latchkey" "--bad=redis://:$secret@nowhere.invalid" ls
    expect_refusal 64 "$latchkey" -u "redis://:$secret@nowhere.invalid" no-such
}

test_values_that_are_missing_are_64_and_named() {
    local words
    for words in "run -w" "run -E" "run -u" "run --lease" "run --policy" "run --on-lost" "run --owner" \
        "run -c" "ls -u" "ls --url" "ls --verbose -ju" "ls --prefix" "inspect -u" "inspect --tls-ca" \
        "release --owner" "release -yu"; do
        # shellcheck disable=SC2086
        expect_refusal 64 "$latchkey" $words
        expect_said "needs a value;"
    done
    expect_refusal 64 "$latchkey" ls --verbose -ju
    expect_said "-u needs a value;"
}

test_words_that_cannot_be_are_64_and_told_what_can() {
    expect_refusal 64 "$latchkey" run --policy nice a true
    expect_said "--policy cannot be nice; it can be fair, phase-fair, prefer-writer, prefer-reader"
    expect_refusal 64 "$latchkey" run --on-lost cry a true
    expect_said "--on-lost cannot be cry; it can be term, kill, ignore"
}

test_an_empty_url_is_64_and_not_the_private_server() {
    LATCHKEY_URL=redis://127.0.0.1:1 expect_refusal 64 "$latchkey" run -u "" a true
    expect_said "the URL is empty"
    expect_refusal 64 "$latchkey" doctor -u ""
    expect_said "the URL is empty"
}

test_values_that_are_too_many_are_64() {
    expect_refusal 64 "$latchkey" ls --json=5
    expect_said "--json takes no value;"
    expect_refusal 64 "$latchkey" release --yes=no a
    expect_refusal 64 "$latchkey" run --nonblock=1 a true
}

test_words_that_are_missing_or_too_many_are_64() {
    local words
    for words in "run" "run a" "run a --" "run -s" "ls a b" "inspect" "inspect a b" "release" \
        "release -y" "release a b" "release --yes a b"; do
        # shellcheck disable=SC2086
        expect_refusal 64 "$latchkey" $words
    done
}

test_times_that_are_none_are_64_and_named() {
    local time
    for time in '' . soon -1 1.2.3 1e5 0x10 5w '5 s' ' 5' 5S 1h30m inf nan 99999999999d \
        "$(printf '9%.0s' {1..60})" $'5\n'; do
        expect_refusal 64 "$latchkey" run -w "$time" a true
        expect_said "is not a time"
        expect_refusal 64 "$latchkey" run --lease "$time" a true
        expect_said "is not a time"
    done
    for time in 0 99ms 25h 2d; do
        expect_refusal 64 "$latchkey" run --lease "$time" a true
        expect_said "it must be 0.1s to 24h"
    done
    for time in 0 0.5 .5 500ms 30s 5m 2h 1d 10000000d; do
        expect_exit 0 "$latchkey" run -w "$time" a true
    done
}

test_names_that_cannot_be_are_64() {
    local name
    for name in '' "$(printf 'x%.0s' {1..513})" "$(printf 'x%.0s' {1..100000})"; do
        expect_refusal 64 "$latchkey" run "$name" true
        expect_said "1 to 512 bytes"
        expect_refusal 64 "$latchkey" inspect "$name"
        expect_said "1 to 512 bytes"
        expect_refusal 64 "$latchkey" release --yes "$name"
        expect_said "1 to 512 bytes"
    done
    expect_refusal 64 "$latchkey" ls "$(printf 'x%.0s' {1..513})"
    expect_exit 0 "$latchkey" run "$(printf 'x%.0s' {1..512})" true
}

test_other_values_that_cannot_be_are_64() {
    expect_refusal 64 "$latchkey" run --owner '' a true
    expect_refusal 64 "$latchkey" run --owner "$(printf 'x%.0s' {1..129})" a true
    expect_refusal 64 "$latchkey" ls --prefix ''
    expect_refusal 64 "$latchkey" ls --prefix 'a{b}'
    expect_refusal 64 "$latchkey" ls --prefix "$(printf 'x%.0s' {1..65})"
    expect_refusal 64 "$latchkey" ls --tls-ca /no/such -u rediss://127.0.0.1:1
    expect_said /no/such
}

test_urls_that_cannot_be_are_64_and_keep_their_secret() {
    local url
    for url in ":$secret@host" "no-such://:$secret@host" "redis://:$secret@host:port" \
        "redis://:$secret@host:70000" "redis://:$secret/@host" "redis://:%zz$secret@host" \
        "redis://:$secret@host/db" "unix://:$secret@relative?db=x" "unix:///path?password=$secret"; do
        expect_refusal 64 "$latchkey" ls -u "$url"
        expect_refusal 64 "$latchkey" run --verbose --url="$url" a true
        expect_refusal 64 env LATCHKEY_URL="$url" "$latchkey" inspect a
    done
    expect_refusal 64 "$latchkey" ls --urk="redis://:$secret@host"
    expect_said "there is no option --urk;"
    expect_refusal 64 "$latchkey" ls --verbose="redis://:$secret@host"
}

test_a_url_where_none_belongs_keeps_its_secret() {
    local words url
    for url in "redis://user:$secret@host" "redis://:$secret/with/slashes@host/1"; do
        for words in "" "help" "doctor" "top" "bench" "server" "ls a" "watch a"; do
            # shellcheck disable=SC2086
            expect_refusal 64 "$latchkey" $words "$url"
        done
        expect_refusal 1 "$latchkey" ls "$url"
        expect_refusal 64 "$latchkey" ls --no-such="$url"
        expect_refusal 64 "$latchkey" watch --interval "$url"
        expect_refusal 64 "$latchkey" run -w "$url" a true
    done
    expect_refusal 64 "$latchkey" doctor "redis://user:$secret@host"
    expect_said "redis://user:xxxx"
}

test_a_server_that_cannot_be_reached_is_69() {
    local words
    for words in "run a true" "run -n a true" "ls" "inspect a" "release --yes a" "watch" "doctor" \
        "doctor --json" "bench -t 10ms"; do
        # shellcheck disable=SC2086
        expect_refusal 69 env LATCHKEY_URL=unix:///no/such/socket "$latchkey" $words
        expect_said /no/such/socket
        # shellcheck disable=SC2086
        expect_refusal 69 env LATCHKEY_URL="redis://user:$secret@127.0.0.1:1" "$latchkey" $words
        expect_said 127.0.0.1:1
    done
}

test_what_is_no_server_is_refused_in_one_line() {
    : >plain
    expect_refusal 69 "$latchkey" ls -u "unix://$PWD/plain"
}

test_a_wrong_password_is_77() {
    write_guarded_configuration
    start_guarded_server
    local words
    for words in "run a true" "run -n a true" "ls" "inspect a" "release --yes a" "watch" "doctor" \
        "doctor --json" "bench -t 10ms"; do
        # shellcheck disable=SC2086
        expect_refusal 77 env LATCHKEY_URL="unix://$PWD/guarded" "$latchkey" $words
        # shellcheck disable=SC2086
        expect_refusal 77 env LATCHKEY_URL="unix://:not-$secret@$PWD/guarded" "$latchkey" $words
        # shellcheck disable=SC2086
        expect_refusal 77 env LATCHKEY_URL="unix://$PWD/guarded" LATCHKEY_PASSWORD="$secret-not" \
            "$latchkey" $words
        expect_said "$PWD/guarded"
    done
    expect_exit 0 env LATCHKEY_PASSWORD="$secret" "$latchkey" run -u "unix://$PWD/guarded" a true
}

test_a_secret_is_told_to_nobody() {
    write_guarded_configuration
    start_guarded_server
    local form words run
    for words in "run --verbose a true" "run --verbose -s a true" "ls --verbose" "ls --verbose -j" \
        "inspect --verbose a" "inspect --verbose -j a" "bench --verbose -t 10ms"; do
        # shellcheck disable=SC2086
        expect_exit 0 env LATCHKEY_URL="$guarded" "$latchkey" $words
        expect_no_secret
        for form in "-u$guarded" "--url=$guarded"; do
            # shellcheck disable=SC2086
            expect_exit 0 "$latchkey" ${words/--verbose/--verbose $form}
            expect_no_secret
        done
    done
    for words in "doctor --verbose" "doctor --verbose --json"; do
        # shellcheck disable=SC2086
        expect_exit 1 env LATCHKEY_URL="$guarded" "$latchkey" $words
        expect_printed replicas
        expect_no_secret
    done
    # The command lines and the logs of a holder and of a waiter.
    mkfifo stop
    begin "$latchkey" run --verbose -u "$guarded" a sh -c 'read -r line <stop' 2>holder.said
    local holder=$begun
    eventually "$latchkey" ls -u "$guarded" a
    local waiters=()
    for form in "-u $guarded" "-u$guarded" "--url=$guarded" "--url $guarded"; do
        # shellcheck disable=SC2086
        begin "$latchkey" run --verbose $form a true 2>>waiter.said
        waiters+=("$begun")
    done
    waiting() {
        [ "$("$latchkey" ls -u "$guarded" --json a | jq .waiters)" -eq 4 ]
    }
    eventually waiting
    for run in "$holder" "${waiters[@]}"; do
        check grep -qa run "/proc/$run/cmdline"
        ! grep -aF "$secret" "/proc/$run/cmdline" || fail "the command line shows the secret"
    done
    echo >stop
    for run in "$holder" "${waiters[@]}"; do
        check wait "$run"
    done
    ! grep -F "$secret" holder.said waiter.said guarded.log || fail "a log shows the secret"
}

# crowd COUNT: makes COUNT locks with names so long that no buffer holds a list of them.
crowd() {
    local n name
    mkfifo stop
    for n in $(seq "$1"); do
        name=$(printf "%s-$n" "$(printf 'x%.0s' {1..500})")
        begin "$latchkey" run "$name" sh -c 'read -r line <stop'
    done
    many() {
        [ "$("$latchkey" ls | wc -l)" -gt "$1" ]
    }
    eventually many "$1"
}

# closed WORD…: the reader of the output has gone before there is any.
closed() {
    mkfifo output
    (
        eval "exec 3<>output 4>output 3<&-"
        "$@" >&4 2>said 3>&- 4>&-
    )
    local got=$?
    rm output
    [ "$got" -eq 141 ] || fail "$* ended with $got, not 141: $(cat said)"
    [ ! -s said ] || fail "$*: $(cat said)"
}

test_a_reader_who_leaves_is_no_failure_to_talk_about() {
    closed "$latchkey" help
    closed "$latchkey" inspect a
    closed "$latchkey" inspect --json a
    crowd 20
    closed "$latchkey" ls
    closed "$latchkey" ls --json
    "$latchkey" ls 2>said | head -0
    [ ! -s said ] || fail "$(cat said)"
    "$latchkey" ls --json 2>said | head -1 >printed
    check [ "$(wc -l <printed)" -eq 1 ]
    [ ! -s said ] || fail "$(cat said)"
}

test_output_that_cannot_be_written_is_70() {
    crowd 1
    local words
    for words in "ls" "ls --json" "inspect a" "help" "--version" "doctor" "doctor --json" "server status" \
        "server status --json" "watch" "watch --json" "bench -t 10ms" "bench -t 10ms --json"; do
        # shellcheck disable=SC2086
        "$latchkey" $words >/dev/full 2>said
        check [ $? -eq 70 ]
        expect_one_line
        # shellcheck disable=SC2086
        "$latchkey" $words >&- 2>said
        check [ $? -eq 70 ]
        expect_one_line
    done
}

test_nobody_to_hear_it_changes_no_code() {
    "$latchkey" ls --no-such 2>&-
    check [ $? -eq 64 ]
    "$latchkey" inspect a 2>&- >/dev/null
    check [ $? -eq 0 ]
    "$latchkey" ls -u unix:///no/such/socket 2>/dev/full
    check [ $? -eq 69 ]
}

# Otherwise a connection would get its number, and output would go to the server.
test_a_descriptor_that_is_closed_stays_useless() {
    begin "$latchkey" run a sh -c '[ -e /proc/$$/fd/1 ] || [ -e /proc/$$/fd/2 ] || : >closed
        exec sleep 60' >&- 2>&-
    eventually test -e closed
    check [ "$(readlink "/proc/$begun/fd/1" "/proc/$begun/fd/2")" = $'/dev/null\n/dev/null' ]
}

run_tests
