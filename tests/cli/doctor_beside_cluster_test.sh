# The findings of `latchkey doctor` about a cluster of three masters and three replicas.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/doctor_beside.sh"

test_a_cluster_that_is_well_is_fine() {
    expect_exit 0 doctor
    expect_wrong
    for check in nodes state coverage open-slots node-timeout messages replicas eviction; do
        expect_mark fine "$check"
    done
    expect_printed "6 of 6 nodes of the URL answer"
    expect_printed "all 16384 slots have a master"
    expect_printed "3 of 3 shards have replicas"
    expect_printed "all 3 masters: the append-only file is on"
    expect_described
}

test_every_master_is_judged() {
    for_now "${servers[1]}" CONFIG SET appendonly no -- CONFIG SET appendonly yes
    for_now "${servers[2]}" CONFIG SET maxmemory 1gb -- CONFIG SET maxmemory 0
    for_now "${servers[2]}" CONFIG SET maxmemory-policy allkeys-lru -- CONFIG SET maxmemory-policy noeviction
    expect_exit 1 doctor
    expect_wrong persistence eviction
    expect_printed "redis://127.0.0.1:${servers[1]}: nothing is kept on disk"
    expect_printed "redis://127.0.0.1:${servers[2]}: maxmemory-policy is allkeys-lru"
    expect_printed "2 masters are fine, for example redis://127.0.0.1:${servers[0]}: "
}

test_a_right_that_one_master_lacks_is_found() {
    local port
    for port in "${servers[@]}"; do
        for_now "$port" ACL SETUSER app on '>pw' '~lk:*' '&lk:*' +@all -- ACL DELUSER app
    done
    tell "${servers[1]}" ACL SETUSER app -zcount -asking
    url=${TEST_URL/:\/\//:\/\/app:pw@}
    expect_exit 1 doctor
    expect_wrong rights
    expect_printed "redis://app@127.0.0.1:${servers[1]}: user app lacks +zcount +asking"
}

test_a_node_of_the_url_that_is_away_is_worth_a_note() {
    url=redis+cluster://127.0.0.1:1,127.0.0.1:${servers[0]}
    expect_exit 0 doctor
    expect_mark note nodes
    expect_printed "1 of 2 nodes of the URL answer: cannot connect to redis://127.0.0.1:1: "
    url=redis+cluster://127.0.0.1:${servers[4]}
    expect_exit 0 doctor
    expect_mark note nodes
    expect_printed "name some more nodes"
}

test_a_cluster_that_cannot_be_reached_is_69() {
    url=redis+cluster://127.0.0.1:1,127.0.0.1:2
    expect_exit 69 doctor
    expect_one_line
    [ ! -s printed ] || fail "$(cat printed)"
}

# The other nodes need half a minute to notice, so only `reach` is wrong.
test_a_master_that_does_not_answer_is_found() {
    url=redis+cluster://127.0.0.1:${servers[0]},127.0.0.1:${servers[2]}
    pause "${servers[1]}"
    expect_exit 1 doctor
    expect_wrong reach
    expect_printed "redis://127.0.0.1:${servers[1]}: "
    expect_printed "all 2 masters: the append-only file is on"
}

test_slots_that_move_are_worth_a_note() {
    local ids=() i
    for i in 0 1; do
        ids[i]=$(ask "${servers[i]}" CLUSTER MYID)
    done
    for_now "${servers[1]}" CLUSTER SETSLOT 7 IMPORTING "${ids[0]}" -- CLUSTER SETSLOT 7 STABLE
    for_now "${servers[0]}" CLUSTER SETSLOT 7 MIGRATING "${ids[1]}" -- CLUSTER SETSLOT 7 STABLE
    expect_exit 0 doctor
    expect_mark note open-slots
    expect_printed "2 ends of moves are open"
}

test_settings_of_the_cluster_are_judged() {
    local port
    for_now "${servers[0]}" CONFIG SET cluster-node-timeout 40000 -- CONFIG SET cluster-node-timeout 30000
    expect_exit 0 doctor
    expect_mark note node-timeout
    expect_printed "30000 ms on one master and 40000 ms on another"
    for port in "${servers[@]:1}"; do
        for_now "$port" CONFIG SET cluster-node-timeout 40000 -- CONFIG SET cluster-node-timeout 30000
    done
    for_now "${servers[2]}" CONFIG SET cluster-allow-pubsubshard-when-down no -- \
        CONFIG SET cluster-allow-pubsubshard-when-down yes
    expect_exit 0 doctor
    expect_mark note node-timeout
    expect_printed "for about 40.0 s"
    expect_mark note messages
    expect_printed "cluster-allow-pubsubshard-when-down is no at redis://127.0.0.1:${servers[2]}"
}

test_a_node_given_as_the_server_is_told_the_right_url() {
    url=redis://127.0.0.1:${servers[0]}
    expect_exit 1 doctor
    expect_wrong mode
    expect_printed "use redis+cluster://127.0.0.1:${servers[0]}"
}

run_tests
