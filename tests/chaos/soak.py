#!/usr/bin/env python3
"""Trains for a long time, and looks at memory and replicas.

Four ranks train with a checkpoint every 10 s; their resident memory is read
from outside, into a CSV file.  It must not grow once the training has warmed
up, and in the end replicas must not differ by more than rounding.

Needs nothing but the program and Python's own library.  ctest runs a few
seconds of it, which say nothing about memory; --seconds 3600 is the long form.
"""

import argparse
import csv
import math
import os
import pathlib
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
from job import Failure, Job, expect, segments, until

# What memory may grow by after the warm-up: a part of it, and kB.  Sums of
# epochs that a fast rank has begun and a slow one has not are kept, up to 1024
# of them; they are within this.
GROWTH = 0.01, 1024
# How far replicas may be apart, relative to the model.
DEVIATION_BOUND = 1e-9
# Shorter runs say nothing about growth.
SHORT = 60


def resident(pid):
    """VmRSS in kB, or None if the process is gone."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text() \
                .splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return None


def slope(times, values):
    """By least squares, and its standard error."""
    count = len(times)
    if count < 3:
        return math.nan, math.nan
    middle, mean = sum(times) / count, sum(values) / count
    spread = sum((t - middle) ** 2 for t in times)
    rise = sum((t - middle) * (v - mean) for t, v in zip(times, values)) / \
        spread
    rest = sum((v - mean - rise * (t - middle)) ** 2
               for t, v in zip(times, values))
    return rise, math.sqrt(rest / (count - 2) / spread)


def watch(job, seconds, every, path):
    """Samples of all ranks, as (seconds, [kB, ...])."""
    samples = []
    start = time.monotonic()
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["seconds"] + [f"rank_{rank}_kb"
                                       for rank in range(job.ranks)])
        while not job.ended():
            now = time.monotonic() - start
            expect(now < 1.1 * seconds + 60, "an end in time")
            sizes = [resident(job.pids[rank]) for rank in range(job.ranks)]
            # Those at the end are about to go.
            if None not in sizes and now < seconds:
                samples.append((now, sizes))
                writer.writerow([f"{now:.1f}"] + sizes)
                file.flush()
            until(job.ended, start + len(samples) * every - time.monotonic()
                  if now < seconds else every)
    return samples


def judge(job, samples, seconds):
    warm = min(120, 0.1 * seconds)
    steady = [sample for sample in samples if sample[0] >= warm]
    expect(len(steady) >= 3, "samples after the warm-up", len(steady))
    times = [sample[0] / 3600 for sample in steady]
    grown = []
    for rank in range(job.ranks):
        sizes = [sample[1][rank] for sample in steady]
        rise, error = slope(times, sizes)
        print(f"rank {rank}: {sizes[0]} kB after {steady[0][0]:.0f} s, "
              f"{sizes[-1]} kB after {steady[-1][0]:.0f} s; slope {rise:+.0f} "
              f"+- {error:.0f} kB per hour")
        allowed = GROWTH[0] * sizes[0] + GROWTH[1]
        if sizes[-1] - sizes[0] > allowed:
            grown.append(f"rank {rank} by {sizes[-1] - sizes[0]} kB, more than "
                         f"{allowed:.0f}")
    result = job.result
    print(f"gradients {result['gradients']}, points {result['points']}; "
          f"staleness {result['staleness_mean']:.2f} on average, at most "
          f"{result['staleness_max']}; vectors {result['peak_vectors']} of at "
          f"most {result['vector_bound']}; checkpoints "
          f"{result['checkpoints']}; loss {result['loss']:.6f}\n"
          f"replicas differ by {result['deviation']:.1e} of the model's "
          f"largest element")
    if seconds < SHORT:
        print(f"in less than {SHORT} s nothing is said about growth")
    else:
        expect(not grown, "memory that does not grow", "; ".join(grown))
    expect(result["deviation"] <= DEVIATION_BOUND, "replicas that differ by "
           "rounding", result["deviation"])
    expect(result["same"] and result["complete"], "the same model, and every "
           "gradient, on every rank", result)
    expect(result["peak_vectors"] <= result["vector_bound"], "vectors within "
           "their bound", result)
    expect(result["checkpoints"] >= 1 and not result["checkpoint_problem"],
           "checkpoints", result)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True, help="a scratch folder")
    parser.add_argument("--mpiexec", default=os.environ.get("MPIEXEC",
                                                            "mpiexec"))
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--topology", default="complete")
    parser.add_argument("--csv", help="the samples (default: in --work)")
    options = parser.parse_args()
    # An end by ctest or the user is not to leave anything behind, either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    seconds = options.seconds
    folder = pathlib.Path(options.work).resolve() / "soak"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = pathlib.Path(options.csv or folder.parent / "soak.csv")
    # A minute, 15 s and 10 s, unless the run is a short one.
    words = ["soak", folder / "model.checkpoint", min(10, seconds / 4), seconds,
             min(60, seconds / 4), options.topology]
    with segments() as environment:
        job = Job(options.mpiexec, options.ranks, options.program, words,
                  folder, environment,
                  on_line=lambda line: print(line, flush=True)
                  if line.startswith("progress") else None)
        try:
            expect(until(lambda: job.under_way() or job.ended(), 60) and
                   job.under_way(), "a training that gets under way")
            samples = watch(job, seconds, min(15, seconds / 10), path)
            expect(until(job.gone, 10), "no process left", sorted(job.left()))
            job.close()
            status = job.process.returncode
            expect(status == 0 and job.result, "status 0", status)
            judge(job, samples, seconds)
            expect([other.name for other in folder.iterdir()] ==
                   ["model.checkpoint"], "nothing but the checkpoint",
                   list(folder.iterdir()))
            print(f"samples: {path}")
        except (Failure, OSError, ValueError) as error:
            print(job.output())
            sys.exit(f"FAILED: {error}")
        finally:
            job.end()


if __name__ == "__main__":
    main()
