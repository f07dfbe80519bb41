"""What is measured. A workload makes one contestant do its work once, and returns its figures by name, or
None if the contestant has no such thing. The first figure is the one that counts; see FIGURES."""

import time

import contest

LEASE_MS = 30000
SHORT_LEASE_MS = 2000
READERS = 16

# Name of the first figure, its unit, and whether more is better.
FIGURES = {
    "a": ("uncontended write pairs, 1 thread", "pairs/s", True),
    "b": ("uncontended read pairs, 1 thread", "pairs/s", True),
    "c": ("64 threads on 64 locks", "pairs/s", True),
    "d0": ("one lock, 8 contenders, held 0 ms", "hand-overs/s", True),
    "d1": ("one lock, 8 contenders, held 1 ms", "hand-overs/s", True),
    "e": ("95 % reads, 16 contenders, held 1 ms", "grants/s", True),
    "f10": ("10 waiters on one lock", "µs/hand-over", False),
    "f1000": ("1,000 waiters on one lock", "µs/hand-over", False),
    "g1000": ("1,000 readers hold, one joins and leaves", "µs", False),
    "g10000": ("10,000 readers hold, one joins and leaves", "µs", False),
    "h": ("10,000 locks held and renewed", "ms of CPU/s", False),
    "i": ("the holder is killed, lease 2 s", "s to the next", False),
    "c16": ("16 threads on 16 locks", "pairs/s", True),
    "j0": ("16 readers on one lock, held 0 ms", "pairs/s", True),
    "j1": ("16 readers on one lock, held 1 ms", "pairs/s", True),
    "p": ("a message there and back, half of it", "µs", False),
}


class Plan:
    """How long, how many."""

    def __init__(self, quick):
        self.quick = quick
        self.seconds = 0.2 if quick else 1.5
        self.contend_seconds = 0.4 if quick else 2
        self.processes = 2 if quick else 4
        self.hold_seconds = (1, 0.5) if quick else (30, 30)
        self.held = 1000 if quick else 10000
        self.rounds = 1 if quick else 3


def _one(server, who, lock, words, seconds, lease_ms=LEASE_MS):
    """The result of one driver, and the server's CPU meanwhile."""
    driver = contest.Driver(who, server, lease_ms, lock, words)
    if not driver.ready():
        return None, 0
    before = server.cpu()
    driver.go()
    result = driver.result(seconds * 3 + 60)
    return result, server.cpu() - before


def _pairs(mode, threads):
    def work(server, who, plan):
        result, cpu = _one(server, who, "bench", ["pairs", mode, threads, plan.seconds], plan.seconds)
        if result is None:
            return None
        return {"rate": result["pairs"] / result["seconds"], "p50_us": result["p50"],
                "p99_us": result["p99"], "cpu_us": cpu * 1e6 / result["pairs"]}
    return work


def _contest(server, who, plan, words):
    """Several drivers at once. Returns all grants in order, with contenders numbered through, and the
    server's CPU meanwhile; or None, None."""
    seconds = plan.contend_seconds
    drivers = [contest.Driver(who, server, LEASE_MS, "bench", words) for _ in range(plan.processes)]
    if not all([driver.ready() for driver in drivers]):
        for driver in drivers:
            driver.kill()
        return None, None
    before = server.cpu()
    for driver in drivers:
        driver.go()
    results = [driver.result(seconds * 3 + 60) for driver in drivers]
    cpu = server.cpu() - before
    grants = [(at, (number, thread), wait, mode) for number, result in enumerate(results)
              for at, thread, wait, mode in result["grants"]]
    return sorted(grants), cpu


def _percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] if values else None


def _handovers(grants):
    """To have it again at once, with others waiting, is no hand-over."""
    return sum(1 for before, grant in zip(grants, grants[1:]) if before[1] != grant[1])


def _after_the_start(grants):
    """From when each contender has had it once: before, some had not begun to ask."""
    first = {}
    for grant in grants:
        first.setdefault(grant[1], grant[0])
    return [grant for grant in grants if grant[0] >= max(first.values())]


def _longest_streak(grants):
    longest, current, last = 0, 0, None
    for grant in grants:
        current = current + 1 if grant[1] == last else 1
        last = grant[1]
        longest = max(longest, current)
    return longest


def _fairness(grants, contenders):
    """Jain's index: 1 when all got the same, 1/n when one got all."""
    counts = {}
    for grant in grants:
        counts[grant[1]] = counts.get(grant[1], 0) + 1
    total = sum(counts.values())
    return total * total / (contenders * sum(count * count for count in counts.values())) if total else 0


def _mutex(hold_us):
    def work(server, who, plan):
        seconds, words = plan.contend_seconds, ["contend", 2, hold_us, 0, plan.contend_seconds]
        grants, _ = _contest(server, who, plan, words)
        if grants is None:
            return None
        waits = [grant[2] for grant in grants]
        server.empty()
        counted = contest.Monitor(server)
        watched, _ = _contest(server, who, plan, words)
        commands = counted.close()
        return {"rate": _handovers(grants) / seconds, "grants": len(grants) / seconds,
                "p50_us": _percentile(waits, 0.5), "p99_us": _percentile(waits, 0.99),
                "fairness": _fairness(grants, 2 * plan.processes),
                "streak": _longest_streak(_after_the_start(grants)),
                "commands": commands / max(1, _handovers(watched))}
    return work


