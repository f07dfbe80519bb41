# What the tests of `latchkey run` without a server share; sourced by them after harness.sh.
# shellcheck shell=bash disable=SC2154

program=$(command -v redis-server || command -v valkey-server) || fail "there is no server"

# The server has said something, if only that it refuses us. Its socket is there a moment earlier.
answers() {
    "$latchkey" ls -u "$url"
    [ $? -ne 69 ]
}

# choose_address: $url and $socket for `serve`, and a folder for its data.
choose_address() {
    socket=$(mktemp -u "$test_folder/s.XXXX")
    url=unix://$socket
    mkdir data
}

# serve: a server there, that keeps its locks when it is killed; its pid is in $server.
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

# hold_by_nobody LOCK: somebody who has died holds it, until `free_lock` or for five minutes.
hold_by_nobody() {
    # shellcheck disable=SC2016
    { "$latchkey" run -u "$url" --lease 300 "$1" sh -c "$kill_run"; } 2>/dev/null
    [ $? -eq 137 ] || fail "not killed"
}

free_lock() {
    check "$latchkey" release -u "$url" --yes "$1"
}

# on_terminal WORD…: `latchkey WORD…` at a terminal, in the background; what stands there is in
# `shown`, its pid in $queued.
on_terminal() {
    begin script -qefc "'$latchkey' $*" shown >script.log
    # shellcheck disable=SC2034
    queued=$begun
}
