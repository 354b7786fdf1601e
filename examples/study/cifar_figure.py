#!/usr/bin/env python3
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.

"""Figures of studies on CIFAR-10, by gnuplot, with the rows that they show as CSV: accuracy
against time, with bands; or, of a study with several numbers of ranks, speed-up against ranks."""

import argparse
import csv
import itertools
import pathlib
import statistics
import subprocess

STYLES = {
    "dasgd": ("DASGD", "#123a66"), "dasgd_momentum": ("DASGD, momentum", "#1f5fa8"),
    "dasgd_adam": ("DASGD, Adam", "#c8561b"), "allreduce": ("all-reduce", "#2a8a57"),
    "allreduce_momentum": ("all-reduce, momentum", "#2a8a57"), "local": ("local SGD", "#b8912a"),
    "local_momentum": ("local SGD", "#b8912a"), "adpsgd": ("AD-PSGD", "#3aa0b0"),
    "adpsgd_momentum": ("AD-PSGD", "#3aa0b0"), "ps": ("parameter server", "#8a5aa8"),
    "ps_momentum": ("parameter server", "#8a5aa8"), "sgd": ("ens::SGD", "#777777"),
    "momentum": ("ens::MomentumSGD, one core", "#777777"),
    "adam": ("ens::Adam, one core", "#e8a87c"),
    "threads": ("ens::SGD, threads", "#9c2f4e"),
    "threads_momentum": ("ens::MomentumSGD, threads", "#9c2f4e"),
    "ddp": ("PyTorch DDP", "#d48ac0")}
PLACES = 60
SETUP = [
    "set datafile separator comma", "set encoding utf8", "set border 3 lc rgb '#555555'",
    "set tics nomirror out", "set grid ytics lc rgb '#dddddd' lt 1",
    "set style fill transparent solid 0.15 noborder"]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def accuracy_at(curve, seconds):
    """Between two copies on a straight line."""
    for before, after in zip(curve, curve[1:]):
        if after[0] >= seconds:
            part = (seconds - before[0]) / max(after[0] - before[0], 1e-9)
            return before[1] + part * (after[1] - before[1])
    return curve[-1][1]


def curves_of(folders):
    """All runs that count: lists of (seconds, accuracy) by algorithm."""
    found = {}
    for folder in folders:
        for row in read(folder / "runs.csv"):
            if row["phase"] == "run" and row["curve"]:
                found.setdefault(row["algorithm"], []).append(folder / row["curve"])
        for path in sorted(folder.parent.glob(folder.name + ".ddp_*.csv")):
            found.setdefault("ddp", []).append(path)
    return {name: [[(float(point["seconds"]), float(point["accuracy"])) for point in read(path)]
                   for path in paths] for name, paths in found.items()}


def crossings_of(curves, target):
    """When each run first reached the target."""
    found = {}
    for name, runs in curves.items():
        for run in runs:
            for before, after in zip(run, run[1:]):
                if after[1] >= target:
                    part = max(0, (target - before[1]) / max(after[1] - before[1], 1e-9))
                    found.setdefault(name, []).append(before[0] + part * (after[0] - before[0]))
                    break
    return found


def write_bands(curves, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["algorithm", "seconds", "mean", "low", "high", "runs"])
        for name, runs in curves.items():
            # Only as long as all runs went on, or the mean would jump.
            end = min(run[-1][0] for run in runs)
            for i in range(PLACES + 1):
                seconds = end * (i / PLACES) ** 2
                values = [accuracy_at(run, seconds) for run in runs]
                rows.writerow([name, f"{seconds:.4g}", f"{sum(values) / len(values):.4f}",
                               f"{min(values):.4f}", f"{max(values):.4f}", len(runs)])


def gnuplot(lines):
    subprocess.run(["gnuplot"], input="\n".join(SETUP + lines) + "\n", text=True, check=True)


def points(places):
    """What to plot for some points."""
    text = "\\n".join(",".join(place) for place in places)
    return f"\"< printf '{text}\\n'\" using 1:2 with points pt 7"


def draw_curves(panels, path, target):
    """One panel for each (title, curves, file of its bands)."""
    lines = [f"set terminal svg size {460 * len(panels) + 20}, 440 font 'sans-serif,13' "
             "background '#ffffff'", f"set output '{path}'", "set xlabel 'seconds'",
             "set ylabel 'test accuracy'", "set format y '%.0f %%'",
             f"set yrange [{100 * target - 30}:{100 * target + 5}]",
             "set key bottom right samplen 1.5 spacing 1.15",
             f"set multiplot layout 1, {len(panels)}",
             f"set arrow 1 from graph 0, first {100 * target} to graph 1, first {100 * target} "
             "nohead lc rgb '#999999' dt 2"]
    for title, curves, bands in panels:
        parts, marks = [], []
        for name, (label, colour) in STYLES.items():
            if name not in curves:
                continue
            rows = f"\"< grep '^{name},' {bands}\""
            parts.append(f"{rows} using 2:(100*$4):(100*$5) with filledcurves lc rgb '{colour}' "
                         "notitle")
            parts.append(f"{rows} using 2:(100*$3) with lines lw 2 lc rgb '{colour}' "
                         f"title '{label}'")
            reached = crossings_of(curves, target).get(name, [])
            if reached:
                marks.append(points([(f"{seconds:.4g}", f"{100 * target:.6g}")
                                     for seconds in reached]) +
                             f" ps 0.6 lc rgb '{colour}' notitle")
        end = max(run[-1][0] for runs in curves.values() for run in runs)
        # On top of all lines, and DASGD's on top of the others.
        lines += [f"set title '{title}'", f"set xrange [0:{1.02 * end:.4g}]",
                  "plot " + ", ".join(parts + marks[::-1])]
    gnuplot(lines + ["unset multiplot"])


