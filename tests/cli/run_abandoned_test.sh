# `latchkey run` after a writer died with the lock.
# shellcheck shell=bash disable=SC2317,SC2016,SC2119
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

# The mark stays after the test, so each test uses a different lock.
tell='echo "abandoned: ${LATCHKEY_ABANDONED-no}"'

# abandon WORD…: kills a `run WORD…`. The lock is free when its lease has expired.
abandon() {
    { "$latchkey" run --lease 0.5 "$@" sh -c "$kill_run"; } 2>/dev/null
    [ $? -eq 137 ] || fail "not killed"
}

test_the_command_knows_from_its_environment() {
    abandon b
    expect_exit 0 "$latchkey" run b sh -c "$tell"
    expect_printed 'abandoned: 1'
    [ ! -s said ] || fail "$(cat said)"
}

test_without_a_mark_the_environment_says_nothing() {
    LATCHKEY_ABANDONED=1 expect_exit 0 "$latchkey" run c sh -c "$tell"
    expect_printed 'abandoned: no'
}

test_a_reader_is_told_and_the_next_one_too() {
    abandon d
    for _ in 1 2; do
        expect_exit 0 "$latchkey" run -s d sh -c "$tell"
        expect_printed 'abandoned: 1'
    done
}

test_a_writer_that_was_told_clears_the_mark() {
    abandon e
    expect_exit 0 "$latchkey" run e true
    expect_exit 0 "$latchkey" run e sh -c "$tell"
    expect_printed 'abandoned: no'
}

test_verbose_says_it() {
    abandon f
    expect_exit 0 "$latchkey" run --verbose --on-abandoned run f true
    expect_said 'lock "f": its last writer did not release it and may have left its work half-done'
    expect_exit 0 "$latchkey" run --verbose f true
    ! grep -q 'half-done' said || fail "$(cat said)"
}

test_with_fail_the_command_is_not_run_and_the_next_one_is_told_too() {
    abandon g
    for _ in 1 2 3; do
        expect_exit 80 "$latchkey" run -w 30 --on-abandoned fail g touch ran
        expect_one_line
        expect_said 'lock "g": its last writer did not release it'
    done
    [ ! -e ran ] || fail "it ran"
    expect_exit 0 "$latchkey" run -n g sh -c "$tell"
    expect_printed 'abandoned: 1'
    expect_exit 0 "$latchkey" run -n --on-abandoned fail g touch ran
    check test -e ran
}

test_with_fail_a_reader_leaves_the_mark_too() {
    abandon h
    for _ in 1 2; do
        expect_exit 80 "$latchkey" run -s --on-abandoned fail h touch ran
    done
    [ ! -e ran ] || fail "it ran"
    expect_exit 80 "$latchkey" run -n --on-abandoned fail h touch ran
}

test_with_fail_all_in_the_queue_are_told() {
    local one other
    abandon --lease 300 i
    begin "$latchkey" run --on-abandoned fail i touch ran 2>said.one
    one=$begun
    begin "$latchkey" run --on-abandoned fail i touch ran 2>said.other
    other=$begun
    eventually waits i 2
    check "$latchkey" release --yes i
    ends_with 80 "$one"
    ends_with 80 "$other"
    [ ! -e ran ] || fail "it ran"
}

# The time until the server drops the mark, in ms.
time_left() {
    "$(command -v redis-cli || command -v valkey-cli)" -s "$socket" --raw eval \
        'local key = redis.call("KEYS", "*")[1]; return redis.call("PTTL", key)' 0
}

mark_is_old() {
    [ "$(time_left)" -lt 3597000 ]
}

test_with_fail_the_mark_has_its_full_time_again() {
    local before after
    start_server
    eventually "$latchkey" ls -u "$url"
    abandon -u "$url" j
    expect_exit 0 "$latchkey" run -u "$url" -s -w 30 j true # so that the dead writer is dropped
    eventually mark_is_old
    before=$(time_left)
    expect_exit 80 "$latchkey" run -u "$url" --on-abandoned fail j true
    after=$(time_left)
    [ "$after" -gt "$before" ] || fail "$before ms, and then $after ms"
}

test_with_fail_and_an_owner_other_holds_of_that_owner_stay() {
    export latchkey
    abandon k
    expect_exit 4 "$latchkey" run --owner me k sh -c '
        "$latchkey" run --owner me --lease 0.5 --on-abandoned fail k touch ran
        echo $? >code
        "$latchkey" run -n --owner other k true
        echo $? >other
        exit 4'
    check [ "$(cat code)" = 80 ]
    check [ "$(cat other)" = 1 ]
    [ ! -e ran ] || fail "it ran"
}

test_with_fail_and_an_owner_the_mark_stays() {
    abandon l
    expect_exit 80 "$latchkey" run --owner me --lease 0.5 --on-abandoned fail l touch ran
    expect_exit 80 "$latchkey" run -w 30 --on-abandoned fail l touch ran
    [ ! -e ran ] || fail "it ran"
}

test_with_fail_and_without_a_mark_the_command_runs() {
    expect_exit 3 "$latchkey" run --on-abandoned fail m sh -c 'exit 3'
    expect_exit 64 "$latchkey" run --on-abandoned odd m true
    expect_one_line
}

run_tests
