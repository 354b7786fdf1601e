#!/usr/bin/env python3
"""Starts small studies with mlpack_dasgd_study and looks at what they leave.

Needs nothing but the program and Python's own library; a browser, if there is
one, looks at a page.
"""

import argparse
import concurrent.futures
import csv
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

SMALL = ["--data", "synthetic", "--points", "960", "--test_points", "200",
         "--time_budget", "0.2"]


def fail(text):
    sys.exit("study_test: " + text)


def expect(condition, text, more=""):
    if not condition:
        fail(f"expected {text}\n{more}")


class Studies:
    def __init__(self, program, work):
        self.program = program
        self.work = work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)

    def start(self, words, name, environment=None):
        """A study in a folder of its own, which is made if it is not there."""
        folder = self.work / name
        folder.mkdir(exist_ok=True)
        return subprocess.Popen(
            [self.program, *words], cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={
                **os.environ,
                # Open MPI 4 removes what its jobs share in /tmp while another
                # one that begins needs it.
                "OMPI_MCA_orte_tmpdir_base": str(self.work / "mpi" / name),
                **(environment or {})})

    def run(self, words, name, environment=None):
        process = self.start(words, name, environment)
        try:
            process.out, _ = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            fail(f"{' '.join(words)} did not end")
        return process

    def well(self, words, name, environment=None):
        process = self.run(words, name, environment)
        expect(process.returncode == 0, f"that {' '.join(words)} works",
               process.out)
        return process

    def refused(self, words, *texts, name="refused", environment=None):
        process = self.run(words, name, environment)
        expect(process.returncode == 1, f"that {' '.join(words)} is refused",
               process.out)
        for text in texts:
            expect(text in process.out, f"'{text}' of {' '.join(words)}",
                   process.out)
        return process

    def table(self, name, results="dasgd_study"):
        with open(self.work / name / results / "runs.csv",
                  newline="") as file:
            return list(csv.DictReader(file))

    def page(self, name):
        text = (self.work / name / "report.html").read_text()
        found = re.search(r'<script type="application/json" id="data">(.*?)'
                          r'</script>', text, re.DOTALL)
        expect(found, "data in the page")
        return json.loads(found.group(1))


def key(row):
    return tuple(row[column] for column in (
        "phase", "algorithm", "ranks", "topology", "slow", "step_size",
        "seed"))


PLAIN = SMALL + ["--algorithms", "dasgd,allreduce,sgd", "--seeds", "2",
                 "--tuning_seeds", "2", "--step_sizes", "0.1,0.2,0.4"]


def check_steps(rows, algorithm):
    """The step of an algorithm is the best one, and not at the end of those
    that were tried."""
    tries = {}
    for row in rows:
        if row["phase"] == "tune" and row["algorithm"] == algorithm:
            tries.setdefault(float(row["step_size"]), []).append(row)
    chosen = {float(row["step_size"]) for row in rows
              if row["phase"] == "run" and row["algorithm"] == algorithm}
    expect(len(chosen) == 1, "one step for all runs", chosen)
    step = chosen.pop()
    expect(len(tries[step]) == 2, "two tries of the step that is taken", tries)
    expect({row["seed"] for row in tries[step]} == {"1", "2"},
           "tries with different seeds", tries[step])
    # Or as far away as the grid may grow.
    expect(min(tries) < step or step <= 0.1 / 31, "a shorter step", tries)
    expect(max(tries) > step or step >= 0.4 * 31, "a longer step", tries)
    if algorithm == "sgd":
        return

    def score(step):
        times = [float(row["time_to_target"] or "inf") for row in tries[step]]
        losses = [float(row["loss"]) for row in tries[step]]
        return statistics.median(times), statistics.median(losses)
    raced = [other for other in tries if len(tries[other]) == 2]
    best = min(map(score, raced))
    good = [other for other in raced if score(other) == best or
            score(other)[0] <= 1.1 * best[0] < float("inf")]
    expect(step == min(good), "the shortest of the steps that are about the "
           "best in the median", tries)


