# A lock is handed over to `latchkey run`, which is too slow to claim it within a second.
# shellcheck shell=bash disable=SC2317,SC2119
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"
# shellcheck source=outage.sh
source "${BASH_SOURCE%/*}/outage.sh"

# A proxy on the socket `front` for the server at $socket. While the file `held` exists, it delays what clients send,
# except on connections that have subscribed: grants arrive, claims do not.
cat >"$test_folder/network" <<'END'
use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;
my ($back, $front) = @ARGV;
my $listener = IO::Socket::UNIX->new(Local => "$front.new", Listen => 64) or die $!;
rename "$front.new", $front or die $!;
my $all = IO::Select->new($listener);
my (%peer, %is_client, %is_heard);
while (1) {
    for my $from ($all->can_read) {
        if ($from == $listener) {
            my $client = $listener->accept or next;
            my $server = IO::Socket::UNIX->new(Peer => $back) or next;
            @peer{$client, $server} = ($server, $client);
            $is_client{$client} = 1;
            $all->add($client, $server);
            next;
        }
        if ($is_client{$from} && !$is_heard{$from} && -e "held") {
            select undef, undef, undef, 0.005;
            next;
        }
        my ($to, $bytes) = ($peer{$from}, "");
        if (!sysread $from, $bytes, 65536) {
            $all->remove($from, $to);
            close $from;
            close $to;
            next;
        }
        $is_heard{$from} = 1 if $is_client{$from} && $bytes =~ /subscribe/i;
        while (length $bytes) {
            my $count = syswrite $to, $bytes or last;
            substr $bytes, 0, $count, "";
        }
    }
}
END

is_queued() {
    "$latchkey" inspect -u "$url" a | grep -q '1 holds it, 1 wait'
}

is_held_by_nobody() {
    "$latchkey" inspect -u "$url" a | grep -q 'nobody holds it'
}

# miss_a_hand_over WORD…: `run WORD…` waits and gets the lock by hand-over. Its claim does not reach the server in
# time.
miss_a_hand_over() {
    start_server
    eventually answers
    hold_by_nobody a
    begin perl "$test_folder/network" "$socket" front
    eventually test -S front
    begin "$latchkey" run -u "unix://$PWD/front" "$@" a sh -c 'echo ran >>ran' 2>said
    queued=$begun
    eventually is_queued
    echo >held
    free_lock a
    eventually is_held_by_nobody
}

test_a_hand_over_that_was_not_claimed_in_time_queues_again() {
    miss_a_hand_over
    rm held
    ends_with 0 "$queued"
    [ "$(cat ran)" = ran ] || fail "ran: $(cat ran)"
    [ ! -s said ] || fail "$(cat said)"
}

test_it_queues_again_for_what_is_left_of_its_wait() {
    miss_a_hand_over -w 8 -E 9
    begin "$latchkey" run -u "$url" a sh -c 'echo >taken; exec sleep 1000'
    eventually test -e taken
    rm held
    ends_with 9 "$queued"
    [ ! -e ran ] || fail "it ran"
}

test_one_that_was_stopped_when_its_turn_came_queues_again() {
    start_server
    eventually answers
    hold_by_nobody a
    begin "$latchkey" run -u "$url" a sh -c 'echo ran >>ran'
    queued=$begun
    eventually is_queued
    kill -STOP "$queued"
    free_lock a
    eventually is_held_by_nobody
    kill -CONT "$queued"
    ends_with 0 "$queued"
    [ "$(cat ran)" = ran ] || fail "ran: $(cat ran)"
}

run_tests
