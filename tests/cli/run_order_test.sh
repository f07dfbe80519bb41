# Many at once: writers exclude each other, readers share the lock, and the queue keeps its order.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

test_two_hundred_keep_a_counter_and_their_order() {
    local number
    hold a
    echo 0 >counter
    for number in {1..200}; do
        # shellcheck disable=SC2016
        "$latchkey" run a sh -c 'read -r n <counter; echo $((n + 1)) >counter; echo "$1" >>order' - "$number" &
        eventually waits a "$number"
    done
    echo >stop
    wait
    [ "$(cat counter)" -eq 200 ] || fail "counted $(cat counter)"
    seq 200 | cmp - order || fail "out of order"
}

test_two_readers_overlap() {
    local one other
    # shellcheck disable=SC2016
    "$latchkey" run -s a sh -c 'echo >one; while [ ! -e other ]; do sleep 0.01; done' &
    one=$!
    # shellcheck disable=SC2016
    "$latchkey" run --shared a sh -c 'echo >other; while [ ! -e one ]; do sleep 0.01; done' &
    other=$!
    wait "$one" || fail "ended with $?"
    wait "$other" || fail "ended with $?"
}

test_a_writer_overlaps_with_nobody() {
    cat >writes <<'END'
mkdir writer || echo "two writers" >>bad
for reader in reader.*; do [ ! -e "$reader" ] || echo "a writer beside $reader" >>bad; done
sleep 0.005
for reader in reader.*; do [ ! -e "$reader" ] || echo "a writer beside $reader" >>bad; done
rmdir writer
echo x >>written
END
    cat >reads <<'END'
echo >"reader.$$"
[ ! -e writer ] || echo "a reader beside a writer" >>bad
sleep 0.005
[ ! -e writer ] || echo "a reader beside a writer" >>bad
rm "reader.$$"
END
    local policy
    for policy in fair phase-fair prefer-writer prefer-reader; do
        for _ in {1..4}; do
            (for _ in {1..6}; do "$latchkey" run --policy "$policy" a sh writes; done) &
            (for _ in {1..6}; do "$latchkey" run -s --policy "$policy" a sh reads; done) &
        done
        wait
    done
    [ ! -e bad ] || fail "$(sort bad | uniq -c)"
    [ "$(wc -l <written)" -eq 96 ] || fail "$(wc -l <written) writers"
}

test_a_reader_that_comes_after_a_writer_waits_for_it() {
    hold -s a
    "$latchkey" run a sh -c 'echo write >>order' &
    eventually waits a 1
    "$latchkey" run -s a sh -c 'echo read >>order' &
    eventually waits a 2
    echo >stop
    wait
    [ "$(cat order)" = "write
read" ] || fail "$(cat order)"
}

test_one_that_gives_up_leaves_its_place() {
    hold a
    "$latchkey" run a sh -c 'echo first >>order' &
    eventually waits a 1
    expect_exit 1 "$latchkey" run -w 0.05 a true
    waits a 1 || fail "$("$latchkey" inspect a)"
    "$latchkey" run a sh -c 'echo last >>order' &
    eventually waits a 2
    echo >stop
    wait
    [ "$(cat order)" = "first
last" ] || fail "$(cat order)"
}

run_tests
