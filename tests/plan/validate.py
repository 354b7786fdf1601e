#!/usr/bin/env python3
#
# Compares plans with trainings over MPI on hosts of this machine (see
# tests/hosts): gradients only wait, so that two cores can carry 32 ranks, and
# frames travel as messages over links of limited bandwidth.
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.

"""Compares plans with trainings over MPI."""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

# What a prediction may be off by.
BOUNDS = {"gradients_per_second": 0.10, "staleness": 0.15}

# Ranks, topology, elements, seconds of a gradient, rate of each host's link.
# Frames of 32 and 128 kB are taken by TCP at once, of those of 10 MB only a part.
CASES = [
    (2, "complete", 4000, 0.05, "100mbit"),
    (2, "complete", 16000, 0.05, "100mbit"),
    (4, "complete", 16000, 0.05, "100mbit"),
    (4, "ring", 16000, 0.05, "100mbit"),
    (2, "complete", 1250000, 0.5, "1gbit"),
    (4, "complete", 1250000, 0.5, "1gbit"),
    (8, "complete", 4000, 0.1, "50mbit"),
    (8, "exponential", 16000, 0.1, "50mbit"),
    (8, "complete", 16000, 0.1, "20mbit"),
    (16, "exponential", 16000, 0.2, "100mbit"),
    (16, "tree:2", 16000, 0.2, "50mbit"),
    (16, "complete", 4000, 0.2, "50mbit"),
    (32, "exponential", 16000, 0.4, "50mbit"),
    (32, "tree:2", 16000, 0.4, "50mbit"),
]
QUICK = [CASES[1], CASES[5]]


class Skip(Exception):
    pass


def run(command, seconds):
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, timeout=seconds)
    if done.returncode == 77:
        raise Skip(done.stderr.strip())
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}: status "
                 f"{done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(arguments, case):
    """What ranks on hosts do."""
    ranks, topology, elements, seconds, rate = case
    # Ranks that share cores do not exchange beside computing unless told to;
    # those of a plan have cores.
    overlap = "never" if topology == "complete" else "always"
    out = run([arguments.hosts, "--hosts", ranks, "--rate", rate, "--burst", "64kb",
               "--seconds", 400, arguments.waiting, "--elements", elements,
               "--gradients", int(arguments.seconds / seconds), "--seconds", seconds,
               "--spread", 0.1, "--topology", topology, "--overlap", overlap], 500)
    return json.loads(out.strip().splitlines()[-1])


def network(arguments, rate):
    """Latency and bandwidth as a plan measures them between two such hosts."""
    out = run([arguments.hosts, "--rate", rate, "--burst", "64kb", "--seconds", 100,
               arguments.plan, "--parameters", 1000, "--gradient_seconds", 1, "--max_ranks", 2],
              200)
    found = dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1}
    number, name = found["latency"].split()
    return (float(found["bandwidth of a machine"].split()[0]), float(number) * unit[name])


def predict(arguments, case, seconds, link):
    ranks, topology, elements, _, _ = case
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.csv"
        run([arguments.plan, "--parameters", elements, "--gradient_seconds", seconds,
             "--gradient_spread", 0.1, "--min_ranks", ranks, "--max_ranks", ranks, "--topologies", topology,
             "--bandwidth", link[0], "--latency", link[1], "--rows_file", path], 300)
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file)
                    if row["algorithm"] == "DASGD" and int(row["ranks"]) == ranks]
    return {name: float(rows[0][name]) for name in (*BOUNDS, "network_share")}


def compare(arguments, case, links):
    rate = case[4]
    if rate not in links:
        links[rate] = network(arguments, rate)
        print(f"{rate}: measured {links[rate][0]:.4g} Mbit/s, {1e6 * links[rate][1]:.3g} us",
              flush=True)
    found = measure(arguments, case)
    expected = predict(arguments, case, found["gradient_seconds"], links[rate])
    row = {"ranks": case[0], "topology": case[1], "elements": case[2],
           "gradient_seconds": case[3], "rate": rate,
           "network_share": round(expected["network_share"], 3)}
    good = True
    for name, bound in BOUNDS.items():
        off = expected[name] / found[name] - 1
        row.update({name: f"{found[name]:.4g}", f"{name}_planned": f"{expected[name]:.4g}",
                    f"{name}_off": f"{off:.3f}"})
        good = good and abs(off) <= bound
    row["within"] = int(good)
    print(f"{case[0]:3} ranks {case[1]:12} {case[2]:6} elements {rate:8} "
          f"gradients/s {row['gradients_per_second']:>6} planned "
          f"{row['gradients_per_second_planned']:>6} ({row['gradients_per_second_off']}), S_avg "
          f"{row['staleness']:>6} planned {row['staleness_planned']:>6} "
          f"({row['staleness_off']}){'' if good else '   BEYOND THE BOUNDS'}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, help="mlpack_dasgd_plan")
    parser.add_argument("--waiting", required=True, help="dasgd_waiting")
    parser.add_argument("--hosts", required=True, help="tests/hosts/launch.sh")
    parser.add_argument("--out", help="where to write all rows, as CSV")
    parser.add_argument("--seconds", type=float, default=15, help="of each training")
    parser.add_argument("--quick", action="store_true", help="two cases only")
    parser.add_argument("--only", type=int, nargs="*", help="ranks to look at")
    arguments = parser.parse_args()
    rows, links = [], {}
    try:
        for case in QUICK if arguments.quick else CASES:
            if not arguments.only or case[0] in arguments.only:
                rows.append(compare(arguments, case, links))
    except Skip as reason:
        print(f"skipped: {reason}")
        return 77
    if arguments.out:
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    within = sum(row["within"] for row in rows)
    print(f"{within} of {len(rows)} within "
          f"{100 * BOUNDS['gradients_per_second']:.0f} % of the gradients per second and "
          f"{100 * BOUNDS['staleness']:.0f} % of S_avg")
    return 0 if within == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
