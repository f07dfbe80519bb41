# `run`, `ls`, `inspect`, `watch`, `top` and `release` in a cluster of three masters: each has some of the locks.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/beside.sh"

export LATCHKEY_URL=$TEST_URL LC_ALL=C.UTF-8 TMUX_TMPDIR=$LATCHKEY_LOCAL_DIR
unset TMUX

# has PORT NAME: the node has the slot of this lock. Other nodes answer MOVED.
has() {
    [[ $(ask "$1" EXISTS "lk:{$2}") =~ ^[01]$ ]]
}

is_kept_at() {
    [ "$(ask "$1" EXISTS "lk:{$2}")" = 1 ]
}

# names PREFIX: sets names to one lock for each node, in the order of the nodes.
names() {
    local port i
    names=()
    for port in "${servers[@]}"; do
        i=0
        until has "$port" "$1$i"; do
            i=$((i + 1))
        done
        names+=("$1$i")
    done
}

# hold WORD…: as in seeing_test.sh; its pid is in $begun.
hold() {
    begin "$latchkey" run "$@" sh -c "until [ -e '$PWD/go' ] || [ ! -d '$PWD' ]; do sleep 0.02; done"
}

# hold_all PREFIX: holds a lock on each node. The pids are in $holders.
hold_all() {
    local i
    names "$1"
    holders=()
    for i in 0 1 2; do
        hold "${names[i]}"
        holders+=("$begun")
        eventually is_kept_at "${servers[i]}" "${names[i]}"
    done
}

# crowd LOCK HOLDERS WAITERS
crowd() {
    [ "$("$latchkey" inspect --json "$1" | jq -c '[.holders, .waiters]')" = "[$2,$3]" ]
}

sorted() {
    printf '%s\n' "$@" | LC_ALL=C sort | paste -sd' '
}

test_run_holds_a_lock_on_any_node() {
    local i
    names run
    for i in 0 1 2; do
        expect_exit 5 "$latchkey" run "${names[i]}" sh -c \
            "$asker -p ${servers[i]} EXISTS 'lk:{${names[i]}}'; exit 5"
        expect_printed 1
        check [ "$(ask "${servers[i]}" EXISTS "lk:{${names[i]}}")" = 0 ]
        hold "${names[i]}"
        eventually crowd "${names[i]}" 1 0
        expect_exit 1 "$latchkey" run -n "${names[i]}" true
    done
}

test_a_waiting_run_is_granted_on_any_node() {
    local i
    hold_all wait
    local waiters=()
    for i in 0 1 2; do
        begin "$latchkey" run "${names[i]}" sh -c "echo ${names[i]} >>granted"
        waiters+=("$begun")
        eventually crowd "${names[i]}" 1 1
    done
    check [ ! -e granted ]
    : >go
    for i in 0 1 2; do
        ends_with 0 "${holders[i]}"
        ends_with 0 "${waiters[i]}"
    done
    # shellcheck disable=SC2046 # a word for each line
    check [ "$(sorted $(cat granted))" = "$(sorted "${names[@]}")" ]
}

test_inspect_says_which_node_has_the_lock() {
    local i
    hold_all seen
    for i in 0 1 2; do
        expect_exit 0 "$latchkey" inspect "${names[i]}"
        check grep -qxF "server   127.0.0.1:${servers[i]}" printed
        check grep -qxF "state    write, 1 holds it, 0 wait" printed
        expect_exit 0 "$latchkey" inspect --json "${names[i]}"
        check [ "$(jq -r .server printed)" = "127.0.0.1:${servers[i]}" ]
    done
    expect_exit 0 "$latchkey" inspect -u "${LATCHKEY_URL/:\/\//:\/\/default:secret@}" "${names[0]}"
    check [ "$(grep -c secret printed)" -eq 0 ]
}

test_ls_lists_the_locks_of_all_nodes_sorted() {
    hold_all list
    expect_exit 0 "$latchkey" ls 'list*'
    check [ "$(tail -n +2 printed | cut -d' ' -f1 | paste -sd' ')" = "$(sorted "${names[@]}")" ]
    expect_exit 0 "$latchkey" ls -lj 'list*'
    check [ "$(jq -r .name printed | paste -sd' ')" = "$(sorted "${names[@]}")" ]
    expect_exit 0 "$latchkey" ls "${names[1]}"
    check [ "$(wc -l <printed)" -eq 2 ]
}

test_watch_sees_grants_and_releases_of_all_nodes() {
    local i
    begin "$latchkey" watch --interval 50ms >seen
    eventually grep -q watching seen
    hold_all watched
    for i in 0 1 2; do
        eventually grep -qE "${names[i]} +granted +write .* pid ${holders[i]}, " seen
    done
    : >go
    for i in 0 1 2; do
        eventually grep -qE "${names[i]} +released +write .* pid ${holders[i]}, " seen
    done
}

# end_all: for the trap of the test, which runs in a subshell.
end_all() {
    tmux -L "$terminal" kill-server 2>/dev/null
    end_started
}

shows() {
    tmux -L "$terminal" capture-pane -p | grep -qE -- "$1"
}

test_top_shows_the_locks_of_all_nodes_and_where_they_are() {
    local i
    hold_all top
    terminal=latchkey-nodes-$BASHPID
    trap end_all EXIT
    check tmux -L "$terminal" -f /dev/null new-session -d -x 100 -y 30 "$latchkey top --interval 100ms"
    for i in 0 1 2; do
        eventually shows "^${names[i]} +write +1 "
    done
    tmux -L "$terminal" send-keys Enter
    eventually shows "^server +127\.0\.0\.1:[0-9]+$"
}

test_release_takes_locks_away_on_any_node() {
    local i
    hold_all forced
    for i in 0 1 2; do
        expect_exit 0 "$latchkey" release --yes "${names[i]}"
        ends_with 79 "${holders[i]}"
        check crowd "${names[i]}" 0 0
        check "$latchkey" run "${names[i]}" true # otherwise it would stay abandoned
        expect_exit 1 "$latchkey" release --yes "${names[i]}"
    done
}

run_tests
