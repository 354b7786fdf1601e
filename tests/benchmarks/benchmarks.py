#!/usr/bin/env python3
"""Measures how fast dasgd trains, as ratios to what the machine can do.

The limit for n ranks on n cores is n independent processes with ens::SGD that
run at once: as many gradients, no communication.  Every repetition measures the
limit and all that is compared with it one after the other, so that a machine
that is slower for a while is slower for all; what is reported is the median
over repetitions of the ratio within a repetition.

Called by run.sh, which builds the programs.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

# Gradients for each rank that take about a second on one core of 2024.
GRADIENTS = {"logistic": 30000, "mlp": 500, "cnn": 100, "large": 80,
             "huge": 8}
PROBLEMS = ("logistic", "mlp", "cnn")
NO_LIMIT = "no limit"
# Of links between hosts: the problems, and what is wanted of the limit.
NETWORKS = {NO_LIMIT: {"logistic": 0.80, "mlp": 0.88, "cnn": 0.98},
            "10gbit": {"logistic": 0.80, "mlp": 0.88, "cnn": 0.98},
            "1gbit": {"logistic": None, "mlp": 0.90},
            "100mbit": {"mlp": 0.85}}


class Bench:
    """Runs programs and keeps what they measured."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.samples = {}
        self.parts = {}
        self.details = {}
        self.failures = []
        self.no_hosts = None
        self.starts = {}

    def run(self, name, command, ranks=None, network=None):
        """One measurement; its rate is kept under its name."""
        environment = dict(os.environ)
        if network:
            # Every rank is on a host of its own, and has it for itself.
            environment["MPIEXEC"] = self.arguments.mpiexec
            environment["OMPI_MCA_mpi_yield_when_idle"] = "0"
            limit = [] if network == NO_LIMIT else ["--rate", network]
            command = [self.arguments.hosts, "--hosts", str(ranks), *limit,
                       *command]
        elif ranks:
            command = [self.arguments.mpiexec, "-n", str(ranks)] + command
        try:
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=600, stdin=subprocess.DEVNULL,
                                  env=environment)
            if network and done.returncode == 77:
                self.no_hosts = done.stderr.strip() or "skipped"
                return
            result = json.loads(done.stdout.strip().splitlines()[-1])
        except (subprocess.TimeoutExpired, IndexError, ValueError) as error:
            text = done.stderr[-500:] if not isinstance(
                error, subprocess.TimeoutExpired) else "timed out"
            if name not in self.failures:
                self.failures.append(name)
                print(f"\n{name}: {text}", file=sys.stderr)
            return
        self.samples.setdefault(name, []).append(result["rate"])
        self.details[name] = result

    def throughput(self, name, problem, algorithm, ranks, *extra,
                   network=None, times=1):
        # More ranks than cores share them, so each does less.  Differences
        # between few ranks are small: take longer over them.
        share = ranks / (os.cpu_count() or 1)
        share = (share if share > 1 else 0.5) / times
        gradients = max(1, int(GRADIENTS[problem] * self.arguments.length /
                               share))
        self.run(name, [self.arguments.throughput, "--problem", problem,
                        "--algorithm", algorithm, "--gradients",
                        str(gradients), *extra], ranks, network)

    def ratio(self, name, base, factor=1.0):
        """Median, lowest and highest of name / (factor * base)."""
        pairs = zip(self.samples.get(name, []), self.samples.get(base, []))
        values = [a / (factor * b) for a, b in pairs]
        if not values:
            return None
        return (statistics.median(values), min(values), max(values))


