#!/usr/bin/env python3
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.

"""CIFAR-10 with PyTorch's DistributedDataParallel, to compare with mlpack_dasgd_study.

The network, the batch of each rank and the points are those of the study's runs; so is the
way of measuring: copies of the model are judged after the run.  Prints when the accuracy was
reached, and writes the curve as the study does.
"""

import argparse
import csv
import os
import time

import numpy
import torch
import torch.distributed
import torch.multiprocessing


def read(folder, names):
    """Images and labels of some of the data set's binary files."""
    records = numpy.concatenate([
        numpy.fromfile(os.path.join(folder, name), dtype=numpy.uint8).reshape(-1, 3073)
        for name in names])
    images = torch.from_numpy(records[:, 1:].astype(numpy.float32) / 255)
    return images.reshape(-1, 3, 32, 32), torch.from_numpy(records[:, 0].astype(numpy.int64))


def network(name):
    layers = torch.nn
    if name == "convolutional":
        return layers.Sequential(
            layers.Conv2d(3, 16, 3, padding=1), layers.ReLU(), layers.MaxPool2d(2),
            layers.Conv2d(16, 32, 3, padding=1), layers.ReLU(), layers.MaxPool2d(2),
            layers.Conv2d(32, 64, 3, padding=1), layers.ReLU(), layers.MaxPool2d(2),
            layers.Flatten(), layers.Linear(1024, 10))
    return layers.Sequential(
        layers.Conv2d(3, 6, 5), layers.ReLU(), layers.MaxPool2d(2), layers.Conv2d(6, 16, 5),
        layers.ReLU(), layers.MaxPool2d(2), layers.Flatten(), layers.Linear(400, 120),
        layers.ReLU(), layers.Linear(120, 84), layers.ReLU(), layers.Linear(84, 10))


def optimizer_of(arguments, parameters):
    if arguments.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=arguments.step_size)
    momentum = 0.9 if arguments.optimizer == "momentum" else 0
    return torch.optim.SGD(parameters, lr=arguments.step_size, momentum=momentum)


def judge(model, images, labels):
    """Mean loss and accuracy."""
    loss = right = 0
    with torch.no_grad():
        for begin in range(0, len(labels), 500):
            output = model(images[begin:begin + 500])
            expected = labels[begin:begin + 500]
            loss += float(torch.nn.functional.cross_entropy(output, expected, reduction="sum"))
            right += int((output.argmax(1) == expected).sum())
    return loss / len(labels), right / len(labels)


def seconds_of_a_gradient(arguments):
    """Of this rank alone, without an exchange."""
    model = network(arguments.network)
    images = torch.zeros(arguments.batch_size, 3, 32, 32)
    model(images).sum().backward()
    start = time.monotonic()
    for _ in range(10):
        model(images).sum().backward()
    return (time.monotonic() - start) / 10


def choose_convolutions(arguments):
    """Turns oneDNN off where it is slower than PyTorch's own convolutions, on all ranks.

    It has fast ones for some processors only; on a Neoverse V1 it takes three times as long.
    Returns the seconds that a gradient takes.
    """
    seconds = torch.zeros(2)
    for onednn in (0, 1):
        torch.backends.mkldnn.set_flags(bool(onednn))
        seconds[onednn] = seconds_of_a_gradient(arguments)
    if arguments.ranks > 1:
        torch.distributed.all_reduce(seconds)
        seconds /= arguments.ranks
    torch.backends.mkldnn.set_flags(bool(seconds[1] < seconds[0]))
    return float(seconds.min())


def steps(arguments, wait, images, labels):
    """Trains for the time budget, and waits before each gradient; returns copies of the model
    with their times."""
    rank = torch.distributed.get_rank() if arguments.ranks > 1 else 0
    torch.manual_seed(arguments.seed)
    model = network(arguments.network)
    trained = torch.nn.parallel.DistributedDataParallel(model) if arguments.ranks > 1 else model
    optimizer = optimizer_of(arguments, trained.parameters())
    # All ranks draw the same order, and each takes its part.
    order = torch.Generator().manual_seed(arguments.seed)
    copies = [(0, 0, [parameter.detach().clone() for parameter in model.parameters()])]
    gradients = 0
    if arguments.ranks > 1:
        torch.distributed.barrier()
    start = time.monotonic()
    while True:
        points = torch.randperm(len(labels), generator=order)
        whole = len(points) // (arguments.ranks * arguments.batch_size)
        for step in range(whole):
            first = (step * arguments.ranks + rank) * arguments.batch_size
            batch = points[first:first + arguments.batch_size]
            optimizer.zero_grad()
            output = trained(images[batch])
            loss = torch.nn.functional.cross_entropy(output, labels[batch])
            if wait:
                time.sleep(wait)
            loss.backward()
            optimizer.step()
            gradients += arguments.ranks
            now = time.monotonic() - start
            if now >= arguments.time_budget * (len(copies) / arguments.copies) ** 2:
                copies.append((now, gradients, [parameter.detach().clone()
                                                for parameter in model.parameters()]))
            # Each rank has its own clock, so they agree on the end now and then.
            if step % 50 == 0:
                over = torch.tensor([float(now >= arguments.time_budget)])
                if arguments.ranks > 1:
                    torch.distributed.all_reduce(over)
                if over[0] > 0:
                    return model, copies


