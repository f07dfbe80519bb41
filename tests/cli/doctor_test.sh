# The findings of `latchkey doctor` on servers that are configured for them.
# shellcheck shell=bash source-path=SCRIPTDIR
# shellcheck disable=SC1003,SC2016,SC2317 # quotes are the server's; tests are called by name
guarantees=$(realpath "${BASH_SOURCE%/*}/../../docs/GUARANTEES.md")
source "${BASH_SOURCE%/*}/harness.sh"

program=$(command -v redis-server || command -v valkey-server)
asker=$(command -v redis-cli || command -v valkey-cli)

# A short path: the folder of a test is too long for a socket.
sockets=$(mktemp -d "$LATCHKEY_LOCAL_DIR/s.XXXXXX") || exit 70

# Each test is a shell. Its servers end with it, however it ends.
servers=()
end_servers() {
    local pid
    for pid in ${servers[@]+"${servers[@]}"}; do
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
}

ask() {
    local said
    said=$("$asker" -s "$sockets/$1" "${@:2}" 2>&1) || return
    echo "$said"
    [[ ! $said =~ ^(ERR|NOPERM|WRONG|LOADING|Could) ]]
}

answers_or_ended() {
    ask "$1" PING || ! kill -0 "$2" 2>/dev/null
}

# start_server NAME OPTION…: starts a server on a socket of that name.
start_server() {
    local name=$1
    shift
    trap end_servers EXIT
    mkdir -p "$name"
    "$program" --port 0 --unixsocket "$sockets/$name" --dir "$name" --save '' "$@" \
        >"$name/log" 2>&1 &
    servers+=($!)
    eventually answers_or_ended "$name" $!
    ask "$name" PING >/dev/null
}

# The same with a port. Another program may already use the port.
start_server_on_a_port() {
    local _
    for _ in {1..20}; do
        port=$((20000 + RANDOM % 12000))
        start_server "$@" --bind 127.0.0.1 --port "$port" && return
    done
    fail "no port is free"
}

has_replicas() {
    ask "$1" INFO replication | grep -q "^connected_slaves:$2"
}

is_in_step() {
    ask "$1" INFO replication | grep -q "^master_link_status:up"
}

# A master without faults, and its replica: m and r.
start_pair() {
    start_server_on_a_port m --appendonly yes --repl-diskless-sync-delay 0
    start_server r --replicaof 127.0.0.1 "$port"
    eventually has_replicas m 1
    eventually is_in_step r
}

# pretend NAME SECONDS MAJOR: a proxy for the server m on a socket of that name. It moves the clock ahead by
# SECONDS and reports that major version. It serves one connection after the other.
pretend() {
    perl -e '
        use strict;
        use IO::Select;
        use IO::Socket::UNIX;
        my ($at, $real, $ahead, $major) = @ARGV;
        my $door = IO::Socket::UNIX->new(Local => $at, Listen => 5) or die "$at: $!";
        while (my $guest = $door->accept) {
            my $host = IO::Socket::UNIX->new(Peer => $real) or die "$real: $!";
            my $both = IO::Select->new($guest, $host);
            TALK: while (1) {
                for my $from ($both->can_read) {
                    sysread($from, my $bytes, 65536) or last TALK;
                    if ($from == $guest && $bytes eq "*1\r\n\$4\r\nTIME\r\n") {
                        my $now = int(time() + $ahead);
                        my $form = "*2\r\n\$%d\r\n%s\r\n\$1\r\n0\r\n";
                        syswrite $guest, sprintf $form, length $now, $now;
                        next;
                    }
                    $bytes =~ s/redis_version:\d/redis_version:$major/ if $from == $host;
                    syswrite $from == $guest ? $host : $guest, $bytes;
                }
            }
        }' "$sockets/$1" "$sockets/m" "$2" "$3" &
    servers+=($!)
    eventually ask "$1" PING # the socket exists before the proxy listens
}

doctor() {
    "$latchkey" doctor -u "unix://$sockets/$1" "${@:2}"
}

