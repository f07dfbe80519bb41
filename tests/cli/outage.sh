# Shared by the tests of `latchkey run` without a server. They source it after harness.sh.
# shellcheck shell=bash disable=SC2154

program=$(command -v redis-server || command -v valkey-server) || fail "there is no server"

# The server answers, even if it only refuses us. Its socket exists a moment earlier.
answers() {
    "$latchkey" ls -u "$url"
    [ $? -ne 69 ]
}

# choose_address: sets $url and $socket for `serve`, and makes a folder for its data.
choose_address() {
    socket=$(mktemp -u "$test_folder/s.XXXX")
    url=unix://$socket
    mkdir data
}

# serve: starts a server at that address, which keeps its locks if it is killed. Its pid is in $server.
serve() {
    begin "$program" --port 0 --unixsocket "$socket" --save '' --appendonly yes \
        --appendfsync always --dir "$PWD/data" >>server.log 2>&1
    server=$begun
    eventually answers
}

end_server() {
    kill -KILL "$server"
    wait "$server" 2>/dev/null
}

# hold_by_nobody LOCK: a dead client holds the lock, until `free_lock` or for five minutes.
hold_by_nobody() {
    # shellcheck disable=SC2016
    { "$latchkey" run -u "$url" --lease 300 "$1" sh -c "$kill_run"; } 2>/dev/null
    [ $? -eq 137 ] || fail "not killed"
}

free_lock() {
    check "$latchkey" release -u "$url" --yes "$1"
}

# on_terminal WORD…: runs `latchkey WORD…` on a terminal, in the background. The terminal's text is in `shown`,
# its pid in $queued.
on_terminal() {
    begin script -qefc "'$latchkey' $*" shown >script.log
    # shellcheck disable=SC2034
    queued=$begun
}

queues() {
    "$latchkey" inspect -u "$url" a | grep -q '1 holds it, 1 wait'
}

# queue WORD…: `run WORD…` waits behind another holder of the lock. Its pid is in $queued, its stderr in the file
# `said`.
queue() {
    choose_address
    serve
    hold_by_nobody a
    begin "$latchkey" run -u "$url" "$@" a sh -c 'echo ran >>ran' 2>said
    queued=$begun
    eventually queues
}
