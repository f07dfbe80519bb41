"""The figures as tables: medians over the rounds, with their spread, and ratios to latchkey and to the
floor of the same run."""

import json
import statistics

from workloads import FIGURES

OURS, FLOOR = "latchkey", "floor"
# The floor of a workload: what the floor's driver did that is nearest to it. A hand-over is a message at
# least (p), to join and leave a pair (a). To hold for a while, to renew and to die have none.
FLOOR_OF = {"a": "a", "b": "a", "c": "c", "d0": "p", "f10": "p", "f1000": "p", "g1000": "a", "g10000": "a",
            "c16": "c16", "j0": "c16"}


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def contestants(lines):
    return [line for line in lines if line["kind"] == "contestant"]


def figures(lines, workload, contestant):
    """By name, the values of all rounds."""
    values = {}
    for line in lines:
        if line["kind"] == "figures" and (line["workload"], line["contestant"]) == (workload, contestant):
            for name, value in line["figures"].items():
                if value is not None:
                    values.setdefault(name, []).append(value)
    return values


def first(lines, workload, contestant):
    """Median and spread of the figure that counts, or None."""
    values = next(iter(figures(lines, workload, contestant).values()), None)
    return (statistics.median(values), min(values), max(values)) if values else None


def median(lines, workload, contestant, name):
    values = figures(lines, workload, contestant).get(name)
    return statistics.median(values) if values else None


def _cost(lines, workload, contestant):
    """Less is better: the figure itself, or, of so many a second, the time of one in µs."""
    value = first(lines, workload, contestant)
    if not value or not value[0]:
        return None
    return 1e6 / value[0] if FIGURES[workload][2] else value[0]


def ratio(lines, workload, contestant, other, other_workload=None):
    """How many times as good `other` is: above 1, it is ahead."""
    mine, theirs = _cost(lines, workload, contestant), _cost(lines, other_workload or workload, other)
    return mine / theirs if mine and theirs else None


def short(value):
    if value is None:
        return "-"
    if value >= 100:
        return "{:,.0f}".format(value)
    return "%.3g" % value


def _more(lines, workload, name):
    """What there is to say beside the figure that counts."""
    get = lambda figure: median(lines, workload, name, figure)
    if workload in ("a", "b", "c", "c16"):
        return "p50 %s µs, p99 %s µs" % (short(get("p50_us")), short(get("p99_us")))
    if workload in ("d0", "d1"):
        return "%s grants/s; wait p50 %s ms, p99 %s ms; %s commands; Jain %s; streak %s" % (
            short(get("grants")), short((get("p50_us") or 0) / 1000),
            short((get("p99_us") or 0) / 1000), short(get("commands")), short(get("fairness")),
            short(get("streak")))
    if workload == "e":
        return "%s reads/s, %s writes/s; wait p99 %s ms reading, %s ms writing" % (
            short(get("reads")), short(get("writes")), short((get("read_p99_us") or 0) / 1000),
            short((get("write_p99_us") or 0) / 1000))
    if workload in ("j0", "j1"):
        return "wait p50 %s µs, p99 %s µs; server %s µs" % (
            short(get("read_p50_us")), short(get("read_p99_us")), short(get("cpu_us")))
    if workload in ("f10", "f1000", "g1000", "g10000"):
        return "server %s µs" % short(get("cpu_us"))
    if workload == "h":
        return "%s commands/s; %s lost" % (short(get("commands")), short(get("lost")))
    return ""


def rows(lines):
    """(workload, [(contestant, median, low, high, to ours, to the floor, more)])."""
    for workload in FIGURES:
        table = []
        for who in contestants(lines):
            name = who["name"]
            value = first(lines, workload, name)
            if not value:
                continue
            floor = ratio(lines, workload, name, FLOOR, FLOOR_OF[workload]) if workload in FLOOR_OF else None
            table.append((name, *value, ratio(lines, workload, name, OURS), floor,
                          _more(lines, workload, name)))
        if table:
            better = FIGURES[workload][2]
            yield workload, sorted(table, key=lambda row: -row[1] if better else row[1])


def every_figure(lines):
    """All medians with their spread, and as ratios to latchkey's and to the floor's of the same name."""
    out = ["| workload | contestant | figure | median | least .. greatest | to latchkey's | to the floor's |",
           "| --- | --- | --- | ---: | ---: | ---: | ---: |"]
    for workload in FIGURES:
        for who in contestants(lines):
            for name, values in figures(lines, workload, who["name"]).items():
                middle = statistics.median(values)
                others = (median(lines, workload, OURS, name),
                          median(lines, FLOOR_OF.get(workload, ""), FLOOR, name))
                ratios = [short(middle / other) if other else "" for other in others]
                out.append("| %s | %s | %s | %s | %s .. %s | %s | %s |" % (
                    workload, who["name"], name, short(middle), short(min(values)), short(max(values)),
                    *ratios))
    return "\n".join(out) + "\n"


def beside_c16(lines):
    """The aim of (j0): as many pairs with 16 readers on one lock as with 16 threads on 16 locks."""
    readers, threads = first(lines, "j0", OURS), first(lines, "c16", OURS)
    if readers and threads:
        yield "(j0) beside (c16): latchkey does %s pairs/s on one lock and %s on 16 locks: %s times as many" % (
            short(readers[0]), short(threads[0]), short(readers[0] / threads[0]))


def notes(lines):
    yield from beside_c16(lines)
    for line in lines:
        if line["kind"] == "contestant" and "missing" in line:
            yield "%s is not run: %s" % (line["name"], line["missing"].removeprefix(line["name"] + ": "))
        if line["kind"] == "failure":
            yield "(%s) %s" % (line["workload"], line["why"])


def terminal(lines):
    out = []
    for workload, table in rows(lines):
        title, unit, _ = FIGURES[workload]
        out.append("\n(%s) %s, %s" % (workload, title, unit))
        for name, value, low, high, ours, floor, more in table:
            out.append("  %-16s %10s  %9s .. %-9s %7s  %7s  %s" % (
                name, short(value), short(low), short(high),
                "x " + short(ours) if ours else "", "/ " + short(floor) if floor else "", more))
    out.append("\nx: latchkey is so many times as good. /: so many times the floor's time.")
    out.extend(notes(lines))
    return "\n".join(out)


def markdown(lines):
    """One table for bench/README.md: the main figure of every contestant, and how far latchkey is ahead."""
    shown = [workload for workload, _ in rows(lines) if workload != "p"]
    out = ["| | " + " | ".join("(%s) %s" % (name, FIGURES[name][1]) for name in shown) + " |",
           "| --- " + "| ---: " * len(shown) + "|"]
    for who in contestants(lines):
        if "missing" in who:
            continue
        cells = []
        for workload in shown:
            value, ours = first(lines, workload, who["name"]), ratio(lines, workload, who["name"], OURS)
            cell = short(value[0]) if value else ""
            if value and ours and who["name"] != OURS:
                cell += " (%s)" % short(ours)
            cells.append(cell)
        out.append("| %s %s | " % (who["name"], who.get("version", "")) + " | ".join(cells) + " |")
    out.append("")
    out.extend("- " + note for note in notes(lines))
    return "\n".join(out) + "\n"
