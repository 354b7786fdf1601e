#!/usr/bin/env python3
"""Runs mlpack_dasgd_onnx as users do, and checks what comes of it.

Usage: program_test.py PROGRAM SEEDS WORK

SEEDS is the program that writes models, WORK a folder to write to.
"""

import csv
import os
import random
import re
import shutil
import subprocess
import sys

PROGRAM, SEEDS, WORK = sys.argv[1:]
failures = []


def path(name):
    return os.path.join(WORK, name)


def run(*arguments):
    """Status and all that the program printed."""
    result = subprocess.run([PROGRAM] + list(arguments), timeout=120,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, universal_newlines=True)
    return result.returncode, result.stdout


def expect(holds, promise, output):
    print("%s %s" % ("ok:" if holds else "FAILED:", promise))
    if not holds:
        failures.append(promise)
        print(output)


def accuracy(output):
    found = re.search(r"test accuracy ([0-9.]+) %", output)
    return float(found.group(1)) if found else -1


def write_points():
    """Two classes of points with three numbers each."""
    random.seed(3)
    for name, count in (("train", 600), ("test", 200)):
        with open(path(name + ".csv"), "w") as points, \
                open(path(name + "_labels.csv"), "w") as labels:
            for i in range(count):
                mean = 1 if i % 2 else -1
                points.write(",".join("%.5f" % random.gauss(mean, 0.7)
                                      for _ in range(3)) + "\n")
                labels.write("%d\n" % (i % 2))


def rows(name):
    with open(path(name), newline="") as file:
        return list(csv.DictReader(file))


def study(points):
    """A study of a model; the program is beside the other."""
    program = os.path.join(os.path.dirname(PROGRAM), "mlpack_dasgd_study")
    shutil.rmtree(path("study"), ignore_errors=True)
    words = [program, "--problem", "onnx", *points, "--input_shape", "3",
             "--algorithms", "dasgd_adam,adam", "--seeds", "2", "--step_sizes",
             "0.5", "--target_accuracy", "0.9", "--time_budget", "0.5",
             "--results_dir", path("study"), "--report_file",
             path("study.html"), "--model_file"]
    result = subprocess.run(words + [path("dense.onnx")], timeout=120,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, universal_newlines=True)
    expect(result.returncode == 0, "a study of a model", result.stdout)
    runs = [row for row in rows("study/runs.csv") if row["phase"] == "run"]
    expect(len(runs) == 4 and all(row["status"] == "target" for row in runs),
           "a study whose runs reach the target", runs)
    starts = {rows(os.path.join("study", row["curve"]))[0]["loss"]
              for row in runs}
    expect(len(starts) == 2, "each seed begins with other weights", starts)
    result = subprocess.run(words + [path("train.csv"), "--restart"],
                            timeout=120, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True)
    failed = rows("study/runs.csv")
    expect(all(row["status"] == "failed" and "no ONNX model" in row["reason"]
               for row in failed), "a study says why its runs fail", failed)


def main():
    os.makedirs(WORK, exist_ok=True)
    subprocess.run([SEEDS, WORK], check=True)
    write_points()
    test = ("--test_file", path("test.csv"),
            "--test_labels_file", path("test_labels.csv"))
    train = ("--training_file", path("train.csv"),
             "--labels_file", path("train_labels.csv"), "--epochs", "10",
             "--step_size", "0.2", "--seed", "1")

    for ranks in ("1", "2"):
        status, output = run("--model_file", path("dense.onnx"), *train, *test,
                             "--ranks", ranks, "--output_model_file",
                             path("trained.onnx"))
        trained = accuracy(output)
        expect(status == 0 and trained > 90, "trains on %s" % ranks, output)
        expect(re.search(r"^all +12$", output, re.MULTILINE),
               "prints the nodes and their weights", output)
        status, output = run("--model_file", path("trained.onnx"), *test,
                             "--predictions_file", path("predictions.csv"))
        expect(status == 0 and accuracy(output) == trained,
               "a trained model gives the same when it is loaded", output)
        with open(path("predictions.csv")) as file:
            expect(len(re.findall(r"[01]", file.read())) == 200,
                   "every test point is predicted", output)

    study([*train[:4], *test])

    status, output = run("--model_file", path("dense.onnx"), *train,
                         "--freeze", "w*", "--output_model_file",
                         path("frozen.onnx"))
    expect(status != 0 and "could be trained" in output,
           "a model without weights to train is refused", output)
    status, output = run("--model_file", path("train.csv"), *train)
    expect(status != 0 and "no ONNX model" in output,
           "another file is refused", output)
    status, output = run("--model_file", path("images.onnx"), *train)
    expect(status != 0 and "16" in output and "3" in output,
           "points of another size are refused", output)
    status, output = run("--model_file", path("dense.onnx"), *train,
                         "--output_model_file", path("train.csv"))
    expect(status != 0 and "--training_file" in output,
           "a file that is read is not replaced", output)
    sys.exit(1 if failures else 0)


main()
