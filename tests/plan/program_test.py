#!/usr/bin/env python3
#
# mlpack_dasgd_plan as its users see it.
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.

"""Tests of mlpack_dasgd_plan."""

import argparse
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys

MODEL = ["--parameters", "100000", "--gradient_seconds", "0.01"]


def expect(condition, what, result=None):
    if not condition:
        sys.exit(f"program_test: expected {what}\n" +
                 (f"{result.args}: status {result.returncode}\n{result.stdout}{result.stderr}"
                  if result else ""))


class Plan:
    def __init__(self, arguments):
        self.program = os.path.abspath(arguments.program)
        self.mpiexec = arguments.mpiexec
        self.work = pathlib.Path(arguments.work)
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)

    def run(self, *words, before=()):
        return subprocess.run([*before, self.program, *words], cwd=self.work, text=True,
                              capture_output=True, timeout=200)

    def well(self, *words, before=()):
        result = self.run(*words, before=before)
        expect(result.returncode == 0 and not result.stderr, "a good end", result)
        return result

    def refused(self, words, *texts):
        result = self.run(*words)
        expect(result.returncode == 1 and all(text in result.stderr for text in texts) and
               len(result.stderr.splitlines()) == 1, f"one line with {texts}", result)


def described(plan):
    """A model that is only described; the table, the rows and the page agree."""
    result = plan.well(*MODEL, "--max_ranks", "8", "--ranks_per_machine", "1", "--bandwidth",
                       "300", "--rows_file", "rows.csv", "--report_file", "plan.html")
    with open(plan.work / "rows.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expect([row["ranks"] for row in rows if row["algorithm"] == "AllreduceSGD"] ==
           ["2", "4", "8"], "numbers of ranks, each twice the last", result)
    expect({row["topology"] for row in rows if row["ranks"] == "8"} >=
           {"auto", "complete", "ring", "exponential", "tree:2", "mesh:2x4"}, "all topologies",
           result)
    # 800 kB for each gradient and neighbour: 240 MB/s with 3 of them, of 37.
    full = {row["topology"]: float(row["network_share"]) for row in rows if row["ranks"] == "4"}
    expect(full["complete"] > 0.9, "a full network", result)
    starred = [line for line in result.stdout.splitlines() if line.startswith("*")]
    advice = result.stdout.splitlines()[-1]
    expect(all(float(row["worth"]) <= float(row["speedup"]) for row in rows
               if row["algorithm"] == "DASGD"), "gradients that are worth no more than fresh ones",
           result)
    expect(len(starred) == 1 and re.match(r"\d+ ranks?\b", advice) and
           starred[0].split()[2] == advice.split()[0], "the recommended row", result)
    expect("as given" in result.stdout, "where the network is from", result)
    again = plan.well(*MODEL, "--max_ranks", "8", "--bandwidth", "1000", "--topologies", "ring",
                      "--min_ranks", "8")
    expect("ring" in again.stdout and "complete" not in again.stdout, "one topology", again)


def tiny(plan):
    """Gradients of microseconds, and an epoch that is over in no time."""
    result = plan.well("--parameters", "27", "--gradient_seconds", "0.000007", "--max_ranks", "8",
                       "--ranks_per_machine", "1")
    expect(result.stdout.splitlines()[-1].startswith("1 rank: "), "one rank for tiny gradients",
           result)
    (plan.work / "few.csv").write_text("".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(300)))
    (plan.work / "few_labels.csv").write_text("".join(f"{i % 3}\n" for i in range(300)))
    result = plan.well("--training_file", "few.csv", "--labels_file", "few_labels.csv")
    expect(re.match(r"1 rank: an epoch takes [\d.]+ ms", result.stdout.splitlines()[-1]),
           "one rank for an epoch of less than a millisecond", result)