# expect_mark fine|note|wrong CHECK
expect_mark() {
    grep -qE "^$1 +$2 " printed || fail "$2 is not $1 in: $(cat printed)"
}

# Only this check is wrong, and it has an advice.
expect_only() {
    [ "$(grep -c '^wrong ' printed)" -eq 1 ] || fail "not $1 alone is wrong: $(cat printed)"
    expect_mark wrong "$1"
    grep '^wrong ' printed | grep -q '; do: ' || fail "no advice in: $(cat printed)"
    expect_printed "1 of "
    [ ! -s said ] || fail "$(cat said)"
}

test_nothing_is_wrong_with_the_private_server() {
    expect_exit 0 "$latchkey" doctor
    expect_printed "0 of "
    expect_mark fine replicas
}

# The configuration of the tests, "$LATCHKEY_CONFIG", chooses local:.
test_it_says_who_chose_the_server() {
    expect_exit 0 "$latchkey" doctor
    expect_mark fine server
    expect_printed "local:, chosen by $LATCHKEY_CONFIG:1: private to this user on this machine"
    expect_exit 0 "$latchkey" doctor -u local:
    expect_mark fine server
    expect_printed "local:, chosen by -u: private to this user"
    LATCHKEY_CONFIG=/dev/null expect_exit 0 "$latchkey" doctor
    expect_mark note server
    expect_printed "local:, because no server is configured"
    expect_printed "do: set url in "
    LATCHKEY_CONFIG=/dev/null expect_exit 0 "$latchkey" doctor --json
    check [ "$(jq -r 'select(.name == "server").grade' printed)" = note ]
    start_pair
    LATCHKEY_URL=unix://$sockets/m expect_exit 0 "$latchkey" doctor
    expect_mark fine server
    expect_printed "unix://$sockets/m, chosen by LATCHKEY_URL"
    ! grep -q place printed || fail "$(cat printed)"
    printf '\nprefix = shop\nurl = unix://:s3cr3t@%s/m\n' "$sockets" >mine.conf
    chmod 600 mine.conf
    ask m CONFIG SET requirepass s3cr3t >/dev/null
    LATCHKEY_CONFIG=$PWD/mine.conf "$latchkey" doctor >printed 2>said
    expect_printed "unix://$sockets/m, chosen by $PWD/mine.conf:3; prefix shop, chosen by $PWD/mine.conf:2"
    ! grep -q s3cr3t printed said || fail "the password is told: $(cat printed said)"
}

test_it_says_where_the_private_server_is_and_who_does_not_see_it() {
    expect_exit 0 "$latchkey" doctor
    expect_mark fine place
    expect_printed "$LATCHKEY_LOCAL_DIR; programs that see a different file system"
    if ! unshare --mount true 2>/dev/null; then
        echo "left out: no mount namespace is to be had here"
        return
    fi
    # shellcheck disable=SC2016 # the inner shell expands it
    mkdir service
    # shellcheck disable=SC2086 # three words
    expect_exit 0 $private_tmp service "$latchkey" sh -c '
        mkdir -m 700 /tmp/l || exit 99
        LATCHKEY_CONFIG=/dev/null LATCHKEY_LOCAL_DIR=/tmp/l "$0" doctor -u local:
        code=$?
        LATCHKEY_LOCAL_DIR=/tmp/l "$0" server stop >/dev/null
        exit $code' "$latchkey"
    expect_mark note place
    expect_printed "private to this service"
}

test_nothing_is_wrong_with_a_master_that_has_a_disk_and_a_replica() {
    start_pair
    expect_exit 0 doctor m
    expect_printed "0 of "
    local check
    for check in version role eviction persistence replicas clock rights module round-trip; do
        expect_mark fine "$check"
    done
    [ ! -s said ] || fail "$(cat said)"
}