def check_plain(studies, name):
    """The table and the page of a study that has come to its end."""
    rows = studies.table(name)
    expect(len({key(row) for row in rows}) == len(rows), "no run twice", rows)
    expect([row["run"] for row in rows] ==
           [str(i + 1) for i in range(len(rows))], "numbers one by one", rows)
    for row in rows:
        expect(row["status"] in ("ok", "target") or row["phase"] == "tune",
               "runs that end well", row)
    phases = [row["phase"] for row in rows]
    tuned = phases.count("tune")
    expect(phases == ["limit"] + tuned * ["tune"] + 6 * ["run"] and
           tuned >= 3 * (3 + 2), "limit, tuning, runs", phases)
    for algorithm in ("dasgd", "allreduce", "sgd"):
        check_steps(rows, algorithm)
    runs = [row for row in rows if row["phase"] == "run"]
    expect({row["seed"] for row in runs} == {"3", "4"}, "seeds other than "
           "those of tuning", runs)
    expect(len({row["target_loss"] for row in runs}) == 1 and
           float(runs[0]["target_loss"]) > 0, "one target", runs)
    for row in runs:
        expect(row["judged_on"] == "test", "runs judged on test points", row)
        # 0.2, unless another program took the cores meanwhile.
        expect(float(row["seconds"]) < 10, "a run that keeps to its time", row)
        expect(0 < float(row["accuracy"]) <= 1, "an accuracy", row)
        # 0.02, likewise.
        expect(float(row["probe_share"]) < 0.9, "a probe that takes little "
               "time", row)
        with open(studies.work / name / "dasgd_study" / row["curve"],
                  newline="") as file:
            curve = list(csv.DictReader(file))
        times = [float(point["seconds"]) for point in curve]
        expect(curve[-1]["gradients"] == row["gradients"] and
               abs(times[-1] - float(row["seconds"])) < 1e-6,
               "a last point with all gradients", row)
        # More, unless another program took the cores meanwhile.
        expect(len(curve) >= 2 and times == sorted(times) and times[0] == 0,
               "a curve from the start", curve)
        expect(abs(float(curve[-1]["loss"]) - float(row["loss"])) < 1e-6,
               "the last loss", row)
        if row["status"] == "target":
            expect(0 < float(row["time_to_target"]) <= float(times[-1]),
                   "a time to the target", row)
    ours = [row for row in runs if row["algorithm"] == "dasgd"]
    # Ranks of one machine share a model, and send nothing.
    expect(all(float(row["bytes_per_gradient"]) == 0 for row in ours),
           "no bytes sent", ours)

    page = studies.page(name)
    expect(len(page["groups"]) == 1, "one group", page["groups"])
    group = page["groups"][0]
    expect([row["algorithm"] for row in group["rows"]] ==
           ["DASGD", "AllreduceSGD", "serial SGD"], "a row for each algorithm",
           group["rows"])
    expect("ens::" not in json.dumps(page), "names that users know", page)
    for row in group["rows"]:
        expect(row["runs"] == 2 and row["failed"] == 0 and
               row["throughput"]["mean"] > 0, "two runs and a throughput", row)
    limit = float(rows[0]["gradients_per_second"])
    rates = [float(row["gradients_per_second"]) / limit for row in ours]
    expect(abs(group["rows"][0]["throughput"]["mean"] / statistics.mean(rates) -
               1) < 1e-4, "throughput as part of the limit", group["rows"][0])
    expect(len(group["curves"]) == 3 and len(group["staleness"]) >= 1,
           "curves and staleness", group.keys())
    expect(not (studies.work / name / "dasgd_study" /
                "dasgd_study_work").exists(), "no points left behind")


def plain(studies):
    result = studies.well(PLAIN, "plain")
    check_plain(studies, "plain")
    count = len(studies.table("plain"))
    expect(f"[{count} of {count}]" in result.out, "a line for each run",
           result.out)
    lines = [line for line in result.out.splitlines() if line.startswith("[")]
    expect("limit" in lines[0] and "left" not in lines[0] and
           "left" in lines[1] and "left" not in lines[-1], "a guess of the "
           "time that is left, which the short first run does not spoil", lines)
    # Once more: nothing is left to do.
    path = studies.work / "plain" / "dasgd_study" / "runs.csv"
    before = path.read_bytes()
    studies.well(PLAIN, "plain")
    expect(path.read_bytes() == before, "that nothing is run again")


def half_width(times):
    """Of the 95 % confidence interval of the mean of two."""
    return 12.706 * statistics.stdev(times) / 2 ** 0.5