def cores(plan):
    """Without options the ranks are on the cores of this machine first."""
    result = plan.well(*MODEL, "--max_ranks", "4")
    count = len(os.sched_getaffinity(0))
    expect(f"ranks on each machine: {count}\n" in result.stdout, "the cores of this machine", result)
    machines = {int(words[1]): int(words[2]) for words in (line.lstrip("* ").split()
                for line in result.stdout.splitlines()) if words[:1] == ["auto"]}
    expect(all(found == -(-ranks // count) for ranks, found in machines.items()),
           "machines like this one", result)


def busy(plan):
    """A program that uses the cores is seen; this one cannot say how busy the machine is now."""
    spin = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count())]
    try:
        result = plan.well("--problem", "softmax", "--data", "synthetic", "--points", "1000",
                           "--max_ranks", "2", "--report_file", "busy.html")
    finally:
        for process in spin:
            process.kill()
            process.wait()
    said = result.stdout.splitlines()[0]
    expect(re.match(r"Other programs kept [\d.]+ of \d+ cores? busy", said), "a warning", result)
    expect(said in (plan.work / "busy.html").read_text(), "the same on the page", result)


def measured(plan):
    """A model whose gradients are measured, and learned with on virtual time."""
    result = plan.well("--problem", "softmax", "--data", "synthetic", "--points", "1000",
                       "--max_ranks", "4", "--bandwidth", "100", "--learn", "--step_sizes",
                       "0.1,0.2", "--report_file", "learned.html")
    expect("Time to a test loss of" in result.stdout and "gradient: " in result.stdout,
           "times to a loss", result)
    learned = result.stdout.split("Time to a test loss of")[1].splitlines()
    expect([line.split()[:2] for line in learned[2:7]] ==
           [["DASGD", "1"], ["DASGD", "2"], ["AllreduceSGD", "2"], ["DASGD", "4"],
            ["AllreduceSGD", "4"]], "all that was learned", result)
    # One rank set the target, so it gets there.
    expect("not reached" not in learned[2], "that the target can be reached", result)


def network(plan):
    """A network learns on virtual time, though it has a memory of its own for its parameters."""
    result = plan.well("--problem", "mlp", "--data", "synthetic", "--points", "2000",
                       "--max_ranks", "2", "--bandwidth", "100", "--learn", "--step_sizes", "0.1,0.2")
    loss = float(result.stdout.split("Time to a test loss of ")[1].split(",")[0])
    # Ten classes: 2.3 is what a guess has.
    expect(loss < 2.25, "a loss that falls", result)


def ranks(plan):
    """Under mpirun on one machine there is no network to measure."""
    result = plan.well(*MODEL, "--max_ranks", "2", before=(plan.mpiexec, "-n", "2"))
    expect(result.stdout.count("ranks on each machine: 2") == 1 and "assumed" in result.stdout,
           "one rank that speaks, and what it found", result)
    result = plan.run("--training_file", "none.csv", before=(plan.mpiexec, "-n", "2"))
    expect(result.returncode == 1 and result.stderr.count("none.csv") == 1,
           "an error that is told once, and no rank that waits for ever", result)


def pages(plan):
    for name in ("plan.html", "learned.html"):
        done = subprocess.run([sys.executable, pathlib.Path(__file__).parent / "page_test.py",
                               "--page", plan.work / name], text=True, capture_output=True,
                              timeout=100)
        if done.returncode == 77:
            print("no browser: the pages were not looked at")
            return
        expect(done.returncode == 0, f"{name} as a browser shows it", done)


def mistakes(plan):
    plan.refused(["--parameters", "10"], "--gradient_seconds")
    plan.refused([*MODEL, "--problem", "mlp"], "--parameters", "--problem")
    plan.refused([*MODEL, "--max_ranks", "5000"], "--max_ranks", "5000", "4096")
    plan.refused([*MODEL, "--max_ranks", "2", "--min_ranks", "4"], "--min_ranks")
    plan.refused([*MODEL, "--topologies", "rng"], "--topologies", "rng")
    plan.refused([*MODEL, "--bandwidth", "-1"], "--bandwidth")
    plan.refused([*MODEL, "--wire_format", "short"], "--wire_format", "short")
    plan.refused([*MODEL, "--report_file", "no/such/plan.html"], "--report_file")
    plan.refused(["--training_file", "none.csv"], "none.csv")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--work", required=True)
    plan = Plan(parser.parse_args())
    for part in (described, tiny, cores, busy, measured, network, ranks, pages, mistakes):
        part(plan)


if __name__ == "__main__":
    main()
