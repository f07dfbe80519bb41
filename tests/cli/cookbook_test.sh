# Runs the recipes of docs/COOKBOOK.md, with stubs for the programs that they name, and checks what each of
# them promises.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2016,SC2317 # what stubs do is expanded there; tests are called by name
this_file=$(realpath "${BASH_SOURCE[0]}")
cookbook=${this_file%/*}/../../docs/COOKBOOK.md
source "${BASH_SOURCE%/*}/harness.sh"

export SHELL=/bin/sh

# block ID: prints the commands of a recipe.
block() {
    awk -v mark="<!-- recipe: $1 -->" '
        $0 == mark { found = 1; next }
        found && /^```/ { if (inside) exit; inside = 1; next }
        inside { print }' "$cookbook"
}

# recipe ID…: writes each recipe to ID.sh, and puts a folder of stubs first on PATH.
recipe() {
    local id
    mkdir bin
    ln -s "$latchkey" bin/latchkey
    export PATH=$PWD/bin:$PATH sandbox=$PWD
    for id in "$@"; do
        block "$id" >"$id.sh"
        check [ -s "$id.sh" ]
    done
}

# stub NAME: a program that logs when it begins and ends, and whether another was running. It runs the text
# on stdin in between.
stub() {
    {
        cat <<'END'
#!/bin/sh
echo "enter ${0##*/} $$" >>"$sandbox/log"
# gate FILE: waits for the file, or for the end of the test.
gate() {
    until [ -e "$sandbox/$1" ] || [ ! -d "$sandbox" ]; do sleep 0.02; done
}
alone() {
    mkdir "$sandbox/inside" || echo overlap >>"$sandbox/log"
    "$@"
    rmdir "$sandbox/inside"
}
END
        cat
        echo 'echo "leave ${0##*/} $$" >>"$sandbox/log"'
    } >"bin/$1"
    chmod +x "bin/$1"
}

logged() {
    [ "$(grep -c "$1" log)" -eq "$2" ]
}

# The words of the log without the pids, on one line.
course() {
    cut -d' ' -f1,2 log | paste -sd, -
}

# crowd LOCK HOLDERS WAITERS
crowd() {
    [ "$("$latchkey" inspect --json "$1" | jq '[.holders, .waiters] | tostring')" = "\"[$2,$3]\"" ]
}

test_every_block_is_a_recipe_and_every_recipe_is_tested() {
    local id fences ids
    fences=$(grep -c '^```sh$' "$cookbook")
    ids=$(grep -c '^<!-- recipe: .* -->$' "$cookbook")
    check [ "$fences" -eq "$ids" ]
    check [ "$(grep -c '^```' "$cookbook")" -eq $((2 * ids)) ]
    while read -r id; do
        check [ -n "$(block "$id")" ]
        grep -qE "^    recipe( [a-z-]+)* $id( |\$)" "$this_file" || fail "no test of recipe $id"
    done < <(sed -n 's/^<!-- recipe: \(.*\) -->$/\1/p' "$cookbook")
}

test_cron_runs_one_at_a_time_and_the_others_end_in_peace() {
    recipe cron
    stub report <<<'alone gate go'
    begin sh cron.sh
    local first=$begun
    eventually logged enter 1
    expect_exit 0 timeout 60 sh cron.sh
    [ ! -s said ] || fail "cron would send: $(cat said)"
    check logged enter 1
    : >go
    ends_with 0 "$first"
    check logged overlap 0
}

test_cron_passes_the_status_of_the_report_on() {
    recipe cron
    stub report <<<'exit 9'
    expect_exit 9 timeout 60 sh cron.sh
}

test_cron_once_runs_once_a_day() {
    recipe cron-once
    stub date <<<'cat "$sandbox/today"'
    stub report <<<'alone gate go; [ ! -e broken ] || exit 5'
    echo 2024-02-28 >today
    : >broken
    : >go
    expect_exit 5 timeout 60 sh cron-once.sh
    rm broken go
    begin sh cron-once.sh
    local first=$begun
    eventually logged 'enter report' 2
    begin sh cron-once.sh
    local second=$begun
    eventually crowd nightly-report 1 1
    : >go
    ends_with 0 "$first"
    ends_with 0 "$second"
    expect_exit 0 timeout 60 sh cron-once.sh
    check logged 'leave report' 1
    echo 2024-02-29 >today
    expect_exit 0 timeout 60 sh cron-once.sh
    check logged 'leave report' 2
    check logged overlap 0
}