def threads(arguments):
    return max(1, (os.cpu_count() or 1) // arguments.ranks)


def train(rank, arguments):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(arguments.port))
    torch.set_num_threads(threads(arguments))
    if arguments.double:
        torch.set_default_dtype(torch.float64)
    if arguments.ranks > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=arguments.ranks)
    gradient = choose_convolutions(arguments)
    wait = (arguments.slow - 1) * gradient if rank == 0 else 0
    images, labels = read(arguments.data_dir, [f"data_batch_{i}.bin" for i in range(1, 6)])
    tests, expected = read(arguments.data_dir, ["test_batch.bin"])
    # The last of the training images are for the choice of step sizes, as in the study.
    trained = len(labels) - arguments.validation_points
    if arguments.validate:
        tests, expected = images[trained:], labels[trained:]
    images, labels = images[:trained], labels[:trained]
    middle = images.mean(0)
    images, tests = images - middle, tests - middle
    if arguments.double:
        images, tests = images.double(), tests.double()
    model, copies = steps(arguments, wait, images, labels)
    if rank == 0:
        # The others only wait from here on.
        torch.set_num_threads(os.cpu_count() or 1)
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["seconds", "gradients", "loss", "accuracy"])
            for seconds, gradients, values in copies:
                for parameter, value in zip(model.parameters(), values):
                    parameter.data.copy_(value)
                rows.writerow([f"{seconds:.6g}", gradients,
                               *(f"{value:.6g}" for value in judge(model, tests, expected))])
    if arguments.ranks > 1:
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


def reached(curve, accuracy):
    """Seconds and gradients to an accuracy, between copies on a straight line."""
    for before, after in zip(curve, curve[1:]):
        if after["accuracy"] >= accuracy:
            # The model may have it before the first step.
            part = max(0, accuracy - before["accuracy"]) / max(
                after["accuracy"] - before["accuracy"], 1e-9)
            return [before[name] + part * (after[name] - before[name])
                    for name in ("seconds", "gradients")]
    return None


def add_row(arguments, curve, found):
    """One row for the run, with the names of the study's columns."""
    end = curve[-1]
    row = {"algorithm": "ddp_" + arguments.optimizer, "ranks": arguments.ranks,
           "slow": f"0:{arguments.slow:g}" if arguments.slow > 1 else "",
           "step_size": f"{arguments.step_size:g}", "seed": arguments.seed,
           "target_accuracy": arguments.target_accuracy,
           "time_to_target": f"{found[0]:.6g}" if found else "",
           "gradients_to_target": f"{found[1]:.6g}" if found else "",
           "judged_on": "validation" if arguments.validate else "test",
           "accuracy": end["accuracy"], "seconds": end["seconds"],
           "gradients": f"{end['gradients']:.0f}",
           "gradients_per_second": f"{end['gradients'] / end['seconds']:.4g}"}
    new = not os.path.exists(arguments.rows)
    with open(arguments.rows, "a", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, row, lineterminator="\n")
        if new:
            rows.writeheader()
        rows.writerow(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data_dir")
    parser.add_argument("--out", help="file for the curve")
    parser.add_argument("--rows", help="file to add a row for the run to")
    parser.add_argument("--export", help="write the network to this ONNX file, and nothing else")
    parser.add_argument("--network", choices=["lenet", "convolutional"], default="lenet")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--optimizer", choices=["sgd", "momentum", "adam"], default="sgd")
    parser.add_argument("--step_size", type=float, default=0.1)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--time_budget", type=float, default=60)
    parser.add_argument("--target_accuracy", type=float, default=0.65)
    parser.add_argument("--validation_points", type=int, default=1000,
                        help="images held out to choose step sizes with")
    parser.add_argument("--validate", action="store_true",
                        help="judge by those")
    parser.add_argument("--slow", type=float, default=1, help="factor by which rank 0 is slower")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copies", type=int, default=36)
    parser.add_argument("--double", action="store_true", help="numbers of 64 bits, as the study")
    parser.add_argument("--port", type=int, default=29518)
    arguments = parser.parse_args()
    if arguments.export:
        torch.manual_seed(arguments.seed)
        torch.onnx.export(network(arguments.network), torch.zeros(1, 3, 32, 32), arguments.export,
                          input_names=["points"], output_names=["output"],
                          dynamic_axes={"points": {0: "batch"}, "output": {0: "batch"}})
        return
    if arguments.validate and arguments.validation_points < 1:
        parser.error("--validate needs --validation_points")
    if not arguments.data_dir or not arguments.out:
        parser.error("--data_dir and --out are needed")
    # PyTorch does not tell OpenBLAS, which reads this when a process starts.
    os.environ["OPENBLAS_NUM_THREADS"] = str(threads(arguments))
    if arguments.ranks > 1:
        torch.multiprocessing.spawn(train, (arguments,), arguments.ranks)
    else:
        train(0, arguments)
    with open(arguments.out, newline="", encoding="utf-8") as file:
        curve = [{name: float(value) for name, value in row.items()}
                 for row in csv.DictReader(file)]
    found = reached(curve, arguments.target_accuracy)
    if arguments.rows:
        add_row(arguments, curve, found)
    print(f"accuracy {arguments.target_accuracy}: " +
          (f"{found[0]:.3g} s" if found else "not reached"))


if __name__ == "__main__":
    main()
