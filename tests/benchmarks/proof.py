#!/usr/bin/env python3
"""Time to test accuracies on Fashion-MNIST on all cores of one machine.

Starts proof.cpp or proof_onnx.cpp (DASGD, all-reduce, ensmallen) and proof_ddp.py
(PyTorch) and writes a row for each run to OUT/rows.csv (cifar.csv,
transformer.csv).  Runs of fewer ranks than there are cores go side by side, each
on cores of its own.  Steps: one core and all-reduce try some, with seeds that are
not used again; DASGD takes the step of one core.

  proof.py --program PROOF --out FOLDER tries mlp slow ddp policies cnn
  proof.py --whole build/tests --out FOLDER programs
  proof.py --onnx PROOF_ONNX --out FOLDER transformer cifar
  proof.py --program PROOF --out FOLDER machines machines_large machines_four

Nothing else should run.  The parts of the first line need the rows of `tries`, in
OUT or in a file of --tries; networks of PyTorch that have rows of tries there are
not tried again.  The parts of the last line need root: ranks on two hosts that are
network namespaces (tests/hosts), over links of 1 Gbit/s.  tries, mlp, policies and
programs need only Python's standard library, the others PyTorch, too.
"""

import argparse
import collections
import csv
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
# Of accuracies; models of ONNX files have their own, and tables of their own.
TARGETS = {"rows": ("84", "85", "86", "87", "88"),
           "cifar": ("50", "55", "60", "65", "70"),
           "transformer": ("80", "82", "84", "85", "86")}
COLUMNS = {table: (
    "situation", "problem", "way", "policy", "precision", "ranks", "slow",
    "period", "step", "batch", "seed", "seconds", "gradients",
    "gradients_per_second", "staleness", "idle", "best",
    *(f"seconds_to_{target}" for target in targets),
    *(f"gradients_to_{target}" for target in targets))
    for table, targets in TARGETS.items()}
POLICIES = ("sgd", "momentum", "adam")
TRIES = {1: {"sgd": (0.1, 0.2, 0.4), "momentum": (0.01, 0.02, 0.04),
             "adam": (0.0005, 0.001, 0.002)},
         4: {"sgd": (0.2, 0.4, 0.8), "momentum": (0.02, 0.04, 0.08),
             "adam": (0.001, 0.002, 0.004)},
         16: {"sgd": (0.4, 0.8, 1.6), "momentum": (0.04, 0.08, 0.16),
              "adam": (0.001, 0.002, 0.004, 0.008)}}
TARGET = {"mlp": "87", "mlp1m": "85", "mlp10m": "84", "cifar": "60",
          "transformer": "85"}

# Ranks on each host, where there are hosts.
HOSTS = {"machines": 1, "machines_try": 1, "machines_four_cores": 4}

Job = collections.namedtuple(
    "Job", "problem way policy step batch seed seconds slow period")


