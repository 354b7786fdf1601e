#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel on gloo: the same networks as throughput.cpp.

Prints one line of JSON with gradients per second over all ranks.
"""

import argparse
import json
import os
import time

import torch
import torch.distributed
import torch.multiprocessing


def network(problem):
    layers = torch.nn
    if problem == "logistic":
        return layers.Sequential(layers.Linear(784, 1))
    if problem == "mlp":
        return layers.Sequential(
            layers.Linear(784, 256), layers.ReLU(), layers.Linear(256, 128),
            layers.ReLU(), layers.Linear(128, 10), layers.LogSoftmax(1))
    return layers.Sequential(
        layers.Unflatten(1, (1, 28, 28)), layers.Conv2d(1, 6, 5),
        layers.ReLU(), layers.MaxPool2d(2), layers.Conv2d(6, 16, 5),
        layers.ReLU(), layers.MaxPool2d(2), layers.Flatten(),
        layers.Linear(256, 10), layers.LogSoftmax(1))


def train(rank, arguments, result):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(arguments.port))
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // arguments.ranks))
    torch.distributed.init_process_group("gloo", rank=rank,
                                         world_size=arguments.ranks)
    torch.set_default_dtype(torch.float32 if arguments.single else
                            torch.float64)
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(
        network(arguments.problem))
    points = torch.randn(512, 784)
    labels = torch.arange(512) % (2 if arguments.problem == "logistic"
                                   else 10)
    if arguments.problem == "logistic":
        loss = torch.nn.BCEWithLogitsLoss()
        labels = labels.to(torch.get_default_dtype()).unsqueeze(1)
    else:
        loss = torch.nn.NLLLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def steps(count):
        for i in range(count):
            begin = (i * arguments.ranks + rank) * 32 % 512
            optimizer.zero_grad()
            loss(model(points[begin:begin + 32]),
                 labels[begin:begin + 32]).backward()
            optimizer.step()

    steps(5)
    torch.distributed.barrier()
    start = time.monotonic()
    steps(arguments.gradients)
    torch.distributed.barrier()
    if rank == 0:
        result.put(arguments.gradients * arguments.ranks /
                   (time.monotonic() - start))
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--gradients", type=int, default=200)
    parser.add_argument("--port", type=int, default=29517)
    parser.add_argument("--single", action="store_true",
                        help="float instead of double")
    arguments = parser.parse_args()
    context = torch.multiprocessing.get_context("spawn")
    result = context.SimpleQueue()
    torch.multiprocessing.spawn(train, (arguments, result), arguments.ranks)
    print(json.dumps({"rate": result.get()}))


if __name__ == "__main__":
    main()