test_an_eviction_policy_that_drops_locks_is_found() {
    local policy
    start_pair
    ask m CONFIG SET maxmemory 1gb >/dev/null
    for policy in allkeys-lru volatile-ttl; do
        ask m CONFIG SET maxmemory-policy "$policy" >/dev/null
        expect_exit 1 doctor m
        expect_only eviction
        expect_printed "$policy"
        expect_printed "CONFIG SET maxmemory-policy noeviction"
    done
}

test_an_eviction_policy_of_a_server_without_a_limit_is_worth_a_note() {
    start_pair
    ask m CONFIG SET maxmemory-policy allkeys-lru >/dev/null
    expect_exit 0 doctor m
    expect_mark note eviction
    expect_printed "with maxmemory 0, as now, the server is never full"
    expect_printed "CONFIG SET maxmemory-policy noeviction"
}

test_a_server_without_persistence_is_found() {
    start_pair
    ask m CONFIG SET appendonly no >/dev/null
    expect_exit 1 doctor m
    expect_only persistence
    expect_printed "appendonly yes"
}

test_snapshots_alone_are_worth_a_note() {
    start_pair
    ask m CONFIG SET appendonly no >/dev/null
    ask m CONFIG SET save "3600 1" >/dev/null
    expect_exit 0 doctor m
    expect_mark note persistence
}

test_a_server_without_replicas_is_worth_a_note() {
    start_server alone --appendonly yes
    expect_exit 0 doctor alone
    expect_mark note replicas
    expect_printed "set up a replica"
    expect_printed "0 of "
}

test_a_master_that_grants_though_it_is_cut_off_is_worth_a_note() {
    start_pair
    expect_exit 0 doctor m
    expect_mark note min-replicas
    expect_printed "with one replica, locks then stop while it is away"
    line=$(grep '^CONFIG SET ' printed) || fail "no line to copy in: $(cat printed)"
    [ "$(echo "$line" | "$asker" -s "$sockets/m" 2>&1)" = OK ] || fail "$line"
    expect_exit 0 doctor m
    expect_mark note min-replicas
    expect_printed "one replica less, and this one stops, too"
}

test_a_server_that_refuses_writes_for_lack_of_replicas_is_found() {
    start_pair
    ask m CONFIG SET min-replicas-to-write 2 >/dev/null
    expect_exit 1 doctor m
    expect_only min-replicas
    expect_printed "the server refuses writes"
    expect_exit 1 doctor m --json
    check [ "$(jq -c 'select(.name == "min-replicas").figures' printed)" = \
        '{"min_replicas":2,"max_lag_s":10,"good_replicas":1}' ]
}

# A replica that is stopped confirms nothing.
# Not while it gets its first data: then the note is another one.
is_far_behind() {
    doctor m >printed && grep -q 'if it becomes the master now' printed
}

test_a_replica_that_is_far_behind_is_worth_a_note() {
    start_pair
    kill -STOP "${servers[1]}"
    eventually is_far_behind
    expect_mark note lag
    kill -CONT "${servers[1]}"
}

test_replicas_of_a_server_without_any_are_not_judged() {
    start_server alone --appendonly yes
    expect_exit 0 doctor alone
    ! grep -qE ' (lag|min-replicas) ' printed || fail "$(cat printed)"
}

test_a_replica_given_as_the_server_is_found() {
    start_pair
    ask r CONFIG SET appendonly yes >/dev/null
    expect_exit 1 doctor r
    expect_only role
    expect_printed "address of its master"
}

test_a_clock_that_differs_from_ours_is_found() {
    start_pair
    pretend ahead 60 7
    expect_exit 1 doctor ahead
    expect_only clock
    expect_printed "ahead of the clock of this machine"
    pretend behind -60 7
    expect_exit 1 doctor behind
    expect_only clock
    expect_printed "behind the clock of this machine"
}

test_a_clock_that_differs_a_little_is_worth_a_note() {
    start_pair
    pretend little 5 7
    expect_exit 0 doctor little
    expect_mark note clock
    expect_printed "ahead of the clock of this machine"
}

