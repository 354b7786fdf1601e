#!/usr/bin/env python3
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.

"""Rows of dasgd_step_study: for each machine and algorithm the step that was the fastest on
average, as a table, and drawn against the number of ranks by gnuplot; or, with --retuning, what the
step of one rank takes beside the best one."""

import argparse
import csv
import statistics
import subprocess

STYLES = {
    ("dasgd", "momentum"): ("DASGD, momentum", "#1f5fa8", 1),
    ("dasgd", "adam"): ("DASGD, Adam", "#c8561b", 1),
    ("allreduce", "momentum"): ("all-reduce, momentum", "#2a8a57", 2),
    ("allreduce", "nesterov"): ("all-reduce, Nesterov", "#8a5aa8", 2),
    ("allreduce", "adam"): ("all-reduce, Adam", "#e8a87c", 2)}
TITLES = {"mlp": "Fashion-MNIST, 784-64-10, to a loss of 0.37",
          "cnn": "CIFAR-10, tutorial network, to a loss of 1.2"}


def read(paths):
    """Seconds by seed, of each cell and step; None where the target was not reached."""
    cells = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                cell = (row["problem"], float(row["slow"]), int(row["ranks"]),
                        row["algorithm"], row["method"])
                step = (float(row["step"]), row["damping"], row["look_ahead"])
                cells.setdefault(cell, {}).setdefault(step, {})[int(row["seed"])] = \
                    float(row["seconds"]) if row["seconds"] else None
    return cells


def mean(runs):
    """Of at least three runs that reached the target."""
    if len(runs) < 3 or None in runs.values():
        return None
    return statistics.mean(runs.values())


def best(steps):
    """The step that was the fastest on average, with its mean."""
    means = {step: mean(runs) for step, runs in steps.items()}
    reached = {step: value for step, value in means.items() if value is not None}
    return min(reached.items(), key=lambda item: item[1]) if reached else (None, None)


def texts(runs):
    return ", ".join("not" if runs[seed] is None else f"{runs[seed]:.1f}" for seed in sorted(runs))


def compare(cells):
    for cell in sorted(cells):
        step, value = best(cells[cell])
        if value is not None:
            print("|", " | ".join(map(str, cell)), "|", f"{step[0]:g}", "|",
                  texts(cells[cell][step]), "|", f"{value:.1f}", "|")


def draw(cells, path):
    script = ["set terminal svg size 900,380 font 'sans,12' background '#ffffff'",
              f"set output '{path}'", "set multiplot layout 1,2", "set logscale xy 2",
              "set border 3 lc rgb '#555555'", "set tics nomirror out",
              "set grid ytics lc rgb '#dddddd' lt 1", "set key bottom left samplen 2",
              "set xlabel 'ranks'", "set ylabel 'virtual seconds'",
              "set xtics (2, 4, 8, 16, 32)", "set xrange [1.8:36]",
              "set yrange [1:50]"]
    for problem, title in TITLES.items():
        plots, data = [], []
        for (algorithm, method), (label, color, dash) in STYLES.items():
            points = []
            for ranks in (2, 4, 8, 16, 32):
                _, value = best(cells.get((problem, 1.0, ranks, algorithm, method), {}))
                if value is not None:
                    points.append(f"{ranks} {value}")
            plots.append(f"'-' using 1:2 with linespoints lw 2 pt 7 ps 0.5 dt {dash} "
                         f"lc rgb '{color}' title '{label}'")
            data += points + ["e"]
        script += [f"set title '{title}'", "plot " + ", ".join(plots)] + data
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def retuning(cells, serial):
    """The step of one rank, by default settings, beside the best one."""
    for cell in sorted(cells):
        problem, slow, ranks, algorithm, method = cell
        if algorithm != "dasgd" or (problem, method) not in serial:
            continue
        automatic = {step: runs for step, runs in cells[cell].items() if step[1:] == ("auto", "auto")}
        given = next((runs for step, runs in automatic.items()
                      if abs(step[0] - serial[problem, method]) < 1e-9), None)
        step, value = best(automatic)
        if given is None or value is None:
            print("|", problem, "|", method, "|", ranks, "|", f"{slow:g}", "| no three runs |")
            continue
        ratio = f"{mean(given) / value:.2f}" if mean(given) else "not"
        print("|", problem, "|", method, "|", ranks, "|", f"{slow:g}", "|",
              f"{serial[problem, method]:g}", "|", texts(given), "|", f"{step[0]:g}", "|",
              texts(automatic[step]), "|", ratio, "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="+", help="CSV files of dasgd_step_study")
    parser.add_argument("--out", help="SVG file to draw")
    parser.add_argument("--retuning", help="steps of one rank, as mlp:adam=0.08,mlp:sgd=0.1")
    options = parser.parse_args()
    cells = read(options.rows)
    if options.retuning:
        serial = {tuple(name.split(":")): float(step) for name, step in
                  (pair.split("=") for pair in options.retuning.split(","))}
        retuning(cells, serial)
    else:
        compare(cells)
    if options.out:
        draw(cells, options.out)


if __name__ == "__main__":
    main()
