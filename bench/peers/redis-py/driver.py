"""The contract of bench/peers/README.md for redis-py's Lock: driver.py SOCKET LEASE_MS LOCK VERB [WORD…], or
driver.py about. A lock's token is local to its thread, as the package has it by default, so what a thread locks
it also renews and unlocks. Spans are taken from the monotonic clock, moments from the wall clock.
"""

import json
import math
import os
import sys
import threading
import time

import redis
from redis.exceptions import LockError

WRITE = 1
DEFAULT_CONNECTIONS = 100
STACK_BYTES = 256 * 1024


def wall_us():
    return time.time_ns() // 1000


def fail(error):
    print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def say(text):
    print(text, flush=True)


def ready_and_wait():
    say("ready")
    if not sys.stdin.readline():
        raise EOFError("no line on stdin")


def percentile(ordered, part):
    """The smallest sample that is not below `part` of them all; 0 when there is none."""
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1] if ordered else 0


class Peer:
    """The package as it is by default, but for the bound on connections: one for each thread is let be."""

    def __init__(self, socket, lease_ms, prefix, threads):
        self.lease_s = lease_ms / 1000
        self.prefix = prefix
        connections = max(threads + 1, DEFAULT_CONNECTIONS)
        self.client = redis.Redis(unix_socket_path=socket, max_connections=connections)

    def lock(self, number):
        return self.client.lock(f"{self.prefix}:{number}", timeout=self.lease_s)


class Crew:
    """Threads that begin together, each with a connection open, once they are told to."""

    def __init__(self, peer, count, body):
        self.met = threading.Barrier(count + 1)
        self.begin = threading.Event()
        self.threads = [
            threading.Thread(target=self.run, args=(peer, i, body), daemon=True) for i in range(count)
        ]
        for thread in self.threads:
            thread.start()
        self.met.wait()
        self.met.wait()

    def run(self, peer, number, body):
        try:
            # A connection that is given back is given to the next who asks: all must have one before any does.
            pool = peer.client.connection_pool
            connection = pool.get_connection()
            self.met.wait()
            pool.release(connection)
            with peer.lock(f"warm:{os.getpid()}:{number}"):
                pass
            self.met.wait()
            self.begin.wait()
            body(number)
        except Exception as error:  # noqa: BLE001: whatever it is, it ends the run
            fail(error)

    def join(self, until=None):
        for thread in self.threads:
            thread.join(None if until is None else max(until - time.monotonic(), 0))


def pairs(peer, _mode, threads, seconds):
    locks = [peer.lock(i) for i in range(int(threads))]
    spans = [[] for _ in locks]
    end = math.inf

    def body(i):
        lock, mine = locks[i], spans[i]
        before = time.perf_counter_ns()
        while before < end:
            lock.acquire()
            lock.release()
            after = time.perf_counter_ns()
            mine.append(after - before)
            before = after

    crew = Crew(peer, len(locks), body)
    ready_and_wait()
    start = time.perf_counter_ns()
    end = start + float(seconds) * 1e9
    crew.begin.set()
    crew.join()
    took = (time.perf_counter_ns() - start) / 1e9
    ordered = sorted(span for mine in spans for span in mine)
    say(json.dumps({
        "pairs": len(ordered),
        "seconds": took,
        "p50": percentile(ordered, 0.50) / 1000,
        "p99": percentile(ordered, 0.99) / 1000,
    }))


def contend(peer, threads, hold_us, _reads, seconds):
    locks = [peer.lock(0) for _ in range(int(threads))]
    hold_s = int(hold_us) / 1e6
    seconds = float(seconds)
    grants = []
    end = math.inf

    def body(i):
        lock = locks[i]
        while (asked := time.monotonic()) < end:
            lock.acquire()
            got = time.monotonic()
            if got < end:
                grants.append((wall_us(), i, round((got - asked) * 1e6), WRITE))
            if hold_s > 0:
                time.sleep(hold_s)
            lock.release()

    crew = Crew(peer, len(locks), body)
    ready_and_wait()
    end = time.monotonic() + seconds
    crew.begin.set()
    crew.join(end + seconds)
    say(json.dumps({"seconds": seconds, "grants": grants}))


def renew(locks, lease_s):
    for lock in locks:
        try:
            lock.extend(lease_s, replace_ttl=True)
        except LockError:
            pass  # It is missed by owned() at the end.


def hold(peer, count, seconds):
    """A thread locks and renews; the main one waits for stdin."""
    locks = [peer.lock(i) for i in range(int(count))]
    locked, over = threading.Event(), threading.Event()

    def keeper():
        try:
            for lock in locks:
                lock.acquire()
            locked.set()
            next_at = time.monotonic()
            while not over.wait(max(next_at - time.monotonic(), 0)):
                next_at = time.monotonic() + peer.lease_s / 3
                renew(locks, peer.lease_s)
            kept = [lock for lock in locks if lock.owned()]
            say(json.dumps({"held": len(kept), "lost": len(locks) - len(kept)}))
            for lock in kept:
                lock.release()
        except Exception as error:  # noqa: BLE001: whatever it is, it ends the run
            fail(error)

    thread = threading.Thread(target=keeper, daemon=True)
    thread.start()
    locked.wait()
    ready_and_wait()
    time.sleep(float(seconds))
    over.set()
    thread.join()


def keep(peer):
    lock = peer.lock(0)
    lock.acquire()
    say("ready")
    while True:
        time.sleep(peer.lease_s / 3)
        lock.extend(peer.lease_s, replace_ttl=True)


def await_(peer):
    with peer.lock(f"warm:{os.getpid()}"):
        pass
    lock = peer.lock(0)
    say("ready")
    lock.acquire()
    at = wall_us()
    lock.release()
    say(json.dumps({"at": at}))


VERBS = {"pairs": pairs, "contend": contend, "hold": hold, "keep": keep, "await": await_}


def needs_reads(verb, words):
    return (
        verb == "readers"
        or (verb == "pairs" and words[0] == "read")
        or (verb == "contend" and int(words[2]) > 0)
    )


def main(args):
    if args == ["about"]:
        say(json.dumps({
            "name": "redis-py",
            "version": redis.__version__,
            "url": "https://github.com/redis/redis-py",
            "reads": False,
            "setting": "Lock; tries again after 100 ms; a thread extends it",
        }))
        return
    socket, lease_ms, prefix, verb, *words = args
    if needs_reads(verb, words):
        say("unsupported")
        return
    threads = {"pairs": 1, "contend": 0}.get(verb)
    count = 1 if threads is None else int(words[threads])
    threading.stack_size(STACK_BYTES)
    VERBS[verb](Peer(socket, int(lease_ms), prefix, count), *words)
    sys.stdout.flush()
    # Threads that still wait when the time is over do not keep the process.
    os._exit(0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as error:  # noqa: BLE001
        fail(error)
