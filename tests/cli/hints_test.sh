# Error messages name the options of the command, and say what to try next.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC2317 # tests are called by name
source "${BASH_SOURCE%/*}/harness.sh"

program=$(command -v redis-server || command -v valkey-server)

# Makes a certificate for 127.0.0.1 in cert.pem, and its key in key.pem.
make_certificate() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem 2>openssl.log ||
        fail "$(cat openssl.log)"
}

is_ready_or_gone() {
    grep -q 'eady to accept connections' server.log || is_gone "$1"
}

# start_ports OPTION…: starts a server with a plain port, $plain, and a TLS port, $secure.
start_ports() {
    local _
    make_certificate
    for _ in {1..20}; do
        plain=$((20000 + RANDOM % 6000)) secure=$((26000 + RANDOM % 6000))
        begin "$program" --bind 127.0.0.1 --port "$plain" --tls-port "$secure" --save '' --dir "$PWD" \
            --tls-cert-file cert.pem --tls-key-file key.pem --tls-ca-cert-file cert.pem "$@" >server.log 2>&1
        eventually is_ready_or_gone "$begun"
        is_gone "$begun" || return 0 # otherwise another program uses the port
    done
    fail "no server: $(cat server.log)"
}

# The message names options, not fields of the library.
expect_options() {
    local field
    expect_one_line
    for field in tls_ca tls_cert tls_key tls_server_name lease_ms wait_ms 'prefix must' 'owner must'; do
        ! grep -qE "(^|[ :])$field" said || fail "$field in: $(cat said)"
    done
}

test_a_plain_url_to_a_port_of_tls_hints_at_rediss() {
    local words
    start_ports --tls-auth-clients no
    for words in "ls" "inspect a" "doctor" "run a true" "release -y a" "watch" "bench -t 10ms"; do
        # shellcheck disable=SC2086
        expect_exit 69 "$latchkey" -u "redis://127.0.0.1:$secure" $words
        expect_one_line
        expect_said "try rediss://"
    done
    expect_exit 0 "$latchkey" -u "rediss://127.0.0.1:$secure" --tls-ca cert.pem run a true
}

test_a_url_with_tls_to_a_plain_port_hints_at_redis() {
    start_ports --tls-auth-clients no
    expect_exit 69 "$latchkey" -u "rediss://127.0.0.1:$plain" ls
    expect_one_line
    expect_said "try redis://"
    expect_exit 0 "$latchkey" -u "redis://127.0.0.1:$plain" run a true
}

test_certificates_that_are_refused_name_options() {
    start_ports --tls-auth-clients yes
    local url=rediss://127.0.0.1:$secure
    expect_exit 77 "$latchkey" ls -u "$url"
    expect_said "set --tls-ca to"
    expect_options
    expect_exit 77 "$latchkey" run -u "$url" --tls-ca cert.pem --tls-server-name other a true
    expect_said "a --tls-server-name, that"
    expect_options
    expect_exit 77 "$latchkey" doctor -u "$url" --tls-ca cert.pem
    expect_said "set --tls-cert"
    expect_options
}

test_files_that_cannot_be_used_name_options() {
    make_certificate
    : >empty.pem
    local url=rediss://127.0.0.1:1
    expect_exit 64 "$latchkey" ls -u "$url" --tls-ca nowhere.pem
    expect_said "latchkey ls: --tls-ca: nowhere.pem cannot be read"
    expect_options
    expect_exit 64 "$latchkey" ls -u "$url" --tls-ca empty.pem
    expect_said "--tls-ca: the file empty.pem contains no certificate"
    expect_options
    expect_exit 64 "$latchkey" ls -u "$url" --tls-cert empty.pem
    expect_said "--tls-cert: the file empty.pem "
    expect_options
    expect_exit 64 "$latchkey" ls -u "$url" --tls-cert cert.pem --tls-key empty.pem
    expect_said "--tls-key: the file empty.pem contains no key that belongs to the certificate"
    expect_options
    expect_exit 64 "$latchkey" ls -u "$url" --tls-key key.pem
    expect_said "--tls-key without --tls-cert"
    expect_options
    expect_exit 64 "$latchkey" ls -u "$url" --tls-server-name .
    expect_said "--tls-server-name is not the name of a server"
    expect_options
    expect_exit 64 "$latchkey" ls -u redis://127.0.0.1:1 --tls-ca cert.pem
    expect_said "--tls-ca is set, but the URL does not use TLS"
    expect_options
}

test_texts_that_cannot_be_used_name_options() {
    local long
    long=$(printf 'x%.0s' {1..129})
    expect_exit 64 "$latchkey" ls --prefix ''
    expect_said "--prefix must be 1 to 64 bytes"
    expect_options
    expect_exit 64 "$latchkey" doctor --prefix '{x}'
    expect_said "--prefix must be 1 to 64 bytes without braces"
    expect_options
    for owner in '' "$long"; do
        expect_exit 64 "$latchkey" run --owner "$owner" a true
        expect_said "lock \"a\": --owner must be 1 to 128 bytes"
        expect_options
        expect_exit 64 "$latchkey" release -y --owner "$owner" a
        expect_said "--owner must be 1 to 128 bytes"
        ! grep -q NULL said || fail "$(cat said)"
    done
    expect_exit 64 "$latchkey" run --lease 10ms a true
    expect_said "--lease 10ms is out of range; it must be 0.1s to 24h"
    expect_exit 64 "$latchkey" run --wait long a true
    expect_said "--wait long is not a time"
}

run_tests