test_deploys_queue_and_run_one_at_a_time() {
    recipe deploy
    stub deploy <<<'alone gate go; echo "end $who" >>"$sandbox/log"'
    local pids=() n
    for n in 1 2 3; do
        who=$n begin sh deploy.sh
        pids+=("$begun")
        eventually crowd deploy:web 1 $((n - 1))
    done
    : >go
    for n in "${pids[@]}"; do
        ends_with 0 "$n"
    done
    check [ "$(grep ^end log | paste -sd,)" = "end 1,end 2,end 3" ]
    check logged overlap 0
}

test_a_deploy_that_waits_too_long_is_told_who_is_in_the_way() {
    recipe deploy
    stub deploy <<<'gate go; exit 4'
    begin sh deploy.sh
    eventually logged enter 1
    expect_exit 75 env DEPLOY_WAIT=0.05 timeout 60 sh deploy.sh
    expect_said "deploy:web was not free in time"
    expect_said "HELD BY"
    expect_said "$(hostname)"
    check logged enter 1
    : >go
    ends_with 4 "$begun"
}

test_backups_run_beside_each_other_and_a_migration_alone() {
    recipe backup migration
    stub pg_dump <<<'gate dumps; echo "$1"'
    stub migrate <<<'alone gate migrated'
    local pids=() one
    begin sh backup.sh
    pids+=("$begun")
    begin sh backup.sh
    pids+=("$begun")
    eventually logged 'enter pg_dump' 2
    begin sh migration.sh
    pids+=("$begun")
    eventually crowd db:shop 2 1
    begin sh backup.sh
    pids+=("$begun")
    eventually crowd db:shop 2 2
    check logged enter 2
    check [ ! -e shop.sql ]
    : >dumps
    eventually logged 'enter migrate' 1
    check crowd db:shop 1 1
    : >migrated
    for one in "${pids[@]}"; do
        ends_with 0 "$one"
    done
    local dump='pg_dump' both
    both="enter $dump,enter $dump,leave $dump,leave $dump"
    check [ "$(course)" = "$both,enter migrate,leave migrate,enter $dump,leave $dump" ]
    check [ "$(cat shop.sql)" = shop ]
}

test_a_backup_that_fails_leaves_the_dump_before_it() {
    recipe backup
    stub pg_dump <<<'echo half; exit 6'
    echo whole >shop.sql
    expect_exit 6 timeout 60 sh backup.sh
    check [ "$(cat shop.sql)" = whole ]
}

# Each program checks on entry whether the one before is still alive.
mailer_stub() {
    stub mailer <<'END'
last=$(cat "$sandbox/leader" 2>/dev/null)
[ -z "$last" ] || ! kill -0 "$last" 2>/dev/null || echo overlap >>"$sandbox/log"
echo $$ >"$sandbox/leader"
gate end
END
}

test_a_leader_that_is_killed_is_followed() {
    recipe leader
    mailer_stub
    begin sh leader.sh
    local first=$begun
    eventually logged enter 1
    begin sh leader.sh
    eventually crowd leader:mail 1 1
    check logged enter 1
    kill -KILL -- "-$first"
    eventually logged enter 2
    check logged overlap 0
    check is_gone "$first"
    check is_gone "$(sed -n 's/^enter mailer //p' log | head -1)"
}

test_a_leader_that_is_ended_hands_over_without_its_lease() {
    recipe leader
    mailer_stub
    # A lease that is longer than the test.
    sed -i 's/--lease 5s/--lease 1h/' leader.sh
    begin sh leader.sh
    local first=$begun
    eventually logged enter 1
    begin sh leader.sh
    eventually crowd leader:mail 1 1
    kill -TERM -- "-$first"
    eventually logged enter 2
    check logged overlap 0
}

test_a_leader_without_its_server_ends_before_its_lease() {
    local program server stopped_ms
    recipe leader
    mailer_stub
    program=$(command -v redis-server || command -v valkey-server) || fail "no server is installed"
    begin "$program" --port 0 --unixsocket "$PWD/socket" --save '' >/dev/null
    server=$begun
    export LATCHKEY_URL=unix://$PWD/socket
    eventually "$latchkey" ls
    begin sh leader.sh
    eventually logged enter 1
    kill -STOP "$server"
    stopped_ms=$(date +%s%3N)
    eventually is_gone "$(cat leader)"
    check [ $(($(date +%s%3N) - stopped_ms)) -lt 5000 ]
    kill -CONT "$server"
    eventually logged enter 2
    check logged overlap 0
}

test_a_leader_gives_up_what_cannot_get_better() {
    recipe leader
    expect_exit 1 timeout 60 sh leader.sh
    expect_said mailer
}

