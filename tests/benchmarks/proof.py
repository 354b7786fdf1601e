#!/usr/bin/env python3
"""Time to test accuracies on Fashion-MNIST on all cores of one machine.

Starts proof.cpp (DASGD, all-reduce, ensmallen) and proof_ddp.py (PyTorch) and
writes a row for each run to OUT/rows.csv.  Runs of fewer ranks than there are
cores go side by side, each on cores of its own.  Steps: one core and all-reduce
try some, with seeds that are not used again; DASGD takes the step of one core.

  proof.py --program PROOF --out FOLDER mlp cnn ddp ...

Parts: tries, mlp, slow, cnn, ddp, programs; see PARTS.  Nothing else should run.
Needs Python's standard library, and PyTorch for the part ddp.
"""

import argparse
import collections
import csv
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = ("80", "84", "86", "87", "88")
COLUMNS = ("situation", "problem", "way", "policy", "precision", "ranks", "slow",
           "period", "step", "batch", "seed", "seconds", "gradients",
           "gradients_per_second", "staleness", "idle", "best",
           *(f"seconds_to_{target}" for target in TARGETS),
           *(f"gradients_to_{target}" for target in TARGETS))
POLICIES = ("sgd", "momentum", "adam")
TRIES = {1: {"sgd": (0.1, 0.2, 0.4), "momentum": (0.01, 0.02, 0.04),
             "adam": (0.0005, 0.001, 0.002)},
         4: {"sgd": (0.2, 0.4, 0.8), "momentum": (0.02, 0.04, 0.08),
             "adam": (0.001, 0.002, 0.004)},
         16: {"sgd": (0.4, 0.8, 1.6), "momentum": (0.04, 0.08, 0.16),
              "adam": (0.001, 0.002, 0.004, 0.008)}}
TARGET = {"mlp": "87", "cnn": "86"}

Job = collections.namedtuple(
    "Job", "problem way policy step batch seed seconds slow period")