test_what_the_server_does_not_tell_is_worth_a_note() {
    start_pair
    ask m ACL SETUSER app on '>pw' '~lk:*' '&lk:*' +@all -config >/dev/null
    ask m CONFIG SET appendonly no >/dev/null
    expect_exit 0 "$latchkey" doctor -u "unix://app:pw@$sockets/m"
    expect_mark note persistence
    expect_printed "+config|get"
}

test_a_server_that_is_too_old_is_found() {
    start_pair
    pretend old 0 5
    expect_exit 1 doctor old
    expect_mark wrong version
    expect_printed "too old"
    expect_printed "6.2 or newer"
}

# The rights that docs/GUARANTEES.md lists.
# shellcheck disable=SC2016 # the back quotes are Markdown's
needed_rights() {
    sed -n '/^## What the server needs/,/^## /p' "$guarantees" |
        tr '\n' ' ' | grep -oE '`(EVALSHA|GET)[^`]*`' | tr -d '`' | tr 'A-Z ' 'a-z\n' |
        sed '/^$/d; s/^/+/'
}

test_the_rights_that_the_guarantees_list_are_enough() {
    local rights
    start_pair
    mapfile -t rights < <(needed_rights)
    [ "${#rights[@]}" -ge 22 ] || fail "rights: ${rights[*]}"
    ask m ACL SETUSER app on '>pw' '~lk:*' '&lk:*' "${rights[@]}" >/dev/null
    expect_exit 0 "$latchkey" doctor -u "unix://app:pw@$sockets/m"
    expect_mark fine rights
    expect_printed "user app"
}

test_min_replicas_needs_one_more_right() {
    local rights
    start_pair
    export LATCHKEY_MIN_REPLICAS=1 LATCHKEY_REPLICA_TIMEOUT=2500ms
    mapfile -t rights < <(needed_rights)
    ask m ACL SETUSER app on '>pw' '~lk:*' '&lk:*' "${rights[@]}" >/dev/null
    expect_exit 77 "$latchkey" run -n -u "unix://app:pw@$sockets/m" a true
    expect_said '`latchkey doctor`'
    expect_exit 1 "$latchkey" doctor -u "unix://app:pw@$sockets/m"
    expect_only rights
    expect_printed "user app lacks +wait"
    grant_as_told m
    expect_exit 0 "$latchkey" doctor -u "unix://app:pw@$sockets/m"
    eventually "$latchkey" run -n -u "unix://app:pw@$sockets/m" a true
}

# grant_as_told NAME: runs the lines that doctor printed in redis-cli, as a person would copy them.
# As doctor says, only a pattern may be refused, and only if the user has all keys or channels.
grant_as_told() {
    local lines line reply
    mapfile -t lines < <(grep '^ACL SETUSER ' printed)
    [ "${#lines[@]}" -gt 0 ] || fail "no line to copy in: $(cat printed)"
    for line in "${lines[@]}"; do
        reply=$(echo "$line" | "$asker" -s "$sockets/$1" 2>&1)
        [ "$reply" = OK ] && continue
        [[ $line != *" +"* && $reply == *"after the * pattern"* ]] || fail "$line: $reply"
        expect_printed "which does no harm"
    done
}

# The message about a missing right leads to the line that grants it.
test_a_denial_leads_to_doctor_and_doctor_to_the_line_that_helps() {
    local prefix user url words
    start_pair
    export LATCHKEY_PASSWORD=pw
    for user in new some; do
        for prefix in lk shop 'x[1]*?^' 'it"s\' "it's"; do
            url=unix://$user@$sockets/m
            ask m ACL SETUSER "$user" reset on '>pw' >/dev/null
            [ "$user" = new ] || ask m ACL SETUSER "$user" '~other:*' +get +publish -ping >/dev/null
            expect_exit 77 "$latchkey" run -u "$url" --prefix "$prefix" a true
            expect_one_line
            expect_said '`latchkey doctor`'
            expect_exit 1 "$latchkey" doctor -u "$url" --prefix "$prefix"
            expect_mark wrong rights
            grant_as_told m
            expect_exit 0 "$latchkey" run -u "$url" --prefix "$prefix" a true
            expect_exit 0 "$latchkey" doctor -u "$url" --prefix "$prefix"
        done
    done
    ask m ACL SETUSER new -evalsha -eval -scan >/dev/null
    for words in "ls" "inspect a" "release -y a"; do
        # shellcheck disable=SC2086
        expect_exit 77 "$latchkey" $words -u "unix://new@$sockets/m"
        expect_said '`latchkey doctor`'
    done
}

