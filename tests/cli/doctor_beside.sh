# Shared by the tests of `doctor` beside sentinels and in a cluster.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
pages=$(realpath "${BASH_SOURCE%/*}/../../man")
source "${BASH_SOURCE%/*}/beside.sh"

# tell PORT WORD…: as `ask`, for a command whose answer is OK.
tell() {
    [ "$(ask "$@" 2>&1)" = OK ] || fail "refused: $*"
}

# The servers are shared by the tests of a file. Each test puts back what it has changed, however it ends.
undo=()
put_back() {
    local words
    for words in ${undo[@]+"${undo[@]}"}; do
        $words
    done >/dev/null
    end_started
}

# for_now PORT NEW… -- OLD…: sends NEW, and OLD at the end of the test.
for_now() {
    local port=$1 new=()
    shift
    while [ "$1" != -- ]; do
        new+=("$1")
        shift
    done
    shift
    trap put_back EXIT
    undo+=("ask $port $*")
    tell "$port" "${new[@]}"
}

# pause PORT: stops a server until the end of the test.
pause() {
    local pid
    pid=$(ask "$1" INFO server | tr -d '\r' | sed -n 's/^process_id://p')
    trap put_back EXIT
    undo+=("kill -CONT $pid")
    kill -STOP "$pid" || fail "no process of $1"
}

doctor() {
    "$latchkey" doctor -u "${url:-$TEST_URL}" "$@"
}

# expect_mark fine|note|wrong CHECK
expect_mark() {
    grep -qE "^$1 +$2 " printed || fail "$2 is not $1 in: $(cat printed)"
}

# is_fine CHECK: for `eventually`. A machine that stalls makes replicas lag.
is_fine() {
    doctor | grep -qE "^fine +$1 "
}

# expect_wrong CHECK…: these are wrong, no others.
expect_wrong() {
    local found
    found=$(sed -n 's/^wrong *\([^ ]*\) .*/\1/p' printed | sort -u | tr '\n' ' ')
    [ "$found" = "$(printf '%s\n' "$@" | sort -u | sed '/^$/d' | tr '\n' ' ')" ] ||
        fail "wrong are ${found:-none}, not $*: $(cat printed)"
    [ ! -s said ] || fail "$(cat said)"
}

# Names of figures, and of checks, are in the page.
expect_described() {
    local word
    doctor --json >printed
    [ -s printed ] || fail "nothing printed"
    for word in $(jq -r '.name, (.figures | keys[])' printed | sort -u); do
        grep -qE "^\.It Li .*\b$word\b" "$pages/latchkey-doctor.1" || fail "the page lacks $word"
    done
}