def _mostly_reads(server, who, plan):
    seconds = plan.contend_seconds
    grants, _ = _contest(server, who, plan, ["contend", 4, 1000, 95, seconds])
    if grants is None:
        return None
    reads = [grant[2] for grant in grants if grant[3] == 0]
    writes = [grant[2] for grant in grants if grant[3] == 1]
    return {"rate": len(grants) / seconds, "reads": len(reads) / seconds,
            "writes": len(writes) / seconds, "read_p99_us": _percentile(reads, 0.99),
            "write_p99_us": _percentile(writes, 0.99)}


def _only_reads(hold_us):
    """Each grant is one pair. A quick run has fewer processes, but as many readers."""
    def work(server, who, plan):
        seconds, threads = plan.contend_seconds, READERS // plan.processes
        grants, cpu = _contest(server, who, plan, ["contend", threads, hold_us, 100, seconds])
        if grants is None:
            return None
        waits = [grant[2] for grant in grants]
        return {"rate": len(grants) / seconds, "read_p50_us": _percentile(waits, 0.5),
                "read_p99_us": _percentile(waits, 0.99), "cpu_us": cpu * 1e6 / max(1, len(grants))}
    return work


def _queue(waiters):
    def work(server, who, plan):
        seconds = plan.contend_seconds
        result, cpu = _one(server, who, "bench", ["contend", waiters, 0, 0, seconds], seconds)
        if result is None:
            return None
        grants = sorted((at, thread) for at, thread, _, _ in result["grants"])
        count = max(1, _handovers(grants))
        return {"handover_us": seconds * 1e6 / count, "cpu_us": cpu * 1e6 / count,
                "grants": len(grants) / seconds}
    return work


def _readers(count):
    def work(server, who, plan):
        result, cpu = _one(server, who, "bench", ["readers", count, plan.seconds], plan.seconds)
        if result is None:
            return None
        return {"p50_us": result["p50"], "p99_us": result["p99"], "cpu_us": cpu * 1e6 / result["pairs"]}
    return work


def _held(server, who, plan):
    for_cpu, for_commands = plan.hold_seconds
    driver = contest.Driver(who, server, LEASE_MS, "bench", ["hold", plan.held, for_cpu + for_commands])
    if not driver.ready(300):
        return None
    driver.go()
    before, began = server.cpu(), time.monotonic()
    time.sleep(for_cpu)
    cpu, seconds = server.cpu() - before, time.monotonic() - began
    counted = contest.Monitor(server)
    result = driver.result(60)
    return {"cpu_ms": cpu * 1000 / seconds, "commands": counted.close() / for_commands,
            "lost": result["lost"]}


def _killed(server, who, _plan):
    holder = contest.Driver(who, server, SHORT_LEASE_MS, "bench", ["keep"])
    if not holder.ready():
        return None
    waiters = [contest.Driver(who, server, SHORT_LEASE_MS, "bench", ["await"]) for _ in range(3)]
    for waiter in waiters:
        waiter.ready()
    time.sleep(1)
    killed = time.time()
    holder.kill()
    deadline, first = time.time() + 60, None
    while first is None and time.time() < deadline:
        first = next((one for one in waiters if one.has_line(0.01)), None)
    if first is None:
        for waiter in waiters:
            waiter.kill()
        return {"seconds": 60.0}
    got = first.result(5)["at"] / 1e6
    for waiter in waiters:
        waiter.kill()
    return {"seconds": got - killed}


def _message(server, who, plan):
    result, _ = _one(server, who, "bench", ["ping-pong", plan.seconds], plan.seconds)
    return result and {"p50_us": result["p50"], "p99_us": result["p99"]}


WORK = {
    "a": _pairs("write", 1), "b": _pairs("read", 1), "c": _pairs("write", 64),
    "d0": _mutex(0), "d1": _mutex(1000), "e": _mostly_reads,
    "f10": _queue(10), "f1000": _queue(1000),
    "g1000": _readers(1000), "g10000": _readers(10000),
    "h": _held, "i": _killed,
    "c16": _pairs("write", READERS), "j0": _only_reads(0), "j1": _only_reads(1000),
    "p": _message,
}

# Those that say more by lasting long than by being repeated; and what is too long for a quick look.
ONCE = {"h"}
LONG = {"g10000"}
FLOOR = {"a", "c", "c16", "p"}
# Workloads that need a read lock; and one that peers do not run: latchkey's (j0) is compared with it.
READ = {"b", "e", "g1000", "g10000", "j0", "j1"}
WITHOUT_PEERS = {"c16"}


def plan(quick, letters):
    def is_wanted(name):
        return not letters or name in letters or name[0] in letters

    made = Plan(quick)
    made.work = {name: work for name, work in WORK.items()
                 if (is_wanted(name) or (name == "c16" and is_wanted("j0")))
                 and not (quick and name in LONG)}
    return made