def measure(bench, arguments):
    """All measurements of one repetition, those to be compared side by side."""
    for problem in arguments.problems:
        for single in ((False, True) if not arguments.quick else (False,)):
            kind = problem + (" float" if single else "")
            flags = ("--single",) if single else ()

            def throughput(label, algorithm, ranks, *extra):
                bench.throughput(f"{kind}: {label}", problem, algorithm, ranks,
                                 *flags, *extra)

            throughput("ens::SGD", "serial", 1)
            throughput("dasgd, 1 rank", "dasgd", 1)
            throughput("2 independent", "independent", 2)
            throughput("dasgd, 2 ranks", "dasgd", 2)
            throughput("all-reduce, 2 ranks", "allreduce", 2)
            if arguments.quick:
                continue
            for ranks in (4, 8):
                for topology in ("complete", "exponential", "tree"):
                    throughput(f"dasgd, {ranks} ranks, {topology}", "dasgd",
                               ranks, "--topology", topology)
            throughput("8 independent", "independent", 8)
            # Fewer and fuller frames, where ranks share cores.
            throughput("dasgd, 8 ranks, tree, window 1", "dasgd", 8,
                       "--topology", "tree", "--window", "1")
            throughput("dasgd, 2 ranks, one 4 times slower", "dasgd", 2,
                       "--slow", "4", "--sharing", "dynamic")
            throughput("all-reduce, 2 ranks, one 4 times slower", "allreduce",
                       2, "--slow", "4")


def measure_hosts(bench, arguments):
    """Two ranks on two hosts, by TCP, over links of several speeds."""
    for network, problems in NETWORKS.items():
        for problem in arguments.problems:
            if problem not in problems or bench.no_hosts:
                continue
            # What is under way at the end takes long on slow links.
            times = 4 if network == "100mbit" else 1

            def throughput(label, algorithm, *extra):
                bench.throughput(f"{problem}, {network}: {label}", problem,
                                 algorithm, 2, *extra, network=network,
                                 times=times)

            throughput("2 independent", "independent")
            throughput("dasgd", "dasgd", "--messages")
            throughput("dasgd, nothing waits", "dasgd", "--messages",
                       "--share", "1")
            throughput("plain messages", "plain")
            if network != "100mbit":
                throughput("all-reduce", "allreduce")
            if problem == "mlp":
                throughput("dasgd, float32", "dasgd", "--messages", "--format",
                           "float32")


def measure_start(bench, arguments):
    """Seconds of a run of one gradient per rank: start, handshake, end."""
    for ranks in (1, 2, 4, 8, 16, 32):
        for algorithm in ("independent", "dasgd"):
            command = [arguments.throughput, "--problem", "logistic",
                       "--algorithm", algorithm, "--gradients", "1"]
            if ranks > 1:
                command = [arguments.mpiexec, "-n", str(ranks)] + command
            begin = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=600, stdin=subprocess.DEVNULL)
            seconds = time.monotonic() - begin
            if done.returncode != 0:
                bench.failures.append(f"start: {algorithm}, {ranks} ranks")
                continue
            result = json.loads(done.stdout.strip().splitlines()[-1])
            start = bench.starts.setdefault(f"{algorithm}, {ranks} ranks",
                                            {"program": [], "optimize": []})
            start["program"].append(seconds)
            start["optimize"].append(ranks / result["rate"])


def measure_large(bench):
    """1.3 million parameters: frames lent and sent, formats, overlap."""
    for label, algorithm, extra in (
            ("2 independent", "independent", ()),
            ("dasgd, 2 ranks", "dasgd", ()),
            ("dasgd, 2 ranks, float32", "dasgd", ("--format", "float32")),
            ("dasgd, 2 ranks, bfloat16", "dasgd", ("--format", "bfloat16")),
            ("dasgd, 2 ranks, topk:0.01", "dasgd", ("--format", "topk:0.01")),
            ("dasgd, 2 ranks, messages", "dasgd", ("--messages",)),
            ("dasgd, 2 ranks, messages, thread", "dasgd",
             ("--messages", "--progress", "100")),
            ("all-reduce, 2 ranks", "allreduce", ())):
        bench.throughput(f"large: {label}", "large", algorithm, 2, *extra)
    bench.throughput("huge: dasgd, 2 ranks", "huge", "dasgd", 2)


def measure_parts(bench, arguments):
    """The parts of an exchange; each program tells ratios by itself."""
    for ranks in (None, 2):
        command = [arguments.micro]
        if ranks:
            command = [arguments.mpiexec, "-n", str(ranks)] + command
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=600, stdin=subprocess.DEVNULL)
        for name, ratio in json.loads(done.stdout).items():
            bench.parts.setdefault(name, []).append(ratio)


