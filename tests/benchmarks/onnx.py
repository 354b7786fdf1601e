#!/usr/bin/env python3
"""Gradients per second of ONNX models, beside mlpack and PyTorch.

Usage: onnx.py PROGRAM WORK [--repetitions N] [--seconds S] [--output FILE]

PROGRAM is dasgd_onnx_speed, WORK a folder to write to.  Everything is in single
precision, batches of 32, one thread for each process.  All ways are measured in
turn, in every repetition, and ratios are formed within one; printed are
medians.  PyTorch computes with oneDNN and without it, and the faster counts:
oneDNN has fast convolutions for some processors only.  Needs PyTorch (cmake/dependencies.sh --peers).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "onnx"))
sys.dont_write_bytecode = True

# OpenBLAS reads it when it is loaded.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import torch  # noqa: E402
import networks  # noqa: E402

ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1",
                   OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def torch_rate(model, shape, seconds):
    """The faster of both ways."""
    rates = []
    for onednn in (True, False):
        torch.backends.mkldnn.set_flags(onednn)
        rates.append(torch_rate_now(model, shape, seconds))
    return max(rates)


def torch_rate_now(model, shape, seconds):
    points = torch.randn((512,) + shape)
    labels = torch.arange(512) % 10
    loss = torch.nn.CrossEntropyLoss()
    model.train()

    def gradient(i):
        begin = i * 32 % 512
        # Faster than to set gradients to zero.
        for parameter in model.parameters():
            parameter.grad = None
        loss(model(points[begin:begin + 32]),
             labels[begin:begin + 32]).backward()

    gradient(0)
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        gradient(count)
        count += 1
    return count / (time.perf_counter() - start)


def program_rate(program, way, model, name, seconds, ranks=1):
    command = [program, way, model, name, str(seconds)]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks)] + command
    output = subprocess.run(command, check=True, timeout=600, env=ENVIRONMENT,
                            stdout=subprocess.PIPE,
                            universal_newlines=True).stdout
    return json.loads(output)["gradients_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--output")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    os.makedirs(arguments.work, exist_ok=True)
    results = {}
    for name in ("mlp", "cnn", "cifar"):
        model, shape = getattr(networks, name)()
        path = os.path.join(arguments.work, name + ".onnx")
        networks.export(model, shape, path)
        rows = []
        for _ in range(arguments.repetitions):
            run = lambda way, ranks=1: program_rate(
                arguments.program, way, path, name, arguments.seconds, ranks)
            rows.append({
                "onnx": run("onnx"), "mlpack": run("mlpack"),
                "torch": torch_rate(model, shape, arguments.seconds),
                "sgd_2": run("sgd", 2), "dasgd_2": run("dasgd", 2)})
        median = lambda value: statistics.median(value(row) for row in rows)
        results[name] = {way: median(lambda row: row[way]) for way in rows[0]}
        results[name].update({
            "onnx/mlpack": median(lambda row: row["onnx"] / row["mlpack"]),
            "onnx/torch": median(lambda row: row["onnx"] / row["torch"]),
            "dasgd_2/sgd_2": median(lambda row: row["dasgd_2"] / row["sgd_2"])})
        print(name, "  ".join("%s %.4g" % item
                              for item in results[name].items()), flush=True)
    if arguments.output:
        with open(arguments.output, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")


main()
