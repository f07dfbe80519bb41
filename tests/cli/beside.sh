# Shared by the tests that run beside sentinels or in a cluster. with_servers.c says what is in TEST_….
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

asker=$(command -v redis-cli || command -v valkey-cli)
# shellcheck disable=SC2034
read -r -a servers <<<"$TEST_SERVERS"

# ask PORT WORD…
ask() {
    "$asker" -p "$1" "${@:2}"
}
