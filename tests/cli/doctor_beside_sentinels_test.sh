# The findings of `latchkey doctor` about sentinels, and about the master that they name.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/doctor_beside.sh"
read -r -a sentinels <<<"$TEST_SENTINELS"
master=${servers[0]}

# set_all NAME VALUE OLD: a setting of all sentinels.
set_all() {
    local port
    for port in "${sentinels[@]}"; do
        for_now "$port" SENTINEL SET latchkey "$1" "$2" -- SENTINEL SET latchkey "$1" "$3"
    done
}

test_sentinels_that_are_well_are_fine() {
    expect_exit 0 doctor
    expect_wrong
    for check in sentinels master quorum down-after failover role replicas; do
        expect_mark fine "$check"
    done
    expect_printed "redis://127.0.0.1:$master, the master of the sentinels, chosen by -u"
    expect_printed "3 of 3 sentinels of the URL answer; they know 3 in all"
    expect_printed "all name 127.0.0.1:$master"
    expect_printed "2 of 3 sentinels must agree"
    expect_printed "for about 30.0 s"
    expect_printed "2 connected"
    eventually is_fine lag
    expect_described
}

test_the_line_that_stops_a_master_that_is_cut_off_can_be_copied() {
    expect_exit 0 doctor
    expect_mark note min-replicas
    expect_printed "the sentinels promote"
    line=$(grep '^CONFIG SET ' printed) || fail "no line to copy in: $(cat printed)"
    # shellcheck disable=SC2086 # its words
    for_now "$master" $line -- CONFIG SET min-replicas-to-write 0
    expect_exit 0 doctor
    expect_mark fine min-replicas
    expect_printed "stops granting locks after 10 s"
}

test_a_master_that_refuses_writes_is_found() {
    for_now "$master" CONFIG SET min-replicas-to-write 3 -- CONFIG SET min-replicas-to-write 0
    expect_exit 1 doctor
    expect_wrong min-replicas
}

test_a_sentinel_that_is_silent_is_worth_a_note() {
    pause "${sentinels[2]}"
    expect_exit 0 doctor
    expect_mark note sentinel
    expect_printed "redis://127.0.0.1:${sentinels[2]}: "
    expect_mark fine sentinels
    expect_printed "2 of 3 sentinels of the URL answer"
}

test_too_few_sentinels_for_a_failover_are_found() {
    pause "${sentinels[1]}"
    pause "${sentinels[2]}"
    expect_exit 1 doctor
    expect_wrong sentinels
    expect_printed "1 of 3 sentinels of the URL answer, and a failover needs 2 of 3"
    expect_printed "no other server takes its place"
}

test_no_sentinel_at_all_is_69() {
    url=redis+sentinel://127.0.0.1:1,127.0.0.1:2/latchkey
    expect_exit 69 doctor
    expect_one_line
    [ ! -s printed ] || fail "$(cat printed)"
}

test_a_url_of_one_sentinel_is_worth_a_note() {
    url=redis+sentinel://127.0.0.1:${sentinels[0]}/latchkey
    expect_exit 0 doctor
    expect_mark note sentinels
    expect_printed "name all sentinels in the URL"
}

test_a_master_that_no_sentinel_knows_is_64() {
    url=${TEST_URL%/latchkey}/nobody
    expect_exit 64 doctor
    expect_said 'does not know a master called "nobody"'
}

test_a_server_among_the_sentinels_is_worth_a_note() {
    url=redis+sentinel://127.0.0.1:$master,${TEST_URL#redis+sentinel://}
    expect_exit 0 doctor
    expect_mark note sentinel
    expect_printed "not a sentinel"
}

test_a_quorum_of_one_is_worth_a_note() {
    set_all quorum 1 2
    expect_exit 0 doctor
    expect_mark note quorum
    expect_printed "one sentinel that does not reach the master is enough"
}

test_a_quorum_that_is_never_reached_is_found() {
    set_all quorum 4 2
    expect_exit 1 doctor
    expect_wrong quorum
    expect_printed "quorum is 4 of 3"
}