def measure_ddp(bench, arguments):
    """PyTorch's DistributedDataParallel on gloo, with the same networks."""
    for problem in arguments.problems:
        gradients = max(20, int(GRADIENTS[problem] * arguments.length /
                                (40 if problem == "logistic" else 2)))
        bench.run(f"{problem}: PyTorch DDP, 2 ranks",
                  # The distribution's Python, which has its PyTorch.
                  ["/usr/bin/python3", arguments.ddp, "--problem", problem,
                   "--ranks", "2", "--gradients", str(gradients)])


def figures(bench, arguments):
    """What is asked for: name, measured ratio, at least."""
    rows = []

    def row(name, measured, least):
        if measured:
            rows.append({"name": name, "median": measured[0],
                         "low": measured[1], "high": measured[2],
                         "least": least})

    limit = {"cnn": 0.98, "mlp": 0.95, "logistic": 0.95}
    many = {"cnn": 0.95, "mlp": 0.85, "logistic": 0.65}
    for problem in arguments.problems:
        for kind in (problem, problem + " float"):
            row(f"{kind}: 2 ranks, of the limit",
                bench.ratio(f"{kind}: dasgd, 2 ranks",
                            f"{kind}: 2 independent"), limit[problem])
            row(f"{kind}: 1 rank, of ens::SGD",
                bench.ratio(f"{kind}: dasgd, 1 rank", f"{kind}: ens::SGD"),
                0.99)
            best = max((bench.ratio(f"{kind}: dasgd, 8 ranks, {topology}",
                                    f"{kind}: dasgd, 2 ranks")
                        for topology in ("complete", "exponential", "tree",
                                         "tree, window 1")
                        if bench.samples.get(
                            f"{kind}: dasgd, 8 ranks, {topology}")),
                       default=None)
            row(f"{kind}: 8 ranks, best topology, of 2 ranks", best,
                many[problem])
            row(f"{kind}: 8 independent, of 2 independent",
                bench.ratio(f"{kind}: 8 independent", f"{kind}: 2 independent"),
                None)
            row(f"{kind}: one of 2 ranks 4 times slower, of 1.25 ranks",
                bench.ratio(f"{kind}: dasgd, 2 ranks, one 4 times slower",
                            f"{kind}: 2 independent", 1.25 / 2), 0.95)
            row(f"{kind}: 2 ranks, of all-reduce",
                bench.ratio(f"{kind}: dasgd, 2 ranks",
                            f"{kind}: all-reduce, 2 ranks"), None)
    peers = {"logistic": 80, "mlp": 3.5, "cnn": 1.0}
    for problem in arguments.problems:
        row(f"{problem}: 2 ranks, of PyTorch DDP, 2 ranks",
            bench.ratio(f"{problem}: dasgd, 2 ranks",
                        f"{problem}: PyTorch DDP, 2 ranks"), peers[problem])
    row("large: 2 ranks, of the limit",
        bench.ratio("large: dasgd, 2 ranks", "large: 2 independent"), None)
    row("large: 2 ranks, of all-reduce",
        bench.ratio("large: dasgd, 2 ranks", "large: all-reduce, 2 ranks"),
        None)
    for variant in ("float32", "bfloat16", "topk:0.01", "messages"):
        row(f"large: {variant}, of exact",
            bench.ratio(f"large: dasgd, 2 ranks, {variant}",
                        "large: dasgd, 2 ranks"), None)
    row("large: messages with a progress thread, of messages",
        bench.ratio("large: dasgd, 2 ranks, messages, thread",
                    "large: dasgd, 2 ranks, messages"), None)
    for network, problems in NETWORKS.items():
        for problem, least in problems.items():
            name = f"{problem}, {network}: "
            row(f"{problem}, {network}: dasgd, of the limit",
                bench.ratio(name + "dasgd", name + "2 independent"), least)
            for other in ("dasgd, nothing waits", "plain messages",
                          "all-reduce", "dasgd, float32"):
                row(f"{problem}, {network}: {other}, of the limit",
                    bench.ratio(name + other, name + "2 independent"), None)
    huge = bench.details.get("huge: dasgd, 2 ranks")
    if huge:
        held = huge["bound"] / huge["megabytes"]
        row("huge: bound of memory, of memory in use", (held, held, held), 1)
    for name, values in bench.parts.items():
        row(name, (statistics.median(values), min(values), max(values)),
            0.8 if name.startswith("frame encode") and "1 M" in name else None)
    return rows


