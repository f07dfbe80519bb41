# `latchkey run` while another server becomes the master: docs/GUARANTEES.md says what callers see then.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/beside.sh"
read -r -a sentinels <<<"$TEST_SENTINELS"
export LATCHKEY_URL=$TEST_URL

# The pids of servers that were stopped. Each test leaves the servers as it found them, except for their roles.
stopped=()
put_back() {
    end_started
    if [ ${#stopped[@]} -gt 0 ]; then
        kill -CONT "${stopped[@]}"
    fi
    eventually is_settled
}

stop_server() {
    local pid
    pid=$(ask "$1" INFO server | tr -d '\r' | sed -n 's/^process_id://p')
    kill -STOP "$pid" || fail "no process of $1"
    stopped+=("$pid")
}

master_named_by() {
    ask "$1" SENTINEL GET-MASTER-ADDR-BY-NAME latchkey | sed -n 2p
}

is_settled() {
    local port master
    master=$(master_named_by "${sentinels[0]}")
    for port in "${sentinels[@]}"; do
        [ "$(master_named_by "$port")" = "$master" ] || return 1
    done
    [ "$(ask "$master" INFO replication | grep -c 'state=online')" -eq 2 ]
}

# begin_test: sets $master and $replicas.
begin_test() {
    local port
    trap put_back EXIT
    eventually is_settled
    master=$(master_named_by "${sentinels[0]}")
    replicas=()
    for port in "${servers[@]}"; do
        [ "$port" = "$master" ] || replicas+=("$port")
    done
}

is_master() {
    [ "$(ask "$1" ROLE | head -n 1)" = master ]
}

is_replaced() {
    local port
    for port in "${sentinels[@]}"; do
        [ "$(master_named_by "$port")" != "$master" ] || return 1
    done
    is_master "$(master_named_by "${sentinels[0]}")"
}

# A sentinel gives up a failover that takes too long. So it is asked again as long as it names the old master.
is_replaced_on_request() {
    if [ "$(master_named_by "${sentinels[0]}")" = "$master" ]; then
        ask "${sentinels[0]}" SENTINEL FAILOVER latchkey
    fi
    is_replaced
}

# fail_over: the master stops, replicas that were cut off go on, and one takes its place.
fail_over() {
    local cut=(${stopped[@]+"${stopped[@]}"})
    stop_server "$master"
    if [ ${#cut[@]} -gt 0 ]; then
        kill -CONT "${cut[@]}"
    fi
    eventually is_replaced_on_request
}

# has_the_same LOCK PORT: the server has what the master has.
has_the_same() {
    [ "$(ask "$2" --no-raw GET "lk:{$1}")" = "$(ask "$master" --no-raw GET "lk:{$1}")" ]
}

replicate() {
    local port
    for port in "${replicas[@]}"; do
        eventually has_the_same "$1" "$port"
    done
}

# cut_replicas: they learn nothing more until `fail_over`.
cut_replicas() {
    local port
    for port in "${replicas[@]}"; do
        stop_server "$port"
    done
    ask "$master" CLIENT KILL TYPE replica >/dev/null
}

# hold LOCK: `run` holds it until the file `go` is there. Its pid is in $holder.
hold() {
    begin "$latchkey" run --lease 60 "$1" sh -c \
        "echo >began; until [ -e '$PWD/go' ] || [ ! -d '$PWD' ]; do sleep 0.02; done; exit 7" 2>said
    holder=$begun
    eventually test -e began
}

# queue LOCK: `run` waits for it. Its pid is in $queued.
queue() {
    begin "$latchkey" run "$1" sh -c 'echo >ran' 2>queued_said
    queued=$begun
    eventually waits "$1" 1
}

# seen LOCK FIELD: of its holder.
seen() {
    "$latchkey" inspect --json "$1" | jq -r ".held_by[0].$2"
}

# The end of the lease moves only if the hold is renewed.
lease_end() {
    "$latchkey" inspect --json "$1" | jq '.held_by[0] | .held_ms + .left_ms'
}

is_renewed() {
    [ "$(lease_end "$1")" -gt "$2" ]
}

test_the_command_goes_on_if_the_new_master_has_its_hold() {
    local fence end
    begin_test
    hold kept
    fence=$(seen kept fence)
    end=$(lease_end kept)
    replicate kept
    fail_over
    eventually is_renewed kept $((end + 10))
    check [ "$(seen kept fence)" = "$fence" ]
    check kill -0 "$holder"
    : >go
    ends_with 7 "$holder"
    check [ ! -s said ]
    expect_exit 0 "$latchkey" run -n kept true
}

test_a_command_whose_hold_the_new_master_lacks_is_ended_with_79() {
    begin_test
    cut_replicas
    hold lost
    fail_over
    ends_with 79 "$holder"
    expect_one_line
    expect_said 'lock "lost" is lost'
    expect_exit 0 "$latchkey" run -n lost true
}

test_a_run_that_waits_is_granted_by_the_new_master() {
    begin_test
    hold handed
    queue handed
    replicate handed
    fail_over
    check [ ! -e ran ]
    : >go
    ends_with 7 "$holder"
    ends_with 0 "$queued"
    check [ -e ran ]
}

test_a_run_that_waits_queues_again_if_the_new_master_lacks_it() {
    begin_test
    hold again
    replicate again
    cut_replicas
    queue again
    fail_over
    eventually waits again 1
    check [ ! -e ran ]
    : >go
    ends_with 7 "$holder"
    ends_with 0 "$queued"
    check [ -e ran ]
}

run_tests