test_a_stale_token_is_refused() {
    recipe fence-store fence-write
    # The first is in the middle of its work. Its `run` is stopped, so it cannot end it when the lock is lost.
    stub compute <<<'echo "$who" && [ "$who" != late ] || gate go'
    check sh fence-store.sh
    who=late begin sh fence-write.sh 2>late.said
    local late=$begun run
    eventually logged enter 1
    run=$("$latchkey" inspect --json ledger | jq '.held_by[0].pid')
    check kill -STOP "$run"
    check "$latchkey" release --yes ledger
    expect_exit 0 env who=next timeout 60 sh fence-write.sh
    check grep -qx next ledger
    : >go
    eventually grep -q 'is stale' late.said
    check grep -qx next ledger
    kill -CONT "$run"
    ends_with 79 "$late"
    expect_exit 0 env who=after timeout 60 sh fence-write.sh
    check grep -qx after ledger
    expect_exit 3 ./store 1 ledger </dev/null
    check grep -qx after ledger
}

test_a_lost_lock_is_tried_again() {
    recipe lost
    stub import <<<'[ "$(grep -c enter "$sandbox/log")" -gt 1 ] || gate never'
    begin sh lost.sh 2>said
    eventually crowd import:orders 1 0
    eventually logged enter 1
    check "$latchkey" release --yes import:orders
    ends_with 0 "$begun"
    expect_said "import:orders was lost in attempt 1"
    check logged enter 2
}

test_a_failure_is_not_tried_again() {
    recipe lost
    stub import <<<'exit 5'
    expect_exit 5 timeout 60 sh lost.sh
    check logged enter 1
    rm bin/latchkey # otherwise it would wait a minute (-w) for the server
    printf '#!/bin/sh\nshift\nexec "%s" run --server-timeout 0 "$@"\n' "$latchkey" >bin/latchkey
    chmod +x bin/latchkey
    expect_exit 69 env LATCHKEY_URL=unix:///no/such/socket timeout 60 sh lost.sh
    check logged enter 1
}

test_a_lock_that_is_lost_each_time_ends_with_79() {
    recipe lost
    stub import <<<'latchkey release --yes "$LATCHKEY_NAME"; gate never'
    expect_exit 79 timeout 60 sh lost.sh
    check logged enter 3
}

# One holder and two waiters; their pids are in $holder, $writer and $reader.
deploy_crowd() {
    begin "$latchkey" run deploy:web sh -c "until [ -e '$PWD/go' ]; do sleep 0.02; done"
    holder=$begun
    eventually crowd deploy:web 1 0
    begin "$latchkey" run deploy:web true
    writer=$begun
    eventually crowd deploy:web 1 1
    begin "$latchkey" run -s deploy:web true
    reader=$begun
    eventually crowd deploy:web 1 2
}

test_seeing_shows_who_holds_and_who_waits_in_order() {
    recipe seeing seeing-json
    deploy_crowd
    expect_exit 0 timeout 60 sh seeing.sh
    check grep -qE '^deploy:web +write +1 +2 ' printed
    check grep -qE "^sh +$(hostname) +$holder +0 +1 " printed
    check grep -qE "^ *1  true +$(hostname) +$writer +write " printed
    check grep -qE "^ *2  true +$(hostname) +$reader +read " printed
    begin "$latchkey" run other sh -c "until [ -e '$PWD/go' ]; do sleep 0.02; done"
    eventually crowd other 1 0
    expect_exit 0 timeout 60 sh seeing-json.sh
    check [ "$(cat printed)" = "deploy:web
$(hostname) $holder" ]
    : >go
    ends_with 0 "$reader"
}

test_a_hung_holder_loses_the_lock_to_the_next() {
    recipe hung
    deploy_crowd
    expect_exit 0 timeout 60 sh hung.sh
    : >log
    ends_with 79 "$holder"
    ends_with 0 "$writer"
    ends_with 0 "$reader"
    expect_exit 0 timeout 60 sh hung.sh
}

test_releasing_an_owner_spares_the_one_who_came_after() {
    recipe hung
    # inspect shows an owner that is gone when release comes.
    rm bin/latchkey
    cat >bin/latchkey <<END
#!/bin/sh
if [ "\$1" = inspect ]; then echo '{"held_by":[{"owner":"gone"}]}'; else exec '$latchkey' "\$@"; fi
END
    chmod +x bin/latchkey
    deploy_crowd
    expect_exit 1 timeout 60 sh hung.sh
    check crowd deploy:web 1 2
    : >go
    ends_with 0 "$holder"
}

run_tests