# A server refuses a whole line for one pattern that a user with all of them cannot be given.
test_a_user_with_all_keys_and_channels_is_granted_commands() {
    local url=unix://all:pw@$sockets/m rights
    start_pair
    for rights in '+@read +ping +info' +ping '+publish +ping' -@all; do
        # shellcheck disable=SC2086
        ask m ACL SETUSER all reset on '>pw' '~*' '&*' $rights >/dev/null
        expect_exit 1 "$latchkey" doctor -u "$url"
        expect_mark wrong rights
        grant_as_told m
        expect_exit 0 "$latchkey" doctor -u "$url"
        expect_mark fine rights
        expect_exit 0 "$latchkey" run -u "$url" a true
    done
}

test_the_lines_to_copy_are_the_advice_of_json() {
    start_pair
    ask m ACL SETUSER app on '>pw' '~lk:*' '&lk:*' +@all -zcount -get >/dev/null
    expect_exit 1 "$latchkey" doctor --json -u "unix://app:pw@$sockets/m"
    check [ "$(jq -r 'select(.name == "rights").advice' printed)" = "ACL SETUSER app +get +zcount" ]
    ask m ACL SETUSER app resetkeys resetchannels '~other:*' >/dev/null
    expect_exit 1 "$latchkey" doctor --json -u "unix://app:pw@$sockets/m"
    check [ "$(jq -r 'select(.name == "rights").advice' printed)" = "ACL SETUSER app +get +zcount
ACL SETUSER app ~lk:*
ACL SETUSER app &lk:*" ]
}

# doctor cannot say more about a wrong password.
test_a_password_that_is_refused_does_not_lead_to_doctor() {
    start_server locked --requirepass right
    expect_exit 77 "$latchkey" run -u "unix://:wrong@$sockets/locked" a true
    ! grep -q doctor said || fail "$(cat said)"
}

test_a_missing_right_is_found_and_its_advice_helps() {
    local rights
    start_pair
    mapfile -t rights < <(needed_rights)
    ask m ACL SETUSER app on '>pw' '~lk:*' '&lk:*' "${rights[@]}" -eval -zcount >/dev/null
    LATCHKEY_PASSWORD=pw expect_exit 1 "$latchkey" doctor -u "unix://app@$sockets/m"
    expect_only rights
    expect_printed "user app lacks +eval +zcount"
    ask m ACL SETUSER app resetkeys resetchannels >/dev/null
    expect_exit 1 "$latchkey" doctor -u "unix://app:pw@$sockets/m"
    expect_only rights
    expect_printed '~lk:*'
    expect_printed '&lk:*'
    grant_as_told m
    expect_exit 0 "$latchkey" doctor -u "unix://app:pw@$sockets/m"
    expect_exit 1 "$latchkey" doctor -u "unix://app:pw@$sockets/m" --prefix shop
    expect_printed '~shop:*'
}

test_a_server_that_does_not_know_a_command_is_found() {
    start_server alone --rename-command EVAL nothing
    expect_exit 1 doctor alone
    expect_mark wrong commands
    expect_printed "EVAL"
}

test_a_password_that_is_wrong_is_77() {
    start_server locked --requirepass right
    expect_exit 77 doctor locked
    expect_one_line
    expect_exit 77 "$latchkey" doctor -u "unix://:wrong@$sockets/locked"
    expect_one_line
    ! grep -q wrong said || fail "the password is in: $(cat said)"
    expect_exit 1 "$latchkey" doctor -u "unix://:right@$sockets/locked"
}

test_a_server_that_cannot_be_reached_is_69() {
    expect_exit 69 doctor nobody
    expect_one_line
    [ ! -s printed ] || fail "$(cat printed)"
}

test_a_command_line_that_makes_no_sense_is_64() {
    expect_exit 64 "$latchkey" doctor here
    expect_one_line
    expect_exit 64 "$latchkey" doctor --no-such
    expect_exit 64 "$latchkey" doctor -u nonsense
}

test_json_has_an_object_for_each_check() {
    start_server alone
    expect_exit 1 doctor alone --json
    jq -es 'all(has("name") and has("ok") and has("text") and has("advice"))' printed >/dev/null ||
        fail "$(cat printed)"
    check [ "$(jq -r 'select(.ok | not).name' printed)" = persistence ]
    check [ "$(jq -r 'select(.grade == "note").name' printed)" = replicas ]
    check [ "$(jq -r .grade printed | sort -u | tr '\n' ' ')" = "fine note wrong " ]
    check [ "$(jq -r 'select(.ok != (.grade != "wrong")).name' printed)" = "" ]
    check [ "$(jq -r 'keys_unsorted | join(",")' printed | sort -u)" = name,ok,grade,text,advice,server,figures ]
    check [ "$(jq -r 'select((.ok | not) and .advice == "").name' printed)" = "" ]
    check [ "$(jq -r .server printed | sort -u)" = "unix://$sockets/alone" ]
    check [ "$(jq 'select(.name == "replicas").figures.replicas' printed)" = 0 ]
}

test_verbose_logs_what_the_server_told_and_no_secret() {
    start_server locked --requirepass s3cr3t
    expect_exit 1 "$latchkey" doctor --verbose -u "unix://:s3cr3t@$sockets/locked"
    expect_said "unix://$sockets/locked: "
    expect_said "replicas 0, maxmemory 0 noeviction, aof no, snapshots no"
    expect_said "round trip "
    check [ "$(grep -vc '^latchkey doctor: ' said)" -eq 0 ]
    ! grep -q s3cr3t said printed || fail "the password is in: $(cat said printed)"
}

test_a_db_that_may_not_be_selected_is_a_right_that_is_missing() {
    start_pair
    ask m ACL SETUSER app on '>pw' '~lk:*' '&lk:*' +@all -select >/dev/null
    expect_exit 0 "$latchkey" doctor -u "unix://app:pw@$sockets/m"
    expect_exit 1 "$latchkey" doctor -u "unix://app:pw@$sockets/m?db=1"
    expect_only rights
    expect_printed "ACL SETUSER app +select"
}

# All faults at once: doctor reports each of them.
test_what_is_wrong_does_not_hide_what_else_is() {
    start_pair
    start_server alone --maxmemory-policy allkeys-lru --maxmemory 1gb
    ask alone ACL SETUSER app on '>pw' '~other:*' '&lk:*' +@all -zcount >/dev/null
    expect_exit 1 "$latchkey" doctor -u "unix://app:pw@$sockets/alone"
    local check
    for check in eviction persistence rights; do
        expect_mark wrong "$check"
    done
    expect_mark note replicas
    expect_printed '~lk:* +zcount'
    expect_printed '3 of 10 checks'
    ask r CONFIG SET maxmemory 1gb >/dev/null
    ask r CONFIG SET maxmemory-policy volatile-lru >/dev/null
    expect_exit 1 doctor r
    for check in role eviction persistence; do
        expect_mark wrong "$check"
    done
}

test_a_look_leaves_nothing_behind() {
    start_server alone
    expect_exit 1 doctor alone
    check [ "$(ask alone DBSIZE)" = 0 ]
    check [ "$(ask alone PUBSUB CHANNELS)" = "" ]
}

run_tests
