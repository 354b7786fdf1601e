#!/usr/bin/env python3
"""Runs mlpack_dasgd_onnx as users do, and checks what comes of it.

Usage: program_test.py PROGRAM SEEDS WORK

SEEDS is the program that writes models, WORK a folder to write to.
"""

import csv
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zipfile

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


def npy(kind, shape, values):
    """An array as numpy.save() writes it."""
    letter = {"<f4": "f", "<f8": "d", "<i8": "q", "|u1": "B"}[kind]
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n"
              % (kind, tuple(shape))).encode()
    return (b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header +
            struct.pack("<%d%s" % (len(values), letter), *values))


def numbers(name):
    with open(path(name)) as file:
        return [[float(word) for word in line.split(",")] for line in file]


def write_numpy():
    """The same points as arrays, and responses that are a sum."""
    for name in ("train", "test"):
        points = numbers(name + ".csv")
        flat = [value for point in points for value in point]
        classes = [int(row[0]) for row in numbers(name + "_labels.csv")]
        with open(path(name + ".npy"), "wb") as file:
            file.write(npy("<f4", (len(points), 3), flat))
        with open(path(name + "_labels.npy"), "wb") as file:
            file.write(npy("<i8", (len(points),), classes))
        how = zipfile.ZIP_DEFLATED if name == "train" else zipfile.ZIP_STORED
        with zipfile.ZipFile(path(name + ".npz"), "w", how) as archive:
            for array, content in (
                    ("x", npy("<f8", (len(points), 3), flat)),
                    ("labels", npy("|u1", (len(points),), classes))):
                # As numpy does it: sizes of 64 bits before each array.
                with archive.open(array + ".npy", "w", force_zip64=True) as to:
                    to.write(content)
        with open(path(name + "_sums.csv"), "w") as file:
            for point in points:
                file.write("%.5f,%.5f\n" % (point[0] + point[1],
                                            0.5 - point[2]))


def report():
    with open(path("report.json")) as file:
        return json.load(file)


def arrays(train, test):
    """The same data in other formats gives the same model."""
    saved = []
    for ending, labels in ((".csv", "_labels.csv"), (".npy", "_labels.npy"),
                           (".npz", None)):
        words = ["--training_file", path("train" + ending),
                 "--test_file", path("test" + ending)]
        if labels:
            words += ["--labels_file", path("train" + labels),
                      "--test_labels_file", path("test" + labels)]
        status, output = run("--model_file", path("dense.onnx"), *words,
                             *train[4:], "--output_model_file",
                             path("trained.onnx"))
        expect(status == 0 and accuracy(output) > 90, "trains with " + ending,
               output)
        with open(path("trained.onnx"), "rb") as file:
            saved.append(file.read())
    expect(saved[0] == saved[1] == saved[2], "all of them are the same data",
           [len(each) for each in saved])
    lines = re.findall(r"^epoch (\d+): training loss [0-9.e-]+; test loss "
                       r"[0-9.e-]+, accuracy ([0-9.]+) %$", output,
                       re.MULTILINE)
    expect([int(line[0]) for line in lines] == list(range(1, 11)) and
           float(lines[-1][1]) > 90, "prints a line for each epoch", output)

    with open(path("damaged.npz"), "wb") as damaged, \
            open(path("test.npz"), "rb") as whole:
        damaged.write(whole.read().replace(b"\x93NUMPY", b"\x93NUMPI"))
    status, output = run("--model_file", path("dense.onnx"),
                         "--training_file", path("damaged.npz"))
    expect(status != 0 and "damaged.npz" in output, "a damaged array is named",
           output)
    status, output = run("--model_file", path("dense.onnx"),
                         "--training_file", path("train.npy"))
    expect(status != 0 and "--labels_file" in output,
           "arrays without labels are refused", output)


def losses(train, test):
    """Every loss trains, and has the measure that fits it."""
    points = ("--training_file", path("train.csv"), "--test_file",
              path("test.csv"), "--model_file", path("dense.onnx"))
    sums = ("--labels_file", path("train_sums.csv"), "--test_labels_file",
            path("test_sums.csv"))
    rest = (*train[4:], "--report_file", path("report.json"),
            "--outputs_file", path("outputs.csv"), "--output_model_file",
            path("trained.onnx"))
    for loss in ("mse", "mae"):
        # Outputs of this model are between 0 and 1.
        status, output = run(*points, *sums, *rest, "--loss", loss)
        expect(status == 0 and re.search(r"^test loss [0-9.]+, R\^2 -?[0-9.]+$",
               output, re.MULTILINE) and -1 < report()["test_r2"] < 1,
               "trains by %s" % loss, output)
        expect(len(numbers("outputs.csv")) == 200 and
               len(numbers("outputs.csv")[0]) == 2, "all outputs are saved",
               output)
    # Two columns of 0 and 1.
    for name in ("train", "test"):
        with open(path(name + "_answers.csv"), "w") as file:
            for row in numbers(name + "_labels.csv"):
                file.write("%d,%d\n" % (row[0], 1 - row[0]))
    status, output = run(*points, "--labels_file", path("train_answers.csv"),
                         "--test_labels_file", path("test_answers.csv"), *rest,
                         "--loss", "binary_cross_entropy")
    expect(status == 0 and report()["test_accuracy"] > 0.9,
           "trains by binary_cross_entropy", output)
    status, output = run(*points, *sums, *rest)
    expect(status != 0 and "whole numbers" in output,
           "numbers are no classes", output)
    status, output = run(*points, *sums, *rest, "--loss", "mean")
    expect(status != 0 and "binary_cross_entropy" in output,
           "an unknown loss is refused with a list", output)


def text():
    """A model of bytes learns which follows which."""
    for name, count in (("train", 3000), ("test", 200)):
        with open(path(name + ".text"), "w") as file:
            file.write("ab" * count)
    words = ("--model_file", path("bytes.onnx"), "--text", "--training_file",
             path("train.text"), "--test_file", path("test.text"), "--epochs",
             "6", "--update", "adam", "--step_size", "0.2", "--batch_size",
             "10", "--seed", "1", "--output_model_file", path("trained.onnx"))
    status, output = run(*words)
    expect(status != 0 and "--sequence_length" in output,
           "an open length has to be given", output)
    for ranks in ("1", "2"):
        status, output = run(*words, "--sequence_length", "8", "--ranks", ranks)
        found = [float(each) for each in re.findall(r"perplexity ([0-9.]+)",
                                                    output)]
        # One for each epoch, and that at the end.
        expect(status == 0 and len(found) > 1 and found[-1] < 1.2,
               "a text is learnt on %s" % ranks, output)


def check():
    status, output = run("--model_file", path("dense.onnx"), "--check")
    expect(status == 0 and "12 weights" in output and "w1" in output,
           "a check says what would be trained", output)
    status, output = run("--model_file", path("dense.onnx"), "--check",
                         "--freeze", "w*")
    expect(status != 0 and "problem: " in output,
           "a check fails where there is nothing to train", output)
    status, output = run("--model_file", path("dense.onnx"), "--check",
                         "--freeze", "b*,positions")
    expect(status == 0 and "no initializer is called 'positions'" in output,
           "a check tells names that there are not", output)


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

    write_numpy()
    arrays(train, test)
    losses(train, test)
    text()
    check()
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
