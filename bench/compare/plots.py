"""The plots, by gnuplot: bars for what contestants do in a second, curves for how costs grow."""

import os
import shutil
import subprocess

import report
from workloads import FIGURES

OURS_COLOUR, FLOOR_COLOUR, PEER_COLOUR = "#2060B0", "#909090", "#D09040"
COLOURS = ["#D09040", "#30A060", "#C04040", "#8060A0", "#40B0C0", "#909090", "#C070A0", "#806040", "#A0B030",
           "#404040", "#E0B0A0"]
BARS = ["a", "b", "c", "d0", "d1", "e", "j0", "j1"]
CURVES = {"f": ("waiters on one lock", {"f10": 10, "f1000": 1000}, "handover_us", "µs for a hand-over"),
          "g": ("readers that hold", {"g1000": 1000, "g10000": 10000}, "p50_us",
                "µs for one more to join and leave")}


def _gnuplot(folder, name, script):
    done = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True, check=False)
    if done.returncode:
        print("compare: gnuplot: " + done.stderr.strip())
    else:
        print("wrote " + os.path.relpath(os.path.join(folder, name)))


def _bars(lines, folder):
    tables = {name: table for name, table in report.rows(lines) if name in BARS}
    if not tables:
        return
    script = ["set terminal pngcairo size 1200,%d font 'sans,10' noenhanced" % (
                  sum(60 + 20 * len(table) for table in tables.values())),
              "set output '%s'" % os.path.join(folder, "bars.png"),
              "set multiplot layout %d,1 margins 0.17,0.95,0.05,0.97 spacing 0,0.06" % len(tables),
              "set style fill solid 0.9 noborder", "set boxwidth 0.7", "unset key", "set border 1",
              "set logscale x", "set xtics nomirror", "set ytics nomirror scale 0", "set offsets 0,0,0.6,0.6"]
    for name, table in tables.items():
        script.append("set title '(%s) %s, %s' offset 0,-0.7" % (name, FIGURES[name][0], FIGURES[name][1]))
        lowest = min(row[1] for row in table) or 1
        script.append("set xrange [%g:%g]" % (max(lowest / 3, 0.01), max(row[3] for row in table) * 2))
        script.append("$data << EOD")
        for place, row in enumerate(reversed(table)):
            colour = {report.OURS: OURS_COLOUR, report.FLOOR: FLOOR_COLOUR}.get(row[0], PEER_COLOUR)
            script.append('"%s" %d %g %g %g %d' % (row[0], place, row[1], row[2], row[3],
                                                   int(colour[1:], 16)))
        script.append("EOD")
        script.append("plot $data using ($3*0.5):2:(1e-9):3:($2-0.35):($2+0.35):6:ytic(1) "
                      "with boxxyerror linecolor rgb variable, "
                      "$data using 3:2:4:5 with xerrorbars pt 0 lc rgb '#303030', "
                      "$data using 3:2:(sprintf('  %g', $3 >= 100 ? int($3) : $3)) with labels left offset 0.5,0")
    _gnuplot(folder, "bars.png", "\n".join(script) + "\nunset multiplot\n")


def _curve(lines, folder, letter):
    title, points, figure, unit = CURVES[letter]
    series = {}
    for who in report.contestants(lines):
        values = [(count, report.median(lines, name, who["name"], figure)) for name, count in points.items()]
        values = [(count, value) for count, value in values if value]
        if values:
            series[who["name"]] = values
    if not series:
        return
    name = "curve-%s.png" % letter
    script = ["set terminal pngcairo size 900,500 font 'sans,10' noenhanced",
              "set output '%s'" % os.path.join(folder, name), "set logscale xy", "set grid ytics",
              "set key outside right", "set xlabel '%s'" % title, "set ylabel '%s'" % unit,
              "set xrange [%g:%g]" % (min(points.values()) / 1.5, max(points.values()) * 1.5)]
    colours = iter(COLOURS)
    for place, (who, values) in enumerate(series.items()):
        script.append("$s%d << EOD" % place)
        script.extend("%g %g" % value for value in values)
        script.append("EOD")
    script.append("plot " + ", ".join(
        "$s%d using 1:2 with linespoints pt 7 lw %d lc rgb '%s' title '%s'" % (
            place, 4 if who == report.OURS else 1,
            OURS_COLOUR if who == report.OURS else next(colours), who)
        for place, who in enumerate(series)))
    _gnuplot(folder, name, "\n".join(script) + "\n")


def draw(lines, folder):
    if not shutil.which("gnuplot"):
        print("compare: there is no gnuplot; nothing is drawn")
        return
    _bars(lines, folder)
    for letter in CURVES:
        _curve(lines, folder, letter)