def made_up(studies):
    """A study whose times are known, since they were never measured."""
    shutil.copytree(studies.work / "plain", studies.work / "made_up")
    times = {"sgd": [0.10, 0.18], "dasgd": [0.060, 0.0601],
             "allreduce": [0.02, None]}
    rows = studies.table("made_up")
    for row in rows:
        if row["phase"] != "run":
            continue
        time = times[row["algorithm"]][int(row["seed"]) - 3]
        row["time_to_target"] = "" if time is None else str(time)
        row["gradients_to_target"] = "" if time is None else "100"
        row["status"] = "ok" if time is None else "target"
    with open(studies.work / "made_up" / "dasgd_study" / "runs.csv", "w",
              newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    out = studies.well(PLAIN, "made_up").out
    found = {row["algorithm"]: row for row in
             studies.page("made_up")["groups"][0]["rows"]}
    serial, ours = found["serial SGD"], found["DASGD"]
    # The mean of the ratios would be 1.09.
    expect(serial["speedup"] == {"mean": 1, "low": None, "high": None},
           "serial SGD as fast as itself", serial)
    time = ours["time_to_target"]
    half = half_width(times["dasgd"])
    expect(abs(time["mean"] - 0.06005) < 1e-6 and
           abs(time["high"] - time["mean"] - half) < 1e-6 and
           abs(time["mean"] - time["low"] - half) < 1e-6,
           "a mean with its interval", ours)
    expect(abs(ours["speedup"]["mean"] - 0.14 / 0.06005) < 1e-4,
           "the ratio of the means", ours)
    # One run of two did not get there in 0.2 s.
    lucky = found["AllreduceSGD"]
    expect(lucky["time_to_target"]["reached"] == 1 and
           abs(lucky["time_to_target"]["mean"] - 0.11) < 1e-6,
           "a run that did not reach the target with all of its time", lucky)
    places = {name: (row["place"]["first"], row["place"]["last"])
              for name, row in found.items()}
    # Two runs that differ leave all open.
    expect(places == {"DASGD": (1, 3), "AllreduceSGD": (1, 3),
                      "serial SGD": (1, 3)}, "shared places", places)
    for line in (r"1-3 +DASGD +0\.06\d* \(0\.0594 to 0\.0607\)",
                 r"1-3 +AllreduceSGD +at least 0\.11 +at most [\d.]+ +1 of 2",
                 r"1-3 +serial SGD +0\.14 .* 1 +2 of 2 +[\d.]+"):
        expect(re.search(line, out), f"a line like '{line}'", out)
    expect("95 % confidence" in out and "cannot be distinguished" in out,
           "how certain it is", out)


def words(studies):
    """What the program says is for users of the command line."""
    out = studies.well(["--help"], "help").out
    text = " ".join(out.split())
    expect("ens::" not in text and "hogwild" not in text, "plain words", out)
    grid = re.search(r"Default value '([\d.,]+)'", text.split(
        "--step_sizes")[-1])
    expect(grid, "a grid of steps", out)
    steps = [float(step) for step in grid.group(1).split(",")]
    expect(len(steps) >= 4 and all(1.5 <= b / a <= 3 for a, b in
                                   zip(steps, steps[1:])),
           "a grid whose neighbours are close", steps)
    for name, least in (("seeds", 5), ("tuning_seeds", 3)):
        found = re.search(r"Default value (\d+)", text.split(
            f"--{name} [int]")[-1])
        expect(found and int(found.group(1)) >= least,
               f"at least {least} '{name}'", out)


def outputs(studies):
    """No output is an input, by any path or link."""
    folder = studies.work / "outputs"
    folder.mkdir()
    points = "".join(f"{i % 3},{i % 2}\n" for i in range(300))
    labels = "".join(f"{i % 2}\n" for i in range(300))
    inputs = {"points.csv": points, "labels.csv": labels, "test.csv": points,
              "test_labels.csv": labels}
    for name, content in inputs.items():
        (folder / name).write_text(content)
    (folder / "graph.txt").write_text("0 1\n")
    (folder / "inner").mkdir()
    os.link(folder / "points.csv", folder / "hard.csv")
    os.symlink("points.csv", folder / "symbolic.csv")
    given = ["--training_file", "points.csv", "--labels_file", "labels.csv",
             "--test_file", "test.csv", "--test_labels_file",
             "test_labels.csv", "--topologies", "file:graph.txt",
             "--algorithms", "sgd", "--seeds", "1", "--step_sizes", "0.1",
             "--target_loss", "0.1", "--time_budget", "0.1"]
    before = sorted(path.name for path in folder.iterdir())

    def refused(words, *texts):
        studies.refused(given + words, *texts, name="outputs")
        expect(sorted(path.name for path in folder.iterdir()) == before,
               "that nothing is written")
        for name, content in inputs.items():
            expect((folder / name).read_text() == content, f"the '{name}' "
                   "that was there")
    for path, option in [
            ("points.csv", "--training_file"), ("./inner/../points.csv",
                                                "--training_file"),
            (str(folder / "points.csv"), "--training_file"),
            ("hard.csv", "--training_file"),
            ("symbolic.csv", "--training_file"),
            ("labels.csv", "--labels_file"), ("test.csv", "--test_file"),
            ("test_labels.csv", "--test_labels_file"),
            ("graph.txt", "--topologies")]:
        refused(["--report_file", path], "--report_file", option)

    # In a folder of a study: by a link, and as one of its own files.
    results = folder / "results"
    (results / "curves").mkdir(parents=True)
    (results / "settings.txt").write_text("dasgd_study=1\n")
    before = sorted(path.name for path in folder.iterdir())
    for path, link in [
            (results / "runs.csv", os.symlink), (results / "runs.csv", os.link),
            (results / "curves" / "0007.csv", os.link),
            (results / "curves" / "0007.csv", os.symlink)]:
        link(folder / "labels.csv", path)
        for more in ([], ["--restart"]):
            refused(["--results_dir", "results"] + more, "--results_dir",
                    "--labels_file")
            expect(path.read_text() == labels, "a link that stays")
        path.unlink()
    given[1] = "results/runs.csv"
    (results / "runs.csv").write_text(points)
    refused(["--results_dir", "results", "--restart"], "--results_dir",
            "--training_file")
    # Nor is the page one of the results.
    given[1] = "points.csv"
    (results / "runs.csv").unlink()
    for name in ("runs.csv", "settings.txt", "curves/0001.csv",
                 "../results/runs.csv"):
        studies.refused(given + ["--results_dir", "results", "--report_file",
                                 "results/" + name], "--report_file",
                        "--results_dir", name="outputs")
    # Data sets are files, too.
    data = folder / "data"
    data.mkdir()
    for part in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            (data / f"{part}-{kind}-ubyte.gz").write_text("")
    studies.refused(["--data_dir", "data", "--report_file",
                     "data/t10k-images-idx3-ubyte.gz"], "--report_file",
                    "--data_dir", "the same", name="outputs")
    # A page that is beside them is not one of them.
    (data / "report.html").write_text("")
    result = studies.refused(["--data_dir", "data", "--report_file",
                              "data/report.html"], "file is empty",
                             name="outputs")
    expect("the same" not in result.out, "that the page may be there",
           result.out)


def browser(studies, page_test):
    result = subprocess.run(
        [sys.executable, page_test, "--page",
         studies.work / "plain" / "report.html"],
        text=True, capture_output=True, timeout=100)
    if result.returncode == 77:
        print("no browser: the page was not looked at")
        return
    expect(result.returncode == 0, "a page that a browser shows",
           result.stdout + result.stderr)


def leftovers(folder):
    """Processes of a study that still run."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if str(folder).encode() in words and b"--run_file" in words:
            found.append(words)
    return found


def interrupted(studies):
    process = studies.start(PLAIN, "interrupted")
    path = studies.work / "interrupted" / "dasgd_study" / "runs.csv"
    # A run is told of when its row is there.
    expect(any(line.startswith("[4 of ") for line in process.stdout),
           "runs that end one by one")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    expect(process.returncode == -signal.SIGINT, "an end by the signal", out)
    expect("Interrupted" in out and "To go on: mlpack_dasgd_study" in out,
           "what was kept and how to go on", out)
    expect(not leftovers(path.parent), "no process left behind",
           leftovers(path.parent))
    kept = path.read_bytes()
    expect(4 <= kept.count(b"\n") < 20 and kept.endswith(b"\n"), "whole rows",
           kept)
    studies.page("interrupted")

    # As if the power had gone while a row was written.
    with open(path, "ab") as file:
        file.write(b"7,tune,dasgd,2,,")
    result = studies.well(PLAIN, "interrupted")
    expect("Going on" in result.out, "that it goes on", result.out)
    expect(path.read_bytes().startswith(kept), "rows that stay as they were")
    check_plain(studies, "interrupted")

    # Other parameters are another study.
    studies.refused(PLAIN + ["--batch_size", "16"], "--batch_size", "'32'",
                    "'16'", "--restart", "--results_dir", name="interrupted")
    result = studies.well(
        SMALL + ["--algorithms", "sgd", "--seeds", "1", "--step_sizes", "0.1",
                 "--target_loss", "1", "--restart"], "interrupted")
    expect(len(studies.table("interrupted")) == 2, "a new study", result.out)


def failures(studies):
    # A step that is far too large.
    studies.well(SMALL + ["--algorithms", "dasgd,sgd", "--seeds", "1",
                          "--tuning_seeds", "1", "--step_sizes", "0.1,1e6"],
                 "diverges")
    for row in studies.table("diverges"):
        wild = row["phase"] == "tune" and row["step_size"] == "1000000"
        expect((row["status"] == "diverged") == wild, "runs that diverge with "
               "the large step, and no others", row)
        expect(bool(row["reason"]) == wild, "a reason", row)

    # No mpirun that works, and one that takes too long: rows, and the study
    # goes on.
    sleeping = studies.work / "sleeping"
    sleeping.write_text("#!/bin/sh\nexec sleep 100\n")
    sleeping.chmod(0o755)
    for name, mpirun, status, reason in [
            ("fails", shutil.which("false"), "failed", "exit status 1"),
            ("slow", str(sleeping), "timeout", "not done after 3 s")]:
        studies.well(SMALL + ["--timeout", "3", "--algorithms", "dasgd,sgd",
                              "--seeds", "1", "--step_sizes", "0.1",
                              "--target_loss", "1e-3"], name,
                     {"DASGD_MPIRUN": mpirun})
        rows = {row["algorithm"]: row for row in studies.table(name)}
        expect(rows["sgd"]["status"] == "ok", "a run that ends well", rows)
        expect(rows["dasgd"]["status"] == status and reason in
               rows["dasgd"]["reason"], f"a run with '{status}'", rows)
        page = studies.page(name)
        expect(page["groups"][0]["rows"][0]["failed"] == 1, "a page that says "
               "so", page)
    studies.refused(SMALL + ["--algorithms", "dasgd"], "cannot be started",
                    "DASGD_MPIRUN", environment={"DASGD_MPIRUN": "/no/mpirun"},
                    name="no_mpirun")


def mistakes(studies):
    for words, texts in [
            (["--problem", "sofmax"], ["--problem", "'softmax'"]),
            (["--data", "mnist"], ["--data", "fashion_mnist"]),
            (["--data_dir", "/nowhere"], ["/nowhere", "dataset-fashion-mnist",
                                          "--data_dir"]),
            (["--data", "cifar10", "--data_dir", "/nowhere"],
             ["/nowhere/data_batch_1.bin", "--data_dir"]),
            (["--algorithms", "dasgd,alreduce"], ["--algorithms", "'alreduce'",
                                                  "'allreduce'"]),
            (["--algorithms", ""], ["--algorithms"]),
            (["--data", "synthetic_sparse"], ["--data",
                                              "--problem logistic"]),
            (["--algorithms", "ps_picky"], ["ps_picky:0.5"]),
            (["--algorithms", "ps_picky:0"], ["distance", "ps_picky:0.5"]),
            (["--algorithms", "local:70000"], ["period", "'70000'",
                                               "1 to 65536"]),
            (["--algorithms", "swift:1e30"], ["period", "1 to 65536"]),
            (["--algorithms", "local:1.5"], ["period", "'1.5'"]),
            (["--algorithms", "dasgd:4"], ["'dasgd' takes no number"]),
            (["--ranks", "2,x"], ["--ranks", "'x'"]),
            (["--ranks", "1"], ["--ranks", "from 2 to"]),
            (["--ranks", "inf"], ["--ranks", "'inf'"]),
            (["--ranks", ""], ["--ranks"]),
            (["--slow", "0:4;2:3"], ["--slow", "2:3", "ranks 0 to 1"]),
            (["--slow", "0:0.5"], ["--slow", "at least 1"]),
            (["--slow", "0:2000"], ["--slow", "at most 1000"]),
            (["--slow", "0:4,0:2"], ["--slow", "rank 0 twice"]),
            (["--slow", ""], ["--slow", "'none'"]),
            (["--slow", "none;;0:4"], ["--slow", "'none'"]),
            (["--slow", "0:nan"], ["--slow", "0:nan"]),
            (["--slow", "0:inf"], ["--slow", "0:inf"]),
            (["--topologies", "rung"], ["--topologies", "rung"]),
            (["--step_sizes", "0.1,-1"], ["--step_sizes", "'-1'"]),
            (["--step_sizes", ""], ["--step_sizes"]),
            (["--step_sizes", "0.1,,0.2"], ["--step_sizes", "''"]),
            (["--step_sizes", "0.1,nan"], ["--step_sizes", "'nan'"]),
            (["--step_sizes", "inf"], ["--step_sizes", "'inf'"]),
            (["--seeds", "0"], ["--seeds"]),
            (["--target_accuracy", "65"], ["--target_accuracy", "0.65"]),
            (["--target_accuracy", "0.6", "--target_loss", "1"],
             ["--target_accuracy", "--target_loss", "one of both"]),
            (["--algorithms", "dasgd,sgd", "--only", "ps"],
             ["--only", "'ps'", "dasgd,sgd"]),
            (["--tuning_seeds", "0"], ["--tuning_seeds"]),
            (["--batch_size", "0"], ["--batch_size"]),
            (["--time_budget", "-1"], ["--time_budget"]),
            (["--time_budget", "1e9"], ["--time_budget", "1000000"]),
            (["--time_budget", "5", "--timeout", "5"], ["--timeout",
                                                        "--time_budget"]),
            (["--points", "10"] + SMALL[:2], ["--points"]),
            (["--layers", "linear:10 logsoftmax"] + SMALL,
             ["--layers", "--problem"]),
            (["--problem", "mlp", "--layers", "linear:3 logsoftmax"] + SMALL,
             ["--layers", "linear:10"]),
            (["--problem", "mlp", "--layers", "batchnorm linear:10 "
              "logsoftmax"] + SMALL, ["--layers", "batchnorm"]),
            (["--training_file", "nothing.csv"], ["nothing.csv",
                                                  "--training_file"]),
            (["--test_file", "test.csv"], ["--test_file", "--training_file"]),
            (["--report_file", "/no/folder/report.html"], ["--report_file"]),
            (["--run_file", "nothing.txt"], ["--run_file", "nothing.txt"]),
    ]:
        studies.refused(words, *texts)
    for name in ("target_loss", "target_accuracy", "time_budget", "timeout"):
        for value in ("nan", "inf", "-inf", ""):
            studies.refused(SMALL[:6] + [f"--{name}", value], f"--{name}",
                            f"('{value}')")
    for name in ("points", "test_points", "batch_size", "seeds",
                 "tuning_seeds", "seed"):
        for value in ("nan", "inf", ""):
            studies.refused([f"--{name}", value], f"--{name}")
    studies.refused(["-n", ""], "--points", "('')")
    expect(not (studies.work / "refused" / "dasgd_study").exists(),
           "that no study was begun")
    (studies.work / "refused" / "a_file").write_text("")
    studies.refused(SMALL + ["--results_dir", "a_file"], "--results_dir")


def folders(studies):
    """Files of the user's own stay, and one study writes at a time."""
    once = SMALL + ["--algorithms", "sgd,local:16,local:16.0", "--seeds", "1",
                    "--step_sizes", "0.1", "--target_loss", "1e-3", "--slow",
                    "none;0:1;none", "--topologies", "complete;complete"]
    # Folders with names that a study could use, too.
    here = studies.work / "folder"
    for name in ("data", "work", "curves"):
        (here / name).mkdir(parents=True)
        (here / name / "mine.csv").write_text("1")
    for more in ([], ["--restart"]):
        studies.refused(once + ["--results_dir", "."] + more, "--results_dir",
                        "empty", name="folder")
    (here / "settings.txt").write_text("problem=softmax\n")
    studies.refused(once + ["--results_dir", ".", "--restart"],
                    "--results_dir", name="folder")
    expect(sorted(path.name for path in here.iterdir()) ==
           ["curves", "data", "settings.txt", "work"], "that nothing is added")

    # Nothing is run twice that is the same.
    studies.well(once, "folder")
    results = here / "dasgd_study"
    rows = studies.table("folder")
    expect([row["algorithm"] for row in rows] ==
           ["independent", "sgd", "local:16"], "three runs", rows)
    settings = (results / "settings.txt").read_text()
    expect(settings.startswith("dasgd_study=1\n"), "a mark", settings)

    # While another study has the folder, --restart removes nothing.
    (results / "curves" / "mine.csv").write_text("1")
    (results / "mine").write_text("1")
    with open(results / "dasgd_study.lock", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        studies.refused(once + ["--restart"], "Another study", name="folder")
    expect(studies.table("folder") == rows, "rows that stay")
    studies.well(once + ["--restart"], "folder")
    expect(len(studies.table("folder")) == 3 and
           (results / "curves" / "mine.csv").exists() and
           (results / "mine").exists(), "files of the user's own that stay")
    for name in ("data", "work", "curves"):
        expect((here / name / "mine.csv").exists(), "folders that stay")

    # A timeout that fits into no alarm clock.
    studies.well(once + ["--timeout", "1e12", "--restart"], "folder")
    rows = studies.table("folder")
    expect(all(row["status"] in ("ok", "target") for row in rows), "runs "
           "without an alarm", rows)


def others(studies):
    """The other problems, points of one's own, and slow ranks."""
    once = ["--time_budget", "0.3", "--seeds", "1", "--step_sizes", "0.1",
            "--target_loss", "0.6"]
    folder = studies.work / "own"
    folder.mkdir()
    lines = []
    for i in range(600):
        label = i * 7 % 3
        lines.append(f"{label + (i % 10) / 10},{-label},{i % 2},{label}\n")
    (folder / "points.csv").write_text("".join(lines))
    words = once + ["--training_file", "points.csv", "--problem", "mlp",
                    "--layers", "linear:8 tanh linear:3 logsoftmax",
                    "--algorithms", "dasgd,local:4", "--slow", "0:3"]
    shape = ["--input_shape", "3"]
    studies.well(words + shape, "own")
    rows = studies.table("own")
    expect([row["slow"] for row in rows] == 3 * ["0:3"], "slow ranks", rows)
    expect(all(row["status"] in ("ok", "target") for row in rows), "networks "
           "of one's own", rows)
    # A parameter that is gone and a file that has changed are noticed.
    studies.refused(words, "'--input_shape' = '3'", "none", "--restart",
                    name="own")
    (folder / "points.csv").write_text("".join(lines[:-1]))
    studies.refused(words + shape, "another file of '--training_file'",
                    "--restart", name="own")
    studies.well(once + SMALL[:-2] + ["--problem", "logistic", "--algorithms",
                                      "ps,dpsgd,adpsgd,swift", "--slow",
                                      "0:2"], "logistic")
    row = studies.page("logistic")["groups"][0]["rows"][0]
    expect("its slowness does not matter" in row["note"], "a note that the "
           "server is slow", row)
    rows = studies.table("logistic")
    expect(all(row["status"] in ("ok", "target") for row in rows), "logistic "
           "regression", rows)
    studies.well(once + ["--problem", "logistic", "--data",
                         "synthetic_sparse", "--points", "960", "--algorithms",
                         "sgd"], "sparse")
    rows = studies.table("sparse")
    expect(rows[1]["status"] in ("ok", "target"), "sparse points", rows)
    studies.well(once + SMALL[:-2] + ["--problem", "cnn", "--algorithms",
                                      "sgd"], "cnn")
    rows = studies.table("cnn")
    expect(all(row["status"] in ("ok", "target") for row in rows), "a "
           "convolutional network", rows)


# What their step sizes are of those of SGD.
POLICIES = {"momentum": 0.1, "nesterov": 0.1, "adam": 0.01, "rmsprop": 0.01}


def accuracy(studies):
    """Time to an accuracy, other optimizers, and a study in parts."""
    if os.path.exists(os.path.join(os.path.dirname(studies.program),
                                   "dasgd_study_onnx")):
        studies.refused(SMALL + ["--problem", "onnx"], "--model_file",
                        "needs an ONNX file", "none was given")
        (studies.work / "net.onnx").write_text("no model")
        found = studies.refused(
            SMALL + ["--problem", "onnx", "--model_file", "../net.onnx"],
            "No algorithm would work", "no ONNX model", name="no_model")
        expect("[2 of" not in found.out, "one run only", found.out)
    studies.refused(SMALL + ["--model_file", "net.onnx"], "--model_file",
                    "--problem")
    names = [prefix + policy for policy in POLICIES
             for prefix in ("dasgd_", "allreduce_", "")]
    names += ["threads", "threads_momentum", "local_momentum:4",
              "adpsgd_momentum", "ps_momentum"]
    words = SMALL[:-2] + ["--algorithms", ",".join(names), "--step_sizes",
                          "0.2", "--time_budget", "0.4", "--target_accuracy",
                          "0.5", "--seeds"]
    out = studies.well(words + ["1", "--only", "adam,threads"], "accuracy").out
    expect("3 runs to make, of up to 0.4 s each" in out, "how long it will "
           "take", out)
    rows = studies.table("accuracy")
    expect([row["algorithm"] for row in rows] ==
           ["independent", "adam", "threads"], "what was named only", rows)
    out = studies.well(words + ["1"], "accuracy").out
    expect("test accuracy 50 %" in out, "the target in the table", out)
    rows = [row for row in studies.table("accuracy") if row["phase"] == "run"]
    expect(sorted(row["algorithm"] for row in rows) == sorted(names),
           "the others, once each", rows)
    for row in rows:
        expect(row["status"] in ("ok", "target") and not row["target_loss"] and
               row["target_accuracy"] == "0.5", "an accuracy as target", row)
        expect((row["status"] == "target") == bool(row["time_to_target"]),
               "a time if it was reached", row)
        policy = row["algorithm"].split(":")[0].split("_")[-1]
        scale = POLICIES.get(policy, 1)
        expect(abs(float(row["step_size"]) - 0.2 * scale) < 1e-12,
               "steps as the optimizer takes them", row)
    reached = [row for row in rows if row["status"] == "target"]
    expect(reached, "an algorithm that reaches half of all answers", rows)
    for row in reached:
        with open(studies.work / "accuracy" / "dasgd_study" / row["curve"],
                  newline="") as file:
            best = max(float(point["accuracy"])
                       for point in csv.DictReader(file))
        expect(best >= 0.5, "a curve that reaches the target", row)
    before = studies.table("accuracy")
    studies.well(words + ["2", "--only", "adam"], "accuracy")
    rows = studies.table("accuracy")
    expect(rows[:-1] == before and rows[-1]["algorithm"] == "adam" and
           rows[-1]["seed"] != rows[-2]["seed"], "one run more", rows)
    group = studies.page("accuracy")["groups"][0]
    expect(group["measure"] == "test error" and group["target"] == 0.5 and
           group["target_text"] == "test accuracy 50 %", "a page of errors",
           group)
    expect(all(0 <= value <= 1 for curve in group["curves"]
               for point in curve["loss_by_time"] for value in point),
           "curves of errors", group["curves"])


def threads(studies):
    """What one process does with all cores, for comparison."""
    studies.refused(SMALL + ["--problem", "mlp", "--algorithms", "parallel"],
                    "ParallelSGD", "'mlp'", "'logistic' or 'softmax'")
    # Both end at the target, long before their time is over.
    studies.well(SMALL[:-1] + ["20", "--algorithms", "parallel,sgd", "--seeds",
                               "1", "--step_sizes", "0.05", "--target_loss",
                               "1.5"], "threads")
    runs = [row for row in studies.table("threads") if row["phase"] == "run"]
    expect([row["status"] for row in runs] == ["target", "target"] and
           runs[1]["algorithm"] == "parallel", "both at the target", runs)


VIRTUAL = ["--simulate", "--data", "synthetic", "--points", "960",
           "--test_points", "200", "--gradient_seconds", "0.01"]


def simulated(studies):
    """Ranks on virtual time: the same on every machine, and in its seconds."""
    studies.refused(SMALL + ["--bandwidth", "100"], "--bandwidth", "--simulate")
    studies.refused(VIRTUAL + ["--algorithms", "threads"], "(threads)",
                    "leave it out")
    # A network reads its parameters from memory of its own.
    names = ["dasgd", "allreduce_momentum", "ps", "adpsgd", "local:4",
             "dasgd_nesterov", "allreduce_rmsprop", "sgd", *POLICIES]
    words = VIRTUAL + ["--problem", "mlp", "--algorithms", ",".join(names),
                       "--ranks", "2,8", "--slow", "1:4", "--seeds", "1",
                       "--step_sizes", "0.1", "--time_budget", "2",
                       "--target_loss", "2.2"]
    studies.well(words, "simulated")
    rows = studies.table("simulated")
    expect(all(row["phase"] == "run" for row in rows) and len(rows) == 19,
           "no limit to measure, and nothing to tune", rows)
    expect(len({row["loss"] for row in rows}) == len(rows), "steps of its own "
           "for each", rows)
    for row in rows:
        serial = row["algorithm"] in ("sgd", *POLICIES)
        expect(row["ranks"] == "1" if serial else row["ranks"] in ("2", "8"),
               "as many ranks as were asked for", row)
        expect(row["oversubscribed"] == "no" and float(row["wall_seconds"]) <
               60, "one process", row)
        budget = 2 * min(1, 4 / int(row["ranks"]))
        expect(float(row["seconds"]) < budget + 0.2, "virtual seconds", row)
    expect(all(row["status"] == "target" for row in rows
               if row["algorithm"].endswith(("adam", "rmsprop"))),
           "steps whose length does not depend on the gradient", rows)
    sgd = [row for row in rows if row["algorithm"] == "sgd"][0]
    expect(sgd["status"] == "target" and abs(float(
        sgd["gradients_per_second"]) - 100) < 3, "a gradient in 10 ms", sgd)
    waiting = {row["ranks"]: float(row["idle_share"]) for row in rows
               if row["algorithm"] == "allreduce_momentum"}
    expect(waiting["2"] > 0.3 and waiting["8"] > 0.6, "ranks that wait for the "
           "slow one", waiting)
    rates = {row["ranks"]: float(row["gradients_per_second"]) for row in rows
             if row["algorithm"] == "dasgd"}
    expect(abs(rates["2"] - 125) < 6 and abs(rates["8"] - 725) < 30,
           "all that the ranks can compute", rates)
    data = studies.page("simulated")
    expect("virtual time" in dict(map(tuple, data["settings"])), "what is not "
           "real", data["settings"])
    expect(not any(group["oversubscribed"] for group in data["groups"]),
           "no cores that are shared", data)
    before = rows
    studies.well(words + ["--restart"], "simulated")
    rows = studies.table("simulated")
    for row in before + rows:
        row["started"] = row["wall_seconds"] = ""
    expect(rows == before, "the same study again", (before, rows))
    # A row that is taken out is made again, and no other loses its curve.
    path = studies.work / "simulated/dasgd_study/runs.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    studies.well(words, "simulated")
    rows = studies.table("simulated")
    expect(len({row["curve"] for row in rows}) == len(rows) == len(before),
           "a curve of each", rows)


def held_out(studies):
    """Points to choose steps with: a tenth, since few let chance decide."""
    for wrong in ("-1", "9"):
        studies.refused(SMALL + ["--validation_points", wrong],
                        "--validation_points", f"({wrong})", "0")
    studies.refused(["--data", "synthetic", "--points", "20"],
                    "too few points to train with: 20", "a batch has 32")
    for name, words, numbers in (
            ("held_many", ["--points", "24000"], (24000, 2400)),
            ("held_few", ["--points", "960"], (960, 1000)),
            ("held_default", ["--points", "0"], (9984, 1000)),
            ("held_given", ["--points", "3000", "--validation_points", "200"],
             (2976, 200)),
            ("held_big", ["--points", "960", "--validation_points", "960"],
             (960, 960))):
        studies.well(["--simulate", "--data", "synthetic", "--test_points",
                      "100", "--gradient_seconds", "0.01", "--algorithms",
                      "sgd", "--seeds", "1", "--step_sizes", "0.1",
                      "--time_budget", "0.1", "--target_loss", "1"] + words,
                     name)
        used = dict(map(tuple, studies.page(name)["settings"]))["data used"]
        expect(used.startswith("%d points to train with, %d to choose" %
                               numbers), f"{numbers} points", used)
    # Points of one's own, of which there are too few.
    folder = studies.work / "held_files"
    folder.mkdir()
    lines = [f"{i % 7},{i % 5},{i % 2}\n" for i in range(600)]
    (folder / "points.csv").write_text("".join(lines))
    words = ["--training_file", "points.csv", "--algorithms", "sgd", "--seeds",
             "1", "--step_sizes", "0.1", "--time_budget", "0.1",
             "--target_loss", "0.1", "--simulate", "--gradient_seconds",
             "0.01"]
    studies.refused(words + ["--validation_points", "251"],
                    "--validation_points", "(251)", "500 points",
                    name="held_files")
    studies.well(words, "held_files")
    used = dict(map(tuple, studies.page("held_files")["settings"]))["data used"]
    expect(used.startswith("416 points to train with, 83 to choose step "
                           "sizes, 100 to test"), "a sixth twice", used)


def several(studies):
    """One page of several studies."""
    first, second = "simulated/dasgd_study", "threads/dasgd_study"
    studies.refused(["--studies", "nowhere"], "'nowhere'", "report.json")
    studies.well(["--studies", f"../{first},../{second}"], "several")
    data = studies.page("several")
    parts = [json.loads((studies.work / one / "report.json").read_text())
             for one in (first, second)]
    expect([study["title"] for study in data["studies"]] ==
           [part["title"] for part in parts], "both titles", data["studies"])
    expect([group["study"] for group in data["groups"]] == [0, 0, 1] and
           [group["rows"] for group in data["groups"]] ==
           [group["rows"] for part in parts for group in part["groups"]],
           "all groups", data["groups"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--page-test", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent / "page_test.py")
    arguments = parser.parse_args()
    studies = Studies(str(pathlib.Path(arguments.program).resolve()),
                      arguments.work.resolve())

    def one_by_one(actions):
        for action in actions:
            start = time.monotonic()
            action(studies)
            print(f"{action.__name__}: {time.monotonic() - start:.1f} s",
                  flush=True)

    # Two at a time: each run waits for the end of its time budget.  Those of
    # one list use each other's folders.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        chains = [pool.submit(one_by_one, actions) for actions in (
            (plain, made_up, interrupted, others),
            (words, mistakes, outputs, failures, folders, accuracy, threads,
             simulated, held_out, several))]
        for chain in chains:
            chain.result()
    browser(studies, arguments.page_test)


if __name__ == "__main__":
    main()