class Machine:
    """Cores, and what is run on them."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.cores = arguments.cores
        self.rows = []
        self.known = {}
        self.lock = threading.Lock()
        self.ends = time.monotonic() + arguments.seconds
        self.port = 29600
        self.out = arguments.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.table = self.out / "rows.csv"
        if self.table.exists():
            with self.table.open(encoding="ascii") as file:
                self.rows = list(csv.DictReader(file))
        else:
            self.table.write_text(",".join(COLUMNS) + "\n", encoding="ascii")

    def command(self, jobs, table, first, ranks, threads):
        arguments = self.arguments
        kind = jobs[0].way
        if kind in ("ddp", "torch"):
            self.port += 1
            return [arguments.python, str(HERE / "proof_ddp.py"), table[0],
                    table[1], str(first), str(ranks), str(self.port),
                    arguments.precision]
        program = [str(arguments.program), table[0], table[1],
                   "-1" if threads > 1 else str(first)]
        if ranks == 1:
            return program
        return ["mpirun", "--bind-to", "none", "--oversubscribe", "-n",
                str(ranks), *program]

    def group(self, name, situation, jobs, first, ranks, threads, beside):
        """Runs in one process group, one after the other."""
        runs, table = self.work / f"{name}.runs", self.work / f"{name}.csv"
        runs.write_text("".join(" ".join(map(str, job)) + "\n" for job in jobs),
                        encoding="ascii")
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads),
                       "OPENBLAS_NUM_THREADS": str(threads),
                       "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        other = beside and subprocess.Popen(
            ["taskset", "-c", str(first + ranks - 1), "sh", "-c",
             "while :; do :; done"])
        try:
            done = subprocess.run(
                self.command(jobs, (str(runs), str(table)), first, ranks,
                             threads),
                env=environment, text=True, capture_output=True,
                timeout=max(1, self.ends - time.monotonic()))
            if done.returncode:
                print(f"{name}: status {done.returncode}\n{done.stderr[-2000:]}",
                      flush=True)
        except subprocess.TimeoutExpired:
            print(f"{name}: no time left", flush=True)
        if other:
            other.kill()
            other.wait()
        if table.exists():
            with self.lock, self.table.open("a", encoding="ascii") as file:
                for line in table.read_text(encoding="ascii").splitlines():
                    line = f"{situation},{line}"
                    file.write(line + "\n")
                    self.rows.append(dict(zip(COLUMNS, line.split(","))))

    def run(self, title, situation, jobs, ranks, threads=1, beside=False,
            width=None):
        """As many groups side by side as there are cores for, each with about as
        much to do, in the order of the jobs."""
        begin = time.monotonic()
        if begin >= self.ends or ranks > self.cores:
            print(f"left out: {title}", flush=True)
            return
        self.work = self.out / "work"
        self.work.mkdir(exist_ok=True)
        count = min(len(jobs), self.cores // max(ranks, threads))
        if width:
            count = min(count, width)
        groups = [[] for _ in range(count)]
        for job in sorted(jobs, key=lambda job: -job.seconds):
            min(groups, key=lambda group: sum(
                j.seconds + 1 for j in group)).append(job)
        started = [threading.Thread(target=self.group, args=(
            f"{title}-{i}".replace(" ", "_"), situation, group,
            i * max(ranks, threads), ranks, threads, beside))
            for i, group in enumerate(groups)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        now = time.monotonic()
        print(f"{title}: {now - begin:.0f} s, {self.ends - now:.0f} s left",
              flush=True)

    def of(self, **wanted):
        return [row for row in self.rows if all(
            row[key] == str(value) for key, value in wanted.items())]

    def best(self, problem, policy, ranks):
        """The step whose tries got to the target first, by points visited."""
        if (problem, policy, ranks) in self.known:
            return self.known[problem, policy, ranks]
        by_step = collections.defaultdict(list)
        for row in self.of(situation="try", problem=problem, policy=policy,
                           batch=32 * ranks):
            by_step[float(row["step"])].append(float(
                row[f"gradients_to_{TARGET[problem]}"] or "inf"))
        if not by_step:
            return TRIES[ranks][policy][1]
        # Steps that did not get there come last.
        found = min(by_step, key=lambda step: (
            by_step[step].count(float("inf")), statistics.mean(
                by_step[step])))
        print(problem, policy, ranks, dict(by_step), "->", found, flush=True)
        self.known[problem, policy, ranks] = found
        return found

    def step(self, problem, policy, ranks):
        """Of algorithms that average; between tries the geometric mean."""
        if ranks in TRIES:
            return self.best(problem, policy, ranks)
        return (self.best(problem, policy, ranks // 2) *
                self.best(problem, policy, ranks * 2)) ** 0.5


def jobs(problem, way, policies, steps, seeds, seconds, batch=32, slow=1,
         period=0):
    return [Job(problem, way, policy, step, batch, seed, seconds, slow, period)
            for seed in seeds for policy in policies for step in
            (steps(policy) if callable(steps) else steps)]


def tries(machine):
    every = []
    scale = machine.arguments.scale
    for ranks, seconds, seeds in ((1, 24, (11, 12)), (4, 25, (11,)),
                                  (16, 28, (11, 12))):
        every += jobs("mlp", "serial", POLICIES,
                      lambda policy, n=ranks: TRIES[n][policy], seeds,
                      seconds * scale, 32 * ranks)
    machine.run("tries", "try", every, 1)


def equal(machine, problem, policies, plan):
    """DASGD with the step of one core, all-reduce with its own, equal ranks."""
    scale = machine.arguments.scale
    for ranks, count, own, other in plan:
        seeds = range(1, count + 1)
        if ranks == 1:
            machine.run(f"{problem} one core", "equal", jobs(
                problem, "serial", policies,
                lambda policy: (machine.best(problem, policy, 1),), seeds,
                own * scale), 1)
            continue
        machine.run(f"{problem} {ranks} ranks", "equal", jobs(
            problem, "dasgd", policies,
            lambda policy: (machine.best(problem, policy, 1),), seeds,
            own * scale) + jobs(
                problem, "allreduce", policies,
                lambda policy, n=ranks: (machine.step(problem, policy, n),),
                seeds, other * scale), ranks)


def mlp(machine):
    equal(machine, "mlp", POLICIES, ((16, 5, 3.2, 6), (8, 3, 5, 8),
                                     (4, 3, 9, 11), (2, 3, 18, 19),
                                     (1, 5, 25, 0)))


def slow(machine):
    """The last of 8 ranks is slow always, in every second second, or shares its
    core with another program."""
    scale = machine.arguments.scale
    ranks = min(8, machine.cores)
    for situation, times, period, other in (
            ("slow", 4, 0, 24), ("changing", 4, 1, 15), ("shared", 1, 0, 15)):
        for way, policies, seconds, step in (
                ("dasgd", POLICIES, 6,
                 lambda policy: (machine.best("mlp", policy, 1),)),
                ("allreduce", POLICIES[1:], other,
                 lambda policy: (machine.step("mlp", policy, ranks),))):
            machine.run(f"mlp {situation} {way}", situation, jobs(
                "mlp", way, policies, step, (1, 2, 3), seconds * scale,
                slow=times, period=period), ranks, beside=situation == "shared")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--precision", default="single",
                        help="PyTorch's: single or double")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--scale", type=float, default=1,
                        help="how many times longer runs last")
    parser.add_argument("--seconds", type=float, default=1e9,
                        help="when to stop")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    arguments = parser.parse_args()
    machine = Machine(arguments)
    for part in arguments.parts:
        PARTS[part](machine)
    shutil.rmtree(machine.out / "work", ignore_errors=True)


PARTS = {"tries": tries, "mlp": mlp, "slow": slow}

if __name__ == "__main__":
    main()