test_a_quorum_of_all_is_worth_a_note() {
    set_all quorum 3 2
    expect_exit 0 doctor
    expect_mark note quorum
    expect_printed "if 1 of the sentinels are away, no failover happens"
}

test_settings_that_differ_are_worth_a_note() {
    for_now "${sentinels[1]}" SENTINEL SET latchkey quorum 1 -- SENTINEL SET latchkey quorum 2
    for_now "${sentinels[1]}" SENTINEL SET latchkey failover-timeout 3000 -- \
        SENTINEL SET latchkey failover-timeout 2000
    expect_exit 0 doctor
    expect_mark note quorum
    expect_mark note failover
    expect_printed "failover-timeout is 2000 at redis://127.0.0.1:${sentinels[0]} and 3000 at "
}

# The master is not told: a sentinel that waits for less than a second could promote another server.
test_times_that_are_long_are_worth_a_note() {
    set_all down-after-milliseconds 60000 30000
    set_all failover-timeout 600000 2000
    expect_exit 0 doctor
    expect_mark note down-after
    expect_printed "for about 60.0 s"
    expect_mark note failover
    expect_printed "tried again after 1200 s"
}

# Last, by its name: on a machine that stalls, such sentinels may begin a failover.
test_z_a_short_time_is_worth_a_note() {
    set_all down-after-milliseconds 999 30000
    doctor >printed
    expect_mark note down-after
    expect_printed "down-after-milliseconds is 999"
    expect_printed "restarted without data"
}

test_a_master_that_does_not_answer_is_found() {
    pause "$master"
    expect_exit 1 doctor
    expect_wrong reach
    expect_printed "redis://127.0.0.1:$master: "
    expect_mark fine sentinels
    ! grep -q ' eviction ' printed || fail "$(cat printed)"
}

# monitor PORT: makes the third sentinel watch that server.
monitor() {
    ask "${sentinels[2]}" SENTINEL REMOVE latchkey
    ask "${sentinels[2]}" SENTINEL MONITOR latchkey 127.0.0.1 "$1" 2
    ask "${sentinels[2]}" SENTINEL SET latchkey down-after-milliseconds 30000 failover-timeout 2000
}

# The sentinels find each other again, as at the start.
monitor_again() {
    monitor "$master"
    eventually sh -c "'$latchkey' doctor -u '${TEST_URL/*,/redis+sentinel://}' | grep -q 'they know 3 in all'"
}

test_sentinels_that_disagree_are_found() {
    trap put_back EXIT
    undo+=(monitor_again)
    monitor "${servers[1]}" >/dev/null
    expect_exit 1 doctor
    expect_mark wrong master
    expect_printed "the sentinels disagree: redis://127.0.0.1:${sentinels[0]} names 127.0.0.1:$master (epoch 0)"
    expect_printed "redis://127.0.0.1:${sentinels[2]} names 127.0.0.1:${servers[1]} (epoch 0)"
}

test_a_sentinel_given_as_the_server_is_told_the_right_url() {
    url=redis://127.0.0.1:${sentinels[0]}
    expect_exit 1 doctor
    expect_wrong mode
    expect_printed "use redis+sentinel://127.0.0.1:${sentinels[0]}/MASTER"
}

test_json_has_the_numbers() {
    expect_exit 0 doctor --json
    check [ "$(jq -c 'select(.name == "quorum").figures' printed)" = '{"quorum":2,"sentinels":3}' ]
    check [ "$(jq -c 'select(.name == "down-after").figures' printed)" = '{"down_after_ms":30000}' ]
    check [ "$(jq -c 'select(.name == "sentinels").figures' printed)" = '{"named":3,"answering":3,"known":3}' ]
}

test_replicas_that_may_not_be_promoted_are_worth_a_note() {
    local port
    for port in "${servers[@]:1}"; do
        for_now "$port" CONFIG SET replica-priority 0 -- CONFIG SET replica-priority 100
    done
    eventually sh -c "'$latchkey' doctor -u '$TEST_URL' | grep -q '^note  *priority '"
    expect_exit 0 doctor
    expect_printed "replica-priority is 0 on all 2 replicas"
}

run_tests