def print_table(bench, rows):
    print(f"\n{'gradients per second':48} {'median':>10} {'spread':>8}")
    for name, values in bench.samples.items():
        median = statistics.median(values)
        spread = (max(values) - min(values)) / median
        print(f"{name:48} {median:10.1f} {100 * spread:6.1f} %")
    print(f"\n{'seconds of one gradient per rank':48} {'program':>10} "
          f"{'Optimize()':>10}")
    for name, start in bench.starts.items():
        print(f"{name:48} {statistics.median(start['program']):10.3f} "
              f"{statistics.median(start['optimize']):10.4f}")
    print(f"\n{'ratio':58} {'median':>7} {'low':>7} {'high':>7} {'wanted':>7}")
    for entry in rows:
        wanted = "" if entry["least"] is None else f"{entry['least']:7.2f}"
        mark = ("" if entry["least"] is None or
                entry["median"] >= entry["least"] else "  short")
        print(f"{entry['name']:58} {entry['median']:7.3f} {entry['low']:7.3f} "
              f"{entry['high']:7.3f} {wanted:>7}{mark}")


def compare(rows, old):
    """Says what changed by more than the noise of both measurements."""
    before = {entry["name"]: entry for entry in old["figures"]}
    counts = {"lower": 0, "higher": 0}
    compared = 0
    for entry in rows:
        then = before.get(entry["name"])
        if not then:
            continue
        compared += 1
        # Beyond the noise: even the best now is below the worst then.
        change = ("lower" if entry["high"] < then["low"] else
                  "higher" if entry["low"] > then["high"] else None)
        if change:
            counts[change] += 1
            print(f"{change}: {entry['name']}: {entry['median']:.3f} "
                  f"({entry['low']:.3f} to {entry['high']:.3f}), was "
                  f"{then['median']:.3f} ({then['low']:.3f} to "
                  f"{then['high']:.3f})")
    print(f"of {compared} figures, {counts['lower']} are lower than before and "
          f"{counts['higher']} higher, beyond the noise")
    return counts["lower"]


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines()
             if line.startswith(("model name", "CPU part"))]
    return {"cores": os.cpu_count(), "processor": names[0] if names else "?",
            "architecture": platform.machine(), "system": platform.platform()}


def versions(arguments):
    """What the figures were measured with."""
    def first_line(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True,
                                  timeout=60).stdout.splitlines()[0]
        except (OSError, IndexError, subprocess.TimeoutExpired):
            return "?"
    return {"mpi": first_line(arguments.mpiexec, "--version"),
            "compiler": first_line("c++", "--version"),
            "python": platform.python_version()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--throughput", required=True)
    parser.add_argument("--micro", required=True)
    parser.add_argument("--ddp", help="ddp.py, to measure PyTorch, too")
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--hosts", help="tests/hosts/launch.sh, to measure "
                        "between hosts, too")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--length", type=float, default=1.0,
                        help="seconds that a measurement takes, about")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS),
                        choices=PROBLEMS)
    parser.add_argument("--quick", action="store_true",
                        help="1 and 2 ranks in double precision only")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--compare", type=pathlib.Path)
    arguments = parser.parse_args()

    bench = Bench(arguments)
    for repetition in range(arguments.repetitions):
        print(f"\rrepetition {repetition + 1} of {arguments.repetitions}",
              end="", file=sys.stderr, flush=True)
        measure(bench, arguments)
        measure_parts(bench, arguments)
        measure_start(bench, arguments)
        if arguments.hosts:
            measure_hosts(bench, arguments)
        if not arguments.quick:
            measure_large(bench)
        if arguments.ddp:
            measure_ddp(bench, arguments)
    print(file=sys.stderr)
    if bench.no_hosts:
        print(f"figures between hosts: {bench.no_hosts}")
    rows = figures(bench, arguments)
    print_table(bench, rows)
    result = {"when": datetime.datetime.now().isoformat(timespec="seconds"),
              "machine": machine(), "load": os.getloadavg(),
              "versions": versions(arguments),
              "samples": bench.samples, "details": bench.details,
              "start": bench.starts,
              "figures": rows, "failures": bench.failures}
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    if arguments.compare and compare(
            rows, json.loads(arguments.compare.read_text())):
        sys.exit(1)


if __name__ == "__main__":
    main()
