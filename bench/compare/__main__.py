"""The same work for latchkey and its peers, on one server, in one run.

    python3 bench/compare [--quick] [--only NAME,…] [--workloads a,b,…] [--results FOLDER]

What is measured is in workloads.py, how fairly in rounds.py; drivers are described in ../peers/README.md.
"""

import argparse
import os
import sys

import contest
import plots
import report
import rounds
import workloads


def parse():
    parser = argparse.ArgumentParser(prog="compare", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one short round: does it work?")
    parser.add_argument("--only", help="contestants, with commas between them")
    parser.add_argument("--workloads", help="letters, with commas between them")
    parser.add_argument("--results", help="folder for the raw lines and plots")
    parser.add_argument("--draw", action="store_true", help="draw the results that are there")
    return parser.parse_args()


def main():
    wanted = parse()
    here = os.path.dirname(os.path.abspath(__file__))
    folder = wanted.results or os.path.join(here, "..", "results")
    os.makedirs(folder, exist_ok=True)
    raw = os.path.join(folder, "results.jsonl")
    if not wanted.draw:
        names = wanted.only.split(",") if wanted.only else None
        letters = wanted.workloads.split(",") if wanted.workloads else None
        with contest.Server(wanted.quick) as server:
            field = contest.set_up(os.path.join(here, "..", "peers"), names)
            plan = workloads.plan(wanted.quick, letters)
            rounds.run(server, field, plan, wanted.quick, raw)
    lines = report.read(raw)
    with open(os.path.join(folder, "table.md"), "w", encoding="utf-8") as out:
        out.write(report.markdown(lines))
    with open(os.path.join(folder, "figures.md"), "w", encoding="utf-8") as out:
        out.write(report.every_figure(lines))
    print(report.terminal(lines))
    plots.draw(lines, folder)
    return 0


sys.exit(main())
