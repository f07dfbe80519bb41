# The findings of `latchkey doctor` about a cluster of three masters without replicas.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/doctor_beside.sh"

test_a_master_without_replica_is_worth_a_note() {
    expect_exit 0 doctor
    check [ "$(grep -c '^note  *replicas .* has no replica' printed)" -eq 3 ]
    expect_printed "redis://127.0.0.1:${servers[0]}, with the slots 0-"
    expect_printed "nobody can acquire its locks"
}

has_failed() {
    ask "${servers[2]}" CLUSTER INFO | grep -q "cluster_state:$1"
}

# All nodes must forget the slots, or those that know tell the others again.
test_slots_without_a_master_are_found() {
    local port
    for port in "${servers[@]}"; do
        tell "$port" CLUSTER DELSLOTS 5 6 7 9
    done
    eventually has_failed fail
    expect_exit 1 doctor
    expect_wrong coverage state
    expect_printed "no master has the slots 5-7 9: "
    expect_printed "nobody can acquire any lock"
    tell "${servers[0]}" CLUSTER ADDSLOTS 5 6 7 9
    eventually has_failed ok
}

run_tests
