#!/usr/bin/env python3
"""Compares gradients of ONNX models with those of PyTorch's autograd.

Usage: torch_test.py PROGRAM WORK

PROGRAM is dasgd_onnx_gradients, WORK a folder to write to.  Ends with status 77
if there is no PyTorch, or was none when the build tree was configured.
"""

import os
import subprocess
import sys

try:
    import torch
    import networks
except ImportError as error:
    print("skipped: %s; cmake/dependencies.sh --peers installs PyTorch" % error)
    sys.exit(77)

if not os.path.exists(sys.argv[1]):
    print("skipped: %s was not built; configure again, now that there is "
          "PyTorch" % sys.argv[1])
    sys.exit(77)

# What differs is the order in which numbers of single precision are added.
TOLERANCE = 1e-4
BATCH = 16


def numbers(path):
    with open(path, "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.float32)


def difference(found, expected):
    return float((found - expected).abs().max() / expected.abs().max())


def check(name, program, work):
    torch.manual_seed(1)
    model, shape = getattr(networks, name)()
    path = lambda end: os.path.join(work, name + end)
    networks.export(model, shape, path(".onnx"))
    points = torch.randn((BATCH,) + shape)
    labels = torch.arange(BATCH) % 10
    with open(path(".points"), "wb") as file:
        file.write(points.numpy().tobytes())
    with open(path(".labels"), "wb") as file:
        file.write(labels.numpy().tobytes())
    command = [program, path(".onnx"), path(".points"), path(".labels"),
               str(BATCH), path(".gradient")]
    lines = subprocess.run(command, check=True, timeout=60,
                           stdout=subprocess.PIPE,
                           universal_newlines=True).stdout.splitlines()

    model.train()
    loss = torch.nn.functional.cross_entropy(model(points), labels,
                                             reduction="sum")
    loss.backward()
    gradient = numbers(path(".gradient"))
    worst = abs(float(lines[0].split()[1]) - float(loss)) / float(loss)
    expected = dict(model.named_parameters())
    for line in lines[1:]:
        weight, offset, size = line.split()
        found = gradient[int(offset):int(offset) + int(size)]
        truth = expected.pop(weight).grad.flatten()
        # A bias before a normalization has no influence: all is rounding.
        if float(truth.abs().max()) > 1e-3:
            worst = max(worst, difference(found, truth))
        elif float(found.abs().max()) > 1e-3:
            worst = max(worst, 1.0)
    print("%s: %d weights, largest relative difference %.2g"
          % (name, gradient.numel(), worst))
    if expected:
        print("%s: no gradient for %s" % (name, ", ".join(expected)))
    return not expected and worst < TOLERANCE


def main():
    program, work = sys.argv[1:]
    torch.set_num_threads(1)
    os.makedirs(work, exist_ok=True)
    results = [check(name, program, work)
               for name in ("mlp", "lenet", "residual")]
    sys.exit(0 if all(results) else 1)


main()
