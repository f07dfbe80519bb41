# What `latchkey run` does not load and does not start: every command under a lock pays for its start.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2016,SC2317 # other shells expand it; tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

# Nothing listens on this address.
nobody=rediss://127.0.0.1:1

test_without_tls_neither_openssl_nor_curses_is_loaded() {
    expect_exit 0 "$latchkey" run a sh -c 'cat "/proc/$PPID/maps" >maps'
    check grep -q liblatchkey maps
    ! grep -E 'libssl|libcrypto|curses|libtinfo|latchkey-tls' maps || fail "it loads what it does not need"
}

test_with_tls_openssl_is_loaded_once_it_is_needed() {
    expect_exit 69 env LD_DEBUG=files LD_DEBUG_OUTPUT="$PWD/files" "$latchkey" run -u "$nobody" a true
    check grep -q 'liblatchkey-tls.*dynamically loaded by' files.*
    check grep -q 'libssl' files.*
}

# A preloaded copy of the library replaces the one that has its module beside it.
without_module() {
    local library
    library=$(LD_TRACE_LOADED_OBJECTS=1 "$latchkey" | awk '/liblatchkey/ { print $3 }')
    mkdir -p alone
    cp "$library" alone/
    ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=$PWD/alone/${library##*/} "$@"
}

test_a_missing_module_is_named_with_what_to_install() {
    expect_exit 64 without_module "$latchkey" run -u "$nobody" a true
    expect_one_line
    expect_said "$PWD/alone/latchkey/liblatchkey-tls.so"
    expect_said "install it beside liblatchkey, and OpenSSL 3"
}

test_a_missing_module_is_missed_by_nobody_without_tls() {
    expect_exit 0 without_module "$latchkey" run a true
}

runs_with_one_connection() {
    "$latchkey" run --verbose a true 2>said && grep -q 'connected to' said && ! grep -q 'for messages' said
}

# Not every time: on a slow machine the command may take too long.
test_a_short_command_needs_one_connection() {
    eventually runs_with_one_connection
}

test_a_long_command_has_the_second_connection() {
    mkfifo stop
    "$latchkey" run --verbose a sh -c 'read -r line <stop' 2>said &
    eventually grep -q 'for messages' said
    echo >stop
    wait "$!" || fail "ended with $?"
}

run_tests
