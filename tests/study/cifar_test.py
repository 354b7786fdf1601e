#!/usr/bin/env python3
"""Runs examples/study/cifar.sh in short: on images that are made up, with a small network, by
wall-clock time on two ranks and on virtual time on more, and looks at what it leaves."""

import argparse
import csv
import os
import pathlib
import random
import shutil
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "examples" / "study" / "cifar.sh"


def expect(holds, what, seen):
    if not holds:
        sys.exit(f"cifar_test: expected {what}\n{seen}")


def write_images(folder):
    """Each class has a colour of its own."""
    folder.mkdir(parents=True)
    numbers = random.Random(7)
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    for name in names:
        with open(folder / name, "wb") as file:
            for i in range(100):
                label = i % 10
                file.write(bytes([label]))
                for plane in range(3):
                    bright = 40 + 110 * ((label + 1) >> plane & 1) + 8 * label
                    file.write(bytes(bright + value % 16 for value in numbers.randbytes(1024)))


def rows(folder):
    with open(folder / "runs.csv", newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["phase"] == "run"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("build", "seeds", "work"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    write_images(work / "data")
    out = work / "out"
    out.mkdir()
    subprocess.run([arguments.seeds, work], check=True)
    shutil.copy(work / "cifar.onnx", out / "convolutional.onnx")

    def call(*words):
        return subprocess.run(
            [SCRIPT, "--out", out, "--data_dir", work / "data", "--seeds", "1", "--seconds", "20",
             "--accuracy", "0.3", "--validation_points", "80", *words], text=True,
            env={**os.environ, "BUILD_DIR": str(arguments.build.resolve())},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def study(*words):
        result = call(*words)
        expect(result.returncode == 0, f"status 0 of cifar.sh {' '.join(words)}", result.stdout)
        return result.stdout

    def refused(reason, *words):
        result = call(*words)
        expect(result.returncode == 1 and reason in result.stdout,
               f"'{reason}' of cifar.sh {' '.join(words)}", result.stdout)

    refused("nothing to run", "--only_torch", "--no_torch")
    refused("nothing to run", "--only_torch", "--virtual", "4")
    refused("only rank 0", "--only_torch", "--slow", "1:4")
    refused("no study", "--only_torch", "--figures")

    algorithms = ["dasgd_momentum", "allreduce_momentum", "momentum"]
    text = study("--no_torch", "--slow", "0:4", "--step_sizes", "0.1", "--algorithms",
                 ",".join(algorithms))
    found = rows(out / "slow_0_4")
    expect(sorted(row["algorithm"] for row in found) == sorted(algorithms) and
           all(row["status"] == "target" for row in found), "all at the target", text)
    for name in ("slow_0_4.svg", "slow_0_4.html", "slow_0_4_1_curves.csv"):
        expect((out / name).stat().st_size > 500, f"{name}, which shows them", text)

    def figure(name, *words):
        subprocess.run([SCRIPT.parent / "cifar_figure.py", *words, "--out", out / name], check=True)
        return (out / (name + ".svg")).read_bytes()

    shown = (out / "slow_0_4.svg").read_bytes()
    expect(figure("rows", "--rows", "CIFAR-10", out / "slow_0_4_1_curves.csv",
                  out / "slow_0_4" / "runs.csv") == shown,
           "the same figure from the rows alone", out)
    # One rank alone is not slow, even in a study of slow ranks.
    (out / "slow_0_4.ddp_2.csv").write_text("seconds,accuracy\n0,0.1\n9,0.2\n")
    shown = figure("slow", "--results", "CIFAR-10", out / "slow_0_4")
    (out / "ddp.csv").write_text("algorithm,slow,time_to_target,judged_on\n"
                                 "ddp_momentum,,5,test\n")
    expect(figure("slow", "--results", "CIFAR-10", out / "slow_0_4") == shown,
           "no points of PyTorch's equal ranks beside slow ones", out)
    for name in ("slow_0_4.ddp_2.csv", "ddp.csv"):
        (out / name).unlink()

    text = study("--virtual", "4,8", "--step_sizes", "0.02")
    found = rows(out / "virtual_equal")
    expect(sorted((row["algorithm"], row["ranks"]) for row in found) == sorted(
        [(name, ranks) for name in ("dasgd", "allreduce", "ps") for ranks in ("4", "8")] +
        [("sgd", "1")]), "each on each number of ranks", text)
    expect(all(row["status"] == "target" for row in found), "all at the target", text)
    with open(out / "virtual_equal.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    expect(len(table) == 7 and all(float(row["speedup"]) > 0 for row in table),
           "a speed-up of each", table)
    expect((out / "virtual_equal.svg").stat().st_size > 500, "a figure", text)

    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        print("without PyTorch, which is not installed")
        return
    torch = ["--only_torch", "--seconds", "6", "--slow", "0:2", "--torch_steps"]
    text = study(*torch, "0.02,0.04")
    expect("may be better" in text, "a word on a step at the end of the list", text)
    text = study(*torch, "0.02,0.04")
    expect("as chosen before" in text, "that the choice stays", text)
    (out / "slow_0_2.ddp_step").unlink()
    text = study(*torch, "0.02,0.04")
    expect("step 0.02:" not in text and "step 0.04:" not in text, "no try a second time", text)
    refused("have 0.0", *torch, "0.08")
    with open(out / "ddp.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    expect([(row["step_size"], row["seed"], row["judged_on"]) for row in table[:2]] ==
           [("0.02", "1", "validation"), ("0.04", "1", "validation")], "two tries", text)
    best = min(table[:2], key=lambda row: float(row["time_to_target"] or "inf"))
    expect(len(table) == 3 and table[2]["step_size"] == best["step_size"] and
           table[2]["seed"] == "2" and table[2]["judged_on"] == "test",
           "a run with the better step and a new seed", table)
    expect(all(row["slow"] == "0:2" and float(row["time_to_target"] or 0) > 0 for row in table),
           "all at the target", table)


if __name__ == "__main__":
    main()
