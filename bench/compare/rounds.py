"""The rounds: in each, every workload is done by every contestant, one after the other, the order of these
turning from round to round. The machine is not the same from one minute to the next; so neighbours in time
are compared, and medians are taken over the rounds."""

import datetime
import json
import os
import platform
import sys
import time

import contest
import workloads


def _machine(server):
    model = ""
    with open("/proc/cpuinfo", encoding="utf-8") as rows:
        model = next((row.split(":", 1)[1].strip() for row in rows if row.startswith("model name")), "")
    return {"kernel": platform.release(), "machine": platform.machine(), "processors": os.cpu_count(),
            "model": model, "server": server.version}


def _does(who, name):
    if "missing" in who:
        return False
    if who["name"] == "floor":
        return name in workloads.FLOOR
    if name == "p":
        return False
    if name in workloads.WITHOUT_PEERS:
        return who["name"] == "latchkey"
    return who["reads"] or name not in workloads.READ


def _measure(server, who, name, plan):
    server.empty()
    try:
        return workloads.WORK[name](server, who, plan), None
    except contest.Failure as failure:
        return None, str(failure)
    finally:
        server.empty()


def run(server, field, plan, quick, path):
    began = time.monotonic()
    with open(path, "w", encoding="utf-8") as out:
        def write(**line):
            out.write(json.dumps(line) + "\n")
            out.flush()
        write(kind="run", date=datetime.date.today().isoformat(), command=" ".join(sys.argv[1:]),
              quick=quick, rounds=plan.rounds, **_machine(server))
        for who in field:
            write(kind="contestant", **{key: value for key, value in who.items() if key != "drive"})
        for number in range(plan.rounds):
            for name in plan.work:
                if number and name in workloads.ONCE:
                    continue
                turn = number % len(field)
                for who in field[turn:] + field[:turn]:
                    if not _does(who, name):
                        continue
                    contest.say("%4.0f s  round %d of %d  (%s) %s: %s" % (
                        time.monotonic() - began, number + 1, plan.rounds, name,
                        workloads.FIGURES[name][0], who["name"]))
                    figures, failure = _measure(server, who, name, plan)
                    if failure:
                        write(kind="failure", workload=name, contestant=who["name"], round=number, why=failure)
                    elif figures is not None:
                        write(kind="figures", workload=name, contestant=who["name"], round=number,
                              figures=figures)
    contest.say("%.0f s in all\n" % (time.monotonic() - began))