def speedups(folders, path):
    """Means over seeds and their speed-up over one rank, by algorithm and ranks.  A run that
    missed the target counts with all of its time, so that the speed-up is at most what is said."""
    times, gradients, missed = {}, {}, {}
    for row in itertools.chain.from_iterable(read(folder / "runs.csv") for folder in folders):
        if row["phase"] != "run":
            continue
        key = row["algorithm"], row["slow"], int(row["ranks"])
        missed.setdefault(key, []).append(not row["time_to_target"])
        times.setdefault(key, []).append(float(row["time_to_target"] or row["seconds"]))
        gradients.setdefault(key, []).append(float(row["gradients_to_target"] or row["gradients"]))
    serial = min((statistics.mean(value) for key, value in times.items()
                  if key[2] == 1 and not any(missed[key])), default=None)
    if serial is None:
        print("No figure of speed-ups: no run on one rank reached the target; add sgd to the "
              "algorithms, or call cifar_figure.py with several folders.")
        return False
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["algorithm", "slow", "ranks", "reached", "seconds", "least", "most",
                       "speedup", "gradients"])
        for key in sorted(missed):
            reached = f"{missed[key].count(False)} of {len(missed[key])}"
            mean = statistics.mean(times[key])
            rows.writerow([*key, reached, f"{mean:.4g}", f"{min(times[key]):.4g}",
                           f"{max(times[key]):.4g}", f"{serial / mean:.3g}",
                           f"{statistics.mean(gradients[key]):.0f}"])
    return True


def draw_speedups(rows, path, title):
    known = read(rows)
    slows = sorted({row["slow"] for row in known if int(row["ranks"]) > 1})
    counts = {int(row["ranks"]) for row in known}
    best = max((float(row["speedup"]) for row in known if row["speedup"]), default=1)
    lines = [f"set terminal svg size {460 * len(slows) + 20}, 440 font 'sans-serif,13' "
             "background '#ffffff'", f"set output '{path}'", "set xlabel 'ranks'",
             "set ylabel 'times as fast as one rank'",
             "set key bottom right samplen 1.5 spacing 1.15",
             "set datafile missing ''", f"set xrange [0:{max(counts) * 1.05:.4g}]",
             "set yrange [0:*]", f"set xtics ({', '.join(map(str, sorted({1, *counts})))})",
             f"set multiplot layout 1, {len(slows)}"]
    for slow in slows:
        # As far as the others go.
        parts = [f"(x < {1.3 * best:.3g} ? x : 1/0) with lines lc rgb '#bbbbbb' dt 2 "
                 "title 'perfect'"] if not slow else []
        for name, (label, colour) in STYLES.items():
            if any(row["algorithm"] == name and row["slow"] == slow and int(row["ranks"]) > 1
                   for row in known):
                # From the least to the most of the runs; the lines begin at one rank.
                here = f"\"< grep '^{name},{slow},' {rows}\""
                parts.append(f"{here} using 3:8:($8*$5/$7):($8*$5/$6) with yerrorbars lw 1 ps 0 "
                             f"lc rgb '{colour}' notitle")
                parts.append(f"\"< echo '{name},{slow},1,,,,,1'; grep '^{name},{slow},' {rows}\" "
                             f"using 3:8 with linespoints lw 2 pt 7 ps 0.7 lc rgb '{colour}' "
                             f"title '{label}'")
                # Hollow: a run missed the target.
                hollow = [(row["ranks"], row["speedup"]) for row in known
                          if (row["algorithm"], row["slow"]) == (name, slow) and
                          len(set(row["reached"].split(" of "))) > 1]
                if hollow:
                    parts.append(points(hollow) + " ps 0.4 lc rgb '#ffffff' notitle")
        which = "all ranks equal" if not slow else \
            f"rank {slow.split(':')[0]} is {slow.split(':')[1]} times slower"
        lines += [f"set title '{title}: {which}'", "plot " + ", ".join(parts)]
    gnuplot(lines + ["unset multiplot"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", nargs="+", action="append", required=True,
                        metavar=("TITLE", "FOLDER"),
                        help="a title and the folders of studies for one picture; may be repeated")
    parser.add_argument("--out", required=True, help="name of the files to write, without ending")
    parser.add_argument("--by_ranks", action="store_true", help="speed-up against ranks")
    arguments = parser.parse_args()
    out = arguments.out
    if arguments.by_ranks:
        rows = pathlib.Path(out + ".csv").resolve()
        if speedups([pathlib.Path(folder) for folder in arguments.results[0][1:]], rows):
            draw_speedups(rows, pathlib.Path(out + ".svg").resolve(), arguments.results[0][0])
        return
    panels = []
    for i, (title, *folders) in enumerate(arguments.results):
        folders = [pathlib.Path(folder).resolve() for folder in folders]
        bands = pathlib.Path(f"{out}_{i + 1}_curves.csv").resolve()
        curves = curves_of(folders)
        write_bands(curves, bands)
        panels.append((title, curves, bands))
        target = next(float(row["target_accuracy"]) for row in read(folders[0] / "runs.csv"))
    draw_curves(panels, pathlib.Path(out + ".svg").resolve(), target)


if __name__ == "__main__":
    main()
