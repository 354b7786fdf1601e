#!/usr/bin/env python3
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.

"""Accuracy against time of a study on CIFAR-10: bands as CSV, and a figure by gnuplot."""

import argparse
import csv
import pathlib
import subprocess

LABELS = {
    "dasgd": "DASGD", "dasgd_momentum": "DASGD, momentum", "dasgd_adam": "DASGD, Adam",
    "allreduce": "all-reduce", "allreduce_momentum": "all-reduce, momentum",
    "local": "local SGD", "adpsgd": "AD-PSGD", "sgd": "ens::SGD", "momentum": "ens::MomentumSGD",
    "adam": "ens::Adam", "threads": "ens::SGD, BLAS threads", "ddp": "PyTorch DDP, momentum"}
COLOURS = {
    "dasgd_momentum": "#1f5fa8", "momentum": "#7aa6d8", "dasgd_adam": "#c8561b",
    "adam": "#e8a87c", "allreduce_momentum": "#2a8a57", "ddp": "#777777", "dasgd": "#123a66",
    "allreduce": "#8a5aa8", "local": "#b8912a", "adpsgd": "#3aa0b0", "sgd": "#9c2f4e",
    "threads": "#444444"}
PLACES = 60


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def accuracy_at(curve, seconds):
    """Between two copies on a straight line; a run that has stopped keeps its last."""
    for before, after in zip(curve, curve[1:]):
        if after[0] >= seconds:
            part = (seconds - before[0]) / max(after[0] - before[0], 1e-9)
            return before[1] + part * (after[1] - before[1])
    return curve[-1][1]


def curves_of(results):
    """All runs that count: lists of (seconds, accuracy) by algorithm."""
    found = {}
    for row in read(results / "runs.csv"):
        if row["phase"] == "run" and row["curve"]:
            found.setdefault(row["algorithm"], []).append(results / row["curve"])
    for path in sorted(results.parent.glob(results.name + ".ddp_*.csv")):
        found.setdefault("ddp", []).append(path)
    return {name: [[(float(point["seconds"]), float(point["accuracy"])) for point in read(path)]
                   for path in paths] for name, paths in found.items()}


def write_bands(curves, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["algorithm", "seconds", "mean", "low", "high", "runs"])
        for name, runs in curves.items():
            end = max(run[-1][0] for run in runs)
            for i in range(PLACES + 1):
                seconds = end * (i / PLACES) ** 2
                values = [accuracy_at(run, seconds) for run in runs]
                rows.writerow([name, f"{seconds:.4g}", f"{sum(values) / len(values):.4f}",
                               f"{min(values):.4f}", f"{max(values):.4f}", len(runs)])


def draw(curves, bands, path, target):
    command = [
        "set datafile separator comma", "set encoding utf8",
        "set border 3 lc rgb '#555555'", "set tics nomirror out",
        "set grid ytics lc rgb '#dddddd' lt 1", "set style fill transparent solid 0.15 noborder",
        "set terminal svg size 860, 460 font 'sans-serif,13' background '#ffffff'",
        f"set output '{path}'", "set xlabel 'seconds'", "set ylabel 'test accuracy'",
        "set format y '%.0f %%'", "set yrange [30:*]", "set key bottom right samplen 1.5 spacing 1.2",
        f"set arrow 1 from graph 0, first {100 * target} to graph 1, first {100 * target} "
        "nohead lc rgb '#999999' dt 2"]
    parts = []
    for name, colour in COLOURS.items():
        if name not in curves:
            continue
        rows = f"\"< grep '^{name},' {bands}\""
        parts.append(f"{rows} using 2:(100*$4):(100*$5) with filledcurves lc rgb '{colour}' "
                     "notitle")
        parts.append(f"{rows} using 2:(100*$3) with lines lw 2 lc rgb '{colour}' "
                     f"title '{LABELS[name]}'")
    command.append("plot " + ", ".join(parts))
    subprocess.run(["gnuplot"], input="\n".join(command) + "\n", text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=pathlib.Path, required=True, help="folder of the study")
    parser.add_argument("--out", required=True, help="name of the files to write, without ending")
    arguments = parser.parse_args()
    results = arguments.results.resolve()
    curves = curves_of(results)
    bands = pathlib.Path(arguments.out + "_curves.csv").resolve()
    write_bands(curves, bands)
    target = next(float(row["target_accuracy"]) for row in read(results / "runs.csv"))
    draw(curves, bands, pathlib.Path(arguments.out + ".svg").resolve(), target)


if __name__ == "__main__":
    main()
