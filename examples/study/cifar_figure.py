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
    "ddp_momentum": ("PyTorch DDP", "#d48ac0")}
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
            found.setdefault("ddp_momentum", []).append(path)
    return {name: [[(float(point["seconds"]), float(point["accuracy"])) for point in read(path)]
                   for path in paths] for name, paths in found.items()}


def bands_of(curves):
    """Rows of mean, least and most over the runs of an algorithm."""
    for name, runs in curves.items():
        # Only as long as all runs went on, or the mean would jump.
        end = min(run[-1][0] for run in runs)
        for i in range(PLACES + 1):
            seconds = end * (i / PLACES) ** 2
            values = [accuracy_at(run, seconds) for run in runs]
            yield {"algorithm": name, "seconds": f"{seconds:.4g}",
                   "mean": f"{sum(values) / len(values):.4f}", "low": f"{min(values):.4f}",
                   "high": f"{max(values):.4f}", "runs": len(runs)}


def write(rows, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def counts(row):
    """Whether a row of runs.csv or ddp.csv is of a run, not of a try, that reached the target."""
    return row["time_to_target"] and row["judged_on"] == "test"


def gnuplot(lines):
    subprocess.run(["gnuplot"], input="\n".join(SETUP + lines) + "\n", text=True, check=True)


def points(places):
    """What to plot for some points."""
    text = "\\n".join(",".join(place) for place in places)
    return f"\"< printf '{text}\\n'\" using 1:2 with points pt 7"


def draw_curves(panels, path, target):
    """One panel for each (title, bands, rows of runs)."""
    lines = [f"set terminal svg size {460 * len(panels) + 20}, 440 font 'sans-serif,13' "
             "background '#ffffff'", f"set output '{path}'", "set xlabel 'seconds'",
             "set ylabel 'test accuracy'", "set format y '%.0f %%'",
             f"set yrange [{100 * target - 30}:{100 * target + 5}]",
             "set key bottom right samplen 1.5 spacing 1.15"]
    plots = []
    for i, (title, bands, runs) in enumerate(panels):
        parts, marks = [], []
        for name, (label, colour) in STYLES.items():
            rows = [row for row in bands if row["algorithm"] == name]
            if not rows:
                continue
            block = f"${name}_{i}"
            lines += [block + " << EOD", *(",".join(row[column] for column in
                      ("seconds", "mean", "low", "high")) for row in rows), "EOD"]
            parts.append(f"{block} using 1:(100*$3):(100*$4) with filledcurves lc rgb '{colour}' "
                         "notitle")
            parts.append(f"{block} using 1:(100*$2) with lines lw 2 lc rgb '{colour}' "
                         f"title '{label}'")
            reached = [(row["time_to_target"], f"{100 * target:.6g}") for row in runs
                       if row["algorithm"] == name and counts(row)]
            if reached:
                marks.append(points(reached) + f" ps 0.6 lc rgb '{colour}' notitle")
        names = {row["algorithm"] for row in bands}
        end = max([float(row["seconds"]) for row in bands] +
                  [float(row["time_to_target"]) for row in runs
                   if row["algorithm"] in names and counts(row)])
        # On top of all lines, and DASGD's on top of the others.
        plots += [f"set title '{title}'", f"set xrange [0:{1.02 * end:.4g}]",
                  "plot " + ", ".join(parts + marks[::-1])]
    gnuplot(lines + [f"set multiplot layout 1, {len(panels)}",
                     f"set arrow 1 from graph 0, first {100 * target} to graph 1, first "
                     f"{100 * target} nohead lc rgb '#999999' dt 2"] + plots + ["unset multiplot"])


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


def panel_of_folders(title, folders, bands_file):
    """From the folders of studies; keeps the bands as rows."""
    folders = [pathlib.Path(folder) for folder in folders]
    bands = list(bands_of(curves_of(folders)))
    if bands:
        write(bands, bands_file)
    runs = [row for folder in folders for row in read(folder / "runs.csv")]
    for folder in folders:
        ddp = folder.parent / "ddp.csv"
        # One rank alone is never slow.
        slow = {row["slow"] for row in read(folder / "runs.csv") if int(row["ranks"]) > 1}
        runs += [row for row in read(ddp) if row["slow"] in slow] if ddp.exists() else []
    return title, bands, runs


def panel_of_rows(title, files):
    """From rows that were kept: bands, and runs."""
    bands, runs = [], []
    for file in files:
        path, _, names = file.partition(":")
        rows = read(path)
        unknown = set(filter(None, names.split(","))) - {row["algorithm"] for row in rows}
        if unknown:
            raise ValueError(f"{path} has no rows of {', '.join(sorted(unknown))}")
        if names:
            rows = [row for row in rows if row["algorithm"] in names.split(",")]
        (bands if rows and "mean" in rows[0] else runs).extend(rows)
    return title, bands, runs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", nargs="+", action="append", default=[],
                        metavar=("TITLE", "FOLDER"),
                        help="a title and the folders of studies for one picture; may be repeated")
    parser.add_argument("--rows", nargs="+", action="append", default=[],
                        metavar=("TITLE", "FILE"),
                        help="a title and files for one picture, in place of folders: the "
                        "..._curves.csv of another figure, runs.csv, ddp.csv; FILE:NAME,NAME "
                        "takes the rows of some algorithms; may be repeated")
    parser.add_argument("--out", required=True, help="name of the files to write, without ending")
    parser.add_argument("--by_ranks", action="store_true", help="speed-up against ranks")
    arguments = parser.parse_args()
    out = arguments.out
    if arguments.by_ranks:
        if not arguments.results:
            parser.error("--by_ranks needs --results")
        rows = pathlib.Path(out + ".csv").resolve()
        if speedups([pathlib.Path(folder) for folder in arguments.results[0][1:]], rows):
            draw_speedups(rows, pathlib.Path(out + ".svg").resolve(), arguments.results[0][0])
        return
    try:
        panels = [panel_of_folders(title, folders, pathlib.Path(f"{out}_{i + 1}_curves.csv"))
                  for i, (title, *folders) in enumerate(arguments.results)]
        panels += [panel_of_rows(title, files) for title, *files in arguments.rows]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if not panels or not all(bands and runs for _, bands, runs in panels):
        parser.error("each picture needs curves and runs; give --results or --rows")
    target = float(panels[0][2][0]["target_accuracy"])
    draw_curves(panels, pathlib.Path(out + ".svg").resolve(), target)


if __name__ == "__main__":
    main()