def call(command, seconds, **others):
    """What a command says; it and all that it has started end in time."""
    process = subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, **others)
    try:
        out, errors = process.communicate(timeout=max(1, seconds))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if process.returncode:
        print(f"{' '.join(command)}: status {process.returncode}\n{out[-500:]}"
              f"{errors[-2000:]}", flush=True)
    return out


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
        tables = [self.out / f"{name}.csv" for name in COLUMNS]
        for table in (*tables, *arguments.tries):
            if table.exists():
                with table.open(encoding="ascii") as file:
                    self.rows += list(csv.DictReader(file))

    def command(self, jobs, table, first, ranks, threads, each=0):
        arguments = self.arguments
        kind = jobs[0].way
        if each:
            program = [str(arguments.program), *table, "-1"]
            if kind == "ddp":
                self.port += 1
                program = [arguments.python, str(HERE / "proof_ddp.py"), *table,
                           "-1", str(ranks), f"10.77.0.1:{self.port}",
                           arguments.precision]
            return [str(HERE.parent / "hosts" / "launch.sh"), "--hosts",
                    str(ranks // each), "--each", str(each),
                    *(["--share"] if each > 1 else []), "--rate", "1gbit",
                    "--seconds", "3600", *program]
        if kind in ("ddp", "torch"):
            self.port += 1
            return [arguments.python, str(HERE / "proof_ddp.py"), table[0],
                    table[1], str(first), str(ranks), str(self.port),
                    arguments.precision]
        program = [str(arguments.onnx if jobs[0].problem in COLUMNS else
                       arguments.program), table[0], table[1],
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
                       "GLOO_SOCKET_IFNAME": "eth0" if situation in HOSTS
                       else "lo",
                       "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        other = beside and subprocess.Popen(
            ["taskset", "-c", str(first + ranks - 1), "sh", "-c",
             "while :; do :; done"])
        try:
            call(self.command(jobs, (str(runs), str(table)), first, ranks,
                              threads, HOSTS.get(situation, 0)),
                 self.ends - time.monotonic(), env=environment)
        except subprocess.TimeoutExpired:
            print(f"{name}: no time left", flush=True)
        if other:
            other.kill()
            other.wait()
        if table.exists():
            problem = jobs[0].problem if jobs[0].problem in COLUMNS else "rows"
            columns, to = COLUMNS[problem], self.out / f"{problem}.csv"
            with self.lock, to.open("a", encoding="ascii") as file:
                if file.tell() == 0:
                    file.write(",".join(columns) + "\n")
                for line in table.read_text(encoding="ascii").splitlines():
                    line = f"{situation},{line}"
                    file.write(line + "\n")
                    self.rows.append(dict(zip(columns, line.split(","))))

    def together(self, title, lanes):
        """Lanes side by side, each on cores of its own: (ranks, threads, [work,
        ...]), where work, one after the other, is (situation, jobs) or a
        function, which gets the first core."""
        begin = time.monotonic()
        if begin >= self.ends:
            print(f"left out: {title}", flush=True)
            return
        self.work = self.out / "work"
        self.work.mkdir(exist_ok=True)

        def go(index, first, ranks, threads, works):
            for i, work in enumerate(works):
                if callable(work):
                    work(first)
                elif time.monotonic() < self.ends:
                    self.group(f"{title}-{index}-{i}".replace(" ", "_"), *work,
                               first, ranks, threads, work[0] == "shared")

        started, first = [], 0
        for index, (ranks, threads, works) in enumerate(lanes):
            if first + max(ranks, threads) > self.cores:
                print(f"left out, no cores: {title} {index}", flush=True)
                continue
            started.append(threading.Thread(target=go, args=(
                index, first, ranks, threads, works)))
            first += max(ranks, threads)
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        now = time.monotonic()
        print(f"{title}: {now - begin:.0f} s, {self.ends - now:.0f} s left",
              flush=True)

    def run(self, title, situation, jobs, ranks, threads=1):
        """As many lanes as there are cores for, each with about as much to do."""
        lanes = [[] for _ in range(min(len(jobs), self.cores //
                                       max(ranks, threads)))]
        if not lanes:
            print(f"left out, no cores: {title}", flush=True)
            return
        for job in sorted(jobs, key=lambda job: -job.seconds):
            min(lanes, key=lambda lane: sum(
                j.seconds + 1 for j in lane)).append(job)
        self.together(title, [(ranks, threads, [(situation, lane)])
                              for lane in lanes])

    def of(self, **wanted):
        return [row for row in self.rows if all(
            row[key] == str(value) for key, value in wanted.items())]

    def best(self, problem, policy, ranks):
        """The step whose tries got to the target first, by points visited."""
        if (problem, policy, ranks) in self.known:
            return self.known[problem, policy, ranks]
        by_step, further = (collections.defaultdict(list) for _ in range(2))
        for row in self.of(situation="try", problem=problem, policy=policy,
                           batch=32 * ranks):
            by_step[float(row["step"])].append(float(
                row[f"gradients_to_{TARGET[problem]}"] or "inf"))
            further[float(row["step"])].append(float(row["best"]))
        if not by_step:
            return TRIES[ranks][policy][1]
        # Steps that did not get there come last, the one that got further before.
        found = min(by_step, key=lambda step: (
            by_step[step].count(float("inf")), statistics.mean(
                by_step[step]), -statistics.mean(further[step])))
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


# For each number of ranks and each policy: seeds, and how long runs of DASGD (or
# one core) and of all-reduce last.
LENGTHS = {16: {"adam": (5, 3.5, 6), "momentum": (5, 4, 4.5), "sgd": (5, 5.5, 6)},
           8: {"adam": (5, 5.5, 9), "momentum": (3, 5, 6.5), "sgd": (3, 6.5, 8)},
           4: {"adam": (5, 8.5, 11), "momentum": (3, 8, 9), "sgd": (3, 8, 11)},
           2: {"adam": (5, 17, 19), "momentum": (3, 12, 17), "sgd": (3, 13, 16)}}


def equal(machine, policies):
    """DASGD with the step of one core, all-reduce with its own, equal ranks."""
    scale = machine.arguments.scale
    for ranks, lengths in LENGTHS.items():
        work = []
        for policy in policies:
            count, *seconds = lengths[policy]
            for way, length in zip(("dasgd", "allreduce"), seconds):
                work += own(machine, "mlp", way, policy, ranks,
                            range(1, count + 1), length)
        machine.run(f"{' '.join(policies)}, {ranks} ranks", "equal", work, ranks)
    # DASGD of one rank takes the same steps; it keeps cores busy.
    machine.run(f"{' '.join(policies)}, one core", "equal", [
        job for policy in policies for way in ("serial", "dasgd")
        for job in jobs("mlp", way, (policy,), (machine.best("mlp", policy, 1),),
                        range(1, 6), (25 if way == "serial" else 20) * scale)
        if way == "serial" or policy == "adam"], 1)


def mlp(machine):
    equal(machine, ("adam",))


def policies(machine):
    equal(machine, ("momentum", "sgd"))


def own(machine, problem, way, policy, ranks, seeds, seconds, **others):
    """Runs with the step that the way has: DASGD that of one core."""
    step = machine.step(problem, policy, 1 if way == "dasgd" else ranks)
    return jobs(problem, way, (policy,), (step,), seeds,
                seconds * machine.arguments.scale, **others)


def slow(machine):
    """The last of 8 ranks is slow always, in every other second, or shares its
    core with another program.  With Adam a step of a rank takes 3.1 ms, and 12.5 ms
    if it computes the gradient 7 times: it is 4 times slower."""
    ranks = min(8, machine.cores // 2)

    def adam(way, seconds, count=5, **others):
        return own(machine, "mlp", way, "adam", ranks, range(1, count + 1),
                   seconds, **others)
    machine.together("slow", [
        (ranks, 1, [("slow", adam("allreduce", 16, slow=7)),
                    ("slow", adam("ddp", 24, 3, slow=7)),
                    ("equal", adam("ddp", 13, 3))]),
        (ranks, 1, [("slow", adam("dasgd", 5.5, slow=7)),
                    ("changing", adam("dasgd", 5.5, slow=7, period=1)),
                    ("shared", adam("dasgd", 5.5)),
                    ("changing", adam("allreduce", 8, slow=7, period=1)),
                    ("shared", adam("allreduce", 10))])])


def ddp(machine):
    machine.run("ddp 16 ranks", "equal", own(
        machine, "mlp", "ddp", "adam", 16, range(1, 6), 11), 16)


def two_machines(machine, problem, step, alone, own, other):
    """Two machines of a core each, and a core alone.  All take the step of one core
    but the all-reduces, whose batches are twice as large: they get the better of
    two.  Runs last so many seconds on one core, with DASGD, and by all-reduce."""
    seeds = (1, 2, 3)

    def adam(way, size, seeds, seconds):
        return jobs(problem, way, ("adam",), (size,), seeds,
                    seconds * machine.arguments.scale)
    tried = {"situation": "machines_try", "problem": problem}
    if not machine.of(**tried):
        tries = [job for size in (step, 2 * step)
                 for job in adam("allreduce", size, (11,), other)]
        machine.together(f"{problem} tries", [(2, 1, [("machines_try", tries)])])
    # If neither got there, the one that got further.
    best = float(min(machine.of(**tried), key=lambda row: (
        float(row[f"seconds_to_{TARGET[problem]}"] or "inf"),
        -float(row["best"])))["step"])
    for ways in ((("dasgd", step, own), ("dasgd_bfloat16", step, own)),
                 (("allreduce", best, other),), (("ddp", best, other),)):
        work = [job for seed in seeds for way, size, seconds in ways
                for job in adam(way, size, (seed,), seconds)]
        machine.together(f"{problem} {ways[0][0]}", [(2, 1, [("machines", work)])])
    machine.together(f"{problem} one core", [(1, 1, [("machines_alone", adam(
        "serial", step, seeds, alone))])])


def machines(machine):
    """A model of a million parameters."""
    two_machines(machine, "mlp1m", 0.0005, 90, 60, 120)


def machines_large(machine):
    """A model of ten million parameters."""
    two_machines(machine, "mlp10m", 0.0002, 300, 260, 430)


def machines_four(machine):
    """A million parameters, four ranks on each machine, 8 cores or more; nothing is
    pinned.  Steps are not tuned: DDP takes twice that of one core."""
    step, seeds = 0.0005, (1, 2, 3)

    def adam(way, sizes, seeds, seconds):
        return jobs("mlp1m", way, ("adam",), sizes, seeds,
                    seconds * machine.arguments.scale)
    machine.together("mlp1m, two machines of four, DASGD", [
        (8, 1, [("machines_four_cores", adam("dasgd", (step,), seeds, 17))])])
    # One core, too, where 11 are free.
    machine.together("mlp1m, two machines of four, DDP", [
        (8, 1, [("machines_four_cores", adam("ddp", (2 * step,), seeds, 27))])] + [
            (1, 1, [("equal", adam("serial", (step,), (seed,), 60))])
            for seed in seeds])


def cnn(machine):
    """DASGD with the step of one core, all-reduce and DDP with the best of
    all-reduce."""
    seeds = (1, 2, 3, 4, 5)
    step, shared = 0.002, 0.016

    def adam(way, ranks, step, seconds, seeds=seeds):
        return (ranks, 1, [("equal", jobs("cnn", way, ("adam",), (step,), seeds,
                                          seconds * machine.arguments.scale))])
    machine.together("cnn 16 ranks", [adam("dasgd", 16, step, 9)])
    machine.together("cnn 16 ranks, all-reduce", [adam("allreduce", 16, shared, 9)])
    machine.together("cnn 16 ranks, DDP", [adam("ddp", 16, shared, 9, (1, 2, 3))])
    machine.together("cnn 8 ranks", [adam("dasgd", 8, step, 13),
                                     adam("allreduce", 8, 0.0057, 17)])
    machine.together("cnn 4 ranks", [
        adam("dasgd", 4, step, 23), adam("allreduce", 4, 0.004, 27),
        *(adam("serial", 1, step, 60, (seed,)) for seed in seeds)])


def exported(machine, problem, steps, ones, alone, four, all_ranks, seeds):
    """A network of PyTorch, as an ONNX file; Adam.  One core and all-reduce try
    some steps, DASGD takes that of one core and half of it, DDP that of
    all-reduce."""
    scale = machine.arguments.scale

    def adam(way, step, seeds, seconds):
        return jobs(problem, way, ("adam",), (step,), seeds, seconds * scale)

    def best(**wanted):
        by_step = collections.defaultdict(list)
        for row in machine.of(problem=problem, situation="try", **wanted):
            by_step[float(row["step"])].append(float(
                row[f"seconds_to_{TARGET[problem]}"] or 1e3))
        print(problem, wanted, dict(by_step), flush=True)
        return min(by_step, key=lambda step: statistics.mean(by_step[step]),
                   default=ones[1])
    if not machine.of(problem=problem, situation="try", way="serial"):
        # One after the other on cores of their own; PyTorch in a slot of its own.
        machine.together(f"{problem} one core", [
            (1, 1, [("try", adam("serial", step, (seed,), alone))])
            for step in ones for seed in (11, 12)] + [
                (1, 1, [("try", adam("torch", step, (11,), alone))])
                for step in ones])
    if not machine.of(problem=problem, situation="try", way="allreduce"):
        machine.together(f"{problem} 16 ranks, tries", [(16, 1, [("try", adam(
            "allreduce", step, (11,), all_ranks[-2])[:1]) for step in steps])])
    single, shared = best(way="serial"), best(way="allreduce")
    for way, step, chosen, seconds in zip(
            ("dasgd", "dasgd", "allreduce", "ddp"),
            (single, single / 2, shared, shared), (seeds, seeds[:3], seeds,
                                                   seeds[:3]), all_ranks):
        if seconds:
            machine.together(f"{problem} 16 ranks {way} {step}", [
                (16, 1, [("equal", adam(way, step, chosen, seconds))])])
    middle = (single * shared) ** 0.5
    machine.together(f"{problem} 4 ranks and one core", [
        (4, 1, [("equal", adam(way, step, seeds[:3], four * length))])
        for way, step, length in (("dasgd", single, 1),
                                  *([("dasgd", single / 2, 1)]
                                    if all_ranks[1] else []),
                                  ("allreduce", middle, 1.15))] + [
            (1, 1, [("equal", adam("serial", single, (seed,), alone))])
            for seed in seeds[:3]])


def transformer(machine):
    """A vision transformer on Fashion-MNIST."""
    exported(machine, "transformer", (0.002, 0.004, 0.008), (0.0005, 0.001, 0.002),
             50, 14, (6, 0, 8, 18), (1, 2, 3, 4, 5))


def cifar(machine):
    """Three convolutions on CIFAR-10."""
    exported(machine, "cifar", (0.004, 0.008, 0.016), (0.001, 0.002, 0.004), 80,
             25, (19, 17, 18, 18), (1, 2, 3))


def whole(machine, name, kind, ranks, first):
    """One start of a program as it is ("plain"), or with drop_in.hpp ("drop_in")."""
    program = machine.arguments.whole / f"dasgd_{name}_{kind}"
    folder = machine.out / "work" / f"{name}_{kind}_{ranks}_{first}"
    folder.mkdir(parents=True, exist_ok=True)
    command = ["taskset", "-c", f"{first}-{first + ranks - 1}"]
    if kind != "plain":
        command += ["mpirun", "--bind-to", "none", "--oversubscribe", "-n",
                    str(ranks)]
    begin = time.monotonic()
    title = f"{name}, {kind} {ranks}"
    try:
        out = call([*command, str(program)], machine.ends - begin, cwd=folder,
                   env={**os.environ, "OMP_NUM_THREADS": "1",
                        "OPENBLAS_NUM_THREADS": "1",
                        "OMPI_ALLOW_RUN_AS_ROOT": "1",
                        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    except subprocess.TimeoutExpired:
        print(f"{title}: no time left", flush=True)
        return
    seconds = time.monotonic() - begin
    epochs = re.search(r"Trained (\d+) epochs in ([\d.e+]+)", out)
    result = re.search(r"Test (?:accuracy|RMSE): ([\d.]+)", out)
    if not epochs or not result:
        print(f"{title}: {out[-500:]}", flush=True)
        return
    with machine.lock, (machine.out / "programs.csv").open(
            "a", encoding="ascii") as file:
        if file.tell() == 0:
            file.write("program,kind,ranks,seconds,training_seconds,epochs,"
                       "test\n")
        file.write(f"{name},{kind},{ranks},{seconds:.6g},"
                   f"{epochs.group(2)},{epochs.group(1)},"
                   f"{result.group(1)}\n")


PROGRAMS = ("mnist_simple", "mnist_cnn", "lstm_consumption")


def programs(machine):
    """Programs as people write them, none of whose lines is changed."""
    def start(name, kind, ranks, times):
        return (ranks, 1, [lambda first: whole(machine, name, kind, ranks, first)]
                * times)
    machine.together("programs on 1 and 4 cores", [
        start(name, "drop_in", 4, 3) for name in PROGRAMS] + [
            start(name, "plain", 1, 1) for name in PROGRAMS])
    for name in PROGRAMS:
        machine.together(f"{name} on 16 cores", [start(name, "drop_in", 16, 3)])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--onnx", type=pathlib.Path, help="proof_onnx.cpp, with "
                        "DASGD_MODELS and DASGD_CIFAR in the environment")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--precision", default="single",
                        help="PyTorch's: single or double")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--scale", type=float, default=1,
                        help="how many times longer runs last")
    parser.add_argument("--seconds", type=float, default=1e6,
                        help="when to stop")
    parser.add_argument("--tries", type=pathlib.Path, action="append",
                        default=[], help="a table with rows of tries")
    parser.add_argument("--whole", type=pathlib.Path,
                        help="folder with the programs that the target "
                        "dasgd_benchmark_programs builds")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    arguments = parser.parse_args()
    needs = {"programs": "whole", "transformer": "onnx", "cifar": "onnx"}
    for part in arguments.parts:
        if not getattr(arguments, needs.get(part, "program")):
            parser.error(f"{part} needs --{needs.get(part, 'program')}")
    machine = Machine(arguments)
    for part in arguments.parts:
        PARTS[part](machine)
    shutil.rmtree(machine.out / "work", ignore_errors=True)


PARTS = {part.__name__: part for part in (
    tries, mlp, policies, slow, ddp, cnn, programs, transformer, cifar, machines,
    machines_large, machines_four)}

if __name__ == "__main__":
    main()
