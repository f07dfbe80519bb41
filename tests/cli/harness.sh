# Shared by the tests of the command: each of them sources this file. `with-local-server bash FILE COMMAND` runs
# a test file, with a private server and a working directory of its own.
#
#   test_a_sentence() { … }      every function with such a name is a test; they run in the order of names
#   run_tests                    at the end of the file
#
# A test ends at the first check that fails. Tests wait for conditions, never for a fixed time.
# shellcheck shell=bash
set -u

# shellcheck disable=SC2034
latchkey=$(realpath -e "$1") || exit 70
test_folder=$(mktemp -d "$LATCHKEY_LOCAL_DIR/test.XXXXXX") || exit 70
cd "$test_folder" || exit 70

# If a server is away, the command exits while threads of the library still run. That is intended.
export TSAN_OPTIONS=report_thread_leaks=0${TSAN_OPTIONS:+:$TSAN_OPTIONS}

fail() {
    echo "${BASH_SOURCE[-1]##*/}: ${FUNCNAME[1]}: $*" >&2
    exit 1
}

# check WORD…: the test fails unless the command succeeds.
check() {
    "$@" || fail "failed: $*"
}

# expect_exit CODE COMMAND…: leaves the command's stderr in the file `said`, its stdout in `printed`.
expect_exit() {
    local code=$1 got
    shift
    "$@" >printed 2>said
    got=$?
    [ "$got" -eq "$code" ] || fail "$* ended with $got, not $code: $(cat said)"
}

expect_said() {
    grep -qF -- "$1" said || fail "\"$1\" is not in: $(cat said)"
}

expect_printed() {
    grep -qF -- "$1" printed || fail "\"$1\" is not in: $(cat printed)"
}

# Exactly one line on stderr.
expect_one_line() {
    [ "$(wc -l <said)" -eq 1 ] || fail "not one line: $(cat said)"
}

# eventually COMMAND…: waits until the command succeeds, for at most a minute.
eventually() {
    local end=$((SECONDS + 60))
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || { declare -F screen >/dev/null && screen >&2; fail "never came to be: $*"; }
        sleep 0.02
    done
}

is_gone() {
    ! kill -0 "$1" 2>/dev/null
}

# The process is gone, or a zombie.
is_dead() {
    local state
    state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) || return 0
    [ "${state:-Z}" = Z ]
}

# begin COMMAND…: runs it in the background, in a process group of its own, until the end of the test. Its pid
# is in $begun. A command under a lock ends with its `latchkey run`.
started=()
begin() {
    set -m
    "$@" </dev/null &
    set +m
    begun=$!
    started+=("$begun")
}

end_started() {
    local pid
    for pid in "${started[@]}"; do
        kill -CONT -- "-$pid" # before TERM: a leak check stops the process that ends, and CONT would undo that
        kill -TERM -- "-$pid"
    done 2>/dev/null
    # shellcheck disable=SC2046 # a word for each job
    kill $(jobs -p) 2>/dev/null
    wait
}

# hold WORD…: another `run` with these words holds its lock until `let_go`. Its stderr and its exit code are not
# checked. A file that needs another kind of holder defines these functions itself.
hold() {
    mkfifo stop
    "$latchkey" run "$@" sh -c 'echo >held; read -r line <stop' &
    eventually test -e held
}

let_go() {
    echo >stop
    wait
}

# waits LOCK COUNT
waits() {
    "$latchkey" inspect "$1" | grep -qE "it, $2 waits?\$"
}

# ends_with CODE PID
ends_with() {
    local got
    eventually is_gone "$2"
    wait "$2"
    got=$?
    [ "$got" -eq "$1" ] || fail "ended with $got, not $1"
}

# start_server WORD…: starts a server for this test with these configuration words. Nothing restarts it. Its pid
# is in $server, its socket in $socket and $url.
start_server() {
    local program
    program=$(command -v redis-server || command -v valkey-server) || fail "there is no server"
    socket=$(mktemp -u "$test_folder/s.XXXX")
    # shellcheck disable=SC2034
    url=unix://$socket
    begin "$program" --port 0 --unixsocket "$socket" --save '' --appendonly no --dir "$PWD" "$@" \
        >server.log 2>&1
    # shellcheck disable=SC2034
    server=$begun
    # The socket exists before the server listens on it.
    eventually perl -MIO::Socket::UNIX -e 'exit !IO::Socket::UNIX->new(Peer => shift)' "$socket"
}

# ask_server WORD…: asks the server of start_server.
ask_server() {
    "$(command -v redis-cli || command -v valkey-cli)" -s "$socket" "$@"
}

# $beat: a command that writes a line to the file `beats` a hundred times a second, in one process. A
# shell that forks is two processes for a moment, and a stop signal may find only one of them.
cat >"$test_folder/beat" <<'END'
open my $beats, ">>", "beats" or die;
while (1) { syswrite $beats, "x\n"; select undef, undef, undef, 0.01 }
END
# shellcheck disable=SC2034
beat="perl $test_folder/beat"

# A command that kills its `latchkey run`: the parent of its guard, which is its own parent.
# shellcheck disable=SC2016,SC2034
kill_run='kill -KILL "$(sed "s/.*) . //; s/ .*//" "/proc/$PPID/stat")"; exec sleep 1000'

# private-tmp FOLDER LATCHKEY COMMAND…: runs the command in a mount namespace in which FOLDER is /tmp. If the build
# folder of LATCHKEY is in /tmp, it stays visible.
cat >"$test_folder/private-tmp" <<'END'
folder=$1 build=${2%/cli/latchkey}
shift 2
case $build in
/tmp/*) mkdir -p "$folder${build#/tmp}" && mount --bind "$build" "$folder${build#/tmp}" || exit 99 ;;
esac
mount --rbind "$folder" /tmp || exit 99
exec "$@"
END
# shellcheck disable=SC2034
private_tmp="unshare --mount sh $test_folder/private-tmp"

run_tests() {
    local name failed=0
    for name in $(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p'); do
        if (trap end_started EXIT; cd "$(mktemp -d "$test_folder/$name.XXXXXX")" && "$name"); then
            echo "ok    ${name#test_}"
        else
            echo "FAIL  ${name#test_}"
            failed=1
        fi
    done
    exit "$failed"
}
