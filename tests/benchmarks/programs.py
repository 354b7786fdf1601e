#!/usr/bin/env python3
"""Whole programs, on one rank and on two: what their users gain.

Two programs: mnist_simple.cpp, compiled as it is (plain) and with drop_in.hpp,
and the first one of README.md.  Each repetition starts all of them one after
the other, so that a machine that is slow for a while is slow for all; ratios
are formed within a repetition.  Build dasgd_benchmark_programs first, and let
nothing else run:

  cmake --build build --target dasgd_benchmark_programs
  tests/benchmarks/programs.py --build build

Needs nothing but Python's standard library, and Fashion-MNIST.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

# Name, program, and ranks; 0 ranks are without mpirun.
VARIANTS = (("mnist_simple, plain", "dasgd_mnist_simple_plain", 0),
            ("mnist_simple, drop_in, 1 rank", "dasgd_mnist_simple_drop_in", 1),
            ("mnist_simple, drop_in, 2 ranks", "dasgd_mnist_simple_drop_in", 2),
            ("README, 1 rank", "dasgd_readme_program", 0),
            ("README, 2 ranks", "dasgd_readme_program", 2))
RATIOS = (("mnist_simple, plain", "mnist_simple, drop_in, 1 rank"),
          ("mnist_simple, plain", "mnist_simple, drop_in, 2 ranks"),
          ("README, 1 rank", "README, 2 ranks"))

# As in the tests: as root, not pinned; one thread for each rank.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none", "OMP_NUM_THREADS": "1"}


def others(begin):
    """Processor seconds of all programs, less those of this one and its children."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    own = sum(os.times()[:4])
    busy = sum(ticks[i] for i in (0, 1, 2, 5, 6, 7)) / os.sysconf("SC_CLK_TCK")
    return busy - own - begin


def run(arguments, program, ranks):
    """What one start of a program says, and how long it takes."""
    command = [str(arguments.build / "tests" / program)]
    if ranks:
        command = [*arguments.mpiexec.split(), "-n", str(ranks), *command]
    with tempfile.TemporaryDirectory() as folder:
        quiet, begin = others(0), time.monotonic()
        done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=900,
                              stdin=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT})
        seconds = time.monotonic() - begin
        busy = others(quiet) / seconds
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    result = {"program": seconds, "others": busy}
    for name, pattern in (("training", r"in ([\d.e+-]+) seconds|epochs\), ([\d.e+-]+) s,"),
                          ("epochs", r"Trained (\d+) epochs|\((\d+) epochs\)"),
                          ("accuracy", r"Test accuracy: ([\d.]+)"), ("loss", r"^loss: ([\d.]+)")):
        found = re.search(pattern, done.stdout, re.MULTILINE)
        if found:
            result[name] = float(next(filter(None, found.groups())))
    result["epoch"] = result["training"] / result["epochs"]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--only", help="names that contain this")
    parser.add_argument("--out", type=pathlib.Path, help="where to write all figures, as JSON")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    samples = {}
    for repetition in range(arguments.repetitions):
        print(f"\rrepetition {repetition + 1} of {arguments.repetitions}", end="",
              file=sys.stderr, flush=True)
        for name, program, ranks in VARIANTS:
            if not arguments.only or arguments.only in name:
                samples.setdefault(name, []).append(run(arguments, program, ranks))
    print(file=sys.stderr)
    columns = ("program", "training", "epoch", "epochs", "accuracy", "loss", "others")
    print(f"{'median':34}" + "".join(f"{column:>10}" for column in columns))
    for name, results in samples.items():
        cells = [statistics.median(result[column] for result in results)
                 if column in results[0] else None for column in columns]
        print(f"{name:34}" + "".join(f"{cell:10.3g}" if cell is not None else f"{'-':>10}"
                                     for cell in cells))
    print(f"\n{'times as fast':34}{'program':>24}{'epoch':>24}")
    for base, name in RATIOS:
        if base not in samples or name not in samples:
            continue
        text = ""
        for what in ("program", "epoch"):
            ratios = [a[what] / b[what] for a, b in zip(samples[base], samples[name])]
            text += (f"{statistics.median(ratios):10.2f} ({min(ratios):.2f} to "
                     f"{max(ratios):.2f})").rjust(24)
        print(f"{name:34}{text}")
    if arguments.out:
        arguments.out.write_text(json.dumps({"samples": samples}, indent=1) + "\n")


if __name__ == "__main__":
    main()
