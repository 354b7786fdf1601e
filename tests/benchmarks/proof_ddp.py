#!/usr/bin/env python3
"""PyTorch on one process, or its DistributedDataParallel (gloo) on several: the
runs of proof.cpp, with the same networks, batches, optimizers and rows.

  proof_ddp.py RUNS TABLE FIRST_CORE RANKS PORT [single|double]
  proof_ddp.py --models FOLDER SEED...

One thread and one core for each rank.  PORT may be HOST:PORT: then mpirun has
started this on each rank.  --models writes the ONNX files of proof_onnx.cpp.
"""

import gzip
import math
import os
import sys
import time

import numpy
import torch
import torch.distributed
import torch.multiprocessing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "onnx"),
                os.path.join(HERE, "..", "..", "examples", "study")]
sys.dont_write_bytecode = True
import cifar_ddp  # noqa: E402
import networks  # noqa: E402

TARGETS = (0.84, 0.85, 0.86, 0.87, 0.88)
HIDDEN = {"mlp": (256, 128), "mlp1m": (1024, 224), "mlp10m": (3072, 2400)}
# As in proof.cpp and proof_onnx.cpp: growth of the time between copies, and
# targets.
CARE = {"mlp": (1.05, TARGETS), "mlp1m": (1.05, TARGETS[:4]),
        "mlp10m": (1.15, TARGETS[:2]), "cnn": (1.08, TARGETS[:3]),
        "cifar": (1.08, (0.5, 0.55, 0.6, 0.65, 0.7)),
        "transformer": (1.08, (0.8, 0.82, 0.84, 0.85, 0.86))}


def cifar():
    """That of cifar.sh."""
    return torch.nn.Sequential(*cifar_ddp.network("convolutional"),
                               torch.nn.LogSoftmax(1)), (3, 32, 32)


EXPORTED = {"cifar": cifar, "transformer": networks.transformer}
FOLDER = os.environ.get("DASGD_DATA", "/usr/share/datasets/fashion-mnist")


def images(part):
    def read(name, skip):
        with gzip.open(f"{FOLDER}/{part}-{name}-ubyte.gz") as file:
            return numpy.frombuffer(file.read(), numpy.uint8)[skip:]
    points = torch.tensor(read("images-idx3", 16).reshape(-1, 784),
                          dtype=torch.get_default_dtype()) / 255
    return points, torch.tensor(read("labels-idx1", 8).astype(numpy.int64))


def photographs():
    """CIFAR-10."""
    folder = os.environ["DASGD_CIFAR"]
    parts = [f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"]
    return [cifar_ddp.read(folder, names) for names in parts]


def network(problem):
    """One whose first parameters only the seed decides."""
    if problem in EXPORTED:
        return EXPORTED[problem]()[0]
    layers = torch.nn
    if problem in HIDDEN:
        one, two = HIDDEN[problem]
        model = layers.Sequential(
            layers.Linear(784, one), layers.ReLU(), layers.Linear(one, two),
            layers.ReLU(), layers.Linear(two, 10), layers.LogSoftmax(1))
    else:
        model = layers.Sequential(
            layers.Unflatten(1, (1, 28, 28)), layers.Conv2d(1, 6, 5),
            layers.ReLU(), layers.MaxPool2d(2), layers.Conv2d(6, 16, 5),
            layers.ReLU(), layers.MaxPool2d(2), layers.Flatten(),
            layers.Linear(256, 10), layers.LogSoftmax(1))
    # As mlpack begins: uniform, by the number of a layer's parameters.
    for layer in model:
        parameters = list(layer.parameters())
        bound = math.sqrt(6 / (sum(p.numel() for p in parameters) + 1))
        for parameter in parameters:
            torch.nn.init.uniform_(parameter, -bound, bound)
    return model


def maker(policy, step):
    if policy == "adam":
        return lambda parameters: torch.optim.Adam(parameters, lr=step)
    momentum = 0.9 if policy == "momentum" else 0
    return lambda parameters: torch.optim.SGD(parameters, lr=step,
                                              momentum=momentum)


class Trainer:
    def __init__(self, rank, ranks, run):
        (self.problem, self.way, self.policy, step, batch, seed, budget, slow,
         self.period) = run
        self.step, self.batch, self.seed = float(step), int(batch), int(seed)
        self.budget, self.slow = float(budget), int(slow)
        self.period = float(self.period)
        self.rank, self.ranks = rank, ranks
        torch.manual_seed(self.seed)
        self.plain = network(self.problem)
        self.model = self.plain if ranks == 1 else (
            torch.nn.parallel.DistributedDataParallel(self.plain))
        self.loss = torch.nn.NLLLoss()

    def is_slow(self, begin):
        return self.slow > 1 and self.rank == self.ranks - 1 and (
            not self.period or int((time.monotonic() - begin) / self.period) % 2)

    def gradient(self, optimizer, points, labels, begin):
        if self.is_slow(begin):
            for _ in range(1, self.slow):
                torch.autograd.grad(self.loss(self.plain(points), labels),
                                    list(self.plain.parameters()))
        optimizer.zero_grad()
        self.loss(self.model(points), labels).backward()
        optimizer.step()

    def train(self, points, labels):
        """The copies of rank 0: seconds, gradients, model."""
        start = {key: value.clone() for key, value in
                 self.plain.state_dict().items()}
        make = maker(self.policy, self.step)
        optimizer = make(self.plain.parameters())
        for i in range(25):
            if i == 5:
                begin = time.monotonic()
            self.gradient(optimizer, points[:self.batch], labels[:self.batch],
                          time.monotonic() - 1.5 * self.period)
        each = torch.tensor((time.monotonic() - begin) / 20)
        self.plain.load_state_dict(start)
        optimizer = make(self.plain.parameters())
        if self.ranks > 1:
            torch.distributed.all_reduce(each, torch.distributed.ReduceOp.MAX)
        steps = max(1, int(self.budget / float(each)))
        batches = len(points) // self.batch // self.ranks
        generator = torch.Generator().manual_seed(self.seed)
        copies = [(0.0, 0, torch.nn.utils.parameters_to_vector(
            self.plain.parameters()).detach().clone())]
        due, order = 0.05, None
        if self.ranks > 1:
            torch.distributed.barrier()
        begin = time.monotonic()
        for i in range(steps):
            if i % batches == 0:
                order = torch.randperm(len(points), generator=generator)
            at = (i % batches * self.ranks + self.rank) * self.batch
            chosen = order[at:at + self.batch]
            self.gradient(optimizer, points[chosen], labels[chosen], begin)
            now = time.monotonic() - begin
            if self.rank == 0 and now >= due:
                copies.append((now, (i + 1) * self.ranks,
                               torch.nn.utils.parameters_to_vector(
                                   self.plain.parameters()).detach().clone()))
                while due <= now:
                    due *= CARE[self.problem][0]
        if self.ranks > 1:
            torch.distributed.barrier()
        seconds = time.monotonic() - begin
        return copies, seconds, steps * self.ranks

    def judge(self, copies, points, labels):
        """When each target was first reached, as in proof.cpp."""
        def right(model, count):
            torch.nn.utils.vector_to_parameters(model, self.plain.parameters())
            with torch.no_grad():
                return float((self.plain(points[:count]).argmax(1) ==
                              labels[:count]).double().mean())
        targets = CARE[self.problem][1]
        wanted = len(targets)
        found, best, before, whole = [], 0.0, (0.0, 0, 0.0), False
        for i, (seconds, gradients, model) in enumerate(copies):
            if i == 0:
                continue
            # A fifth of the points is enough for a model that is far away.
            now = right(model, len(points) // 5)
            far = now < targets[len(found)] - 0.025
            if not far:
                if not whole and i > 1:
                    before = (*before[:2], right(copies[i - 1][2], len(points)))
                now = right(model, len(points))
                best = max(best, now)
            whole = not far
            while (whole and len(found) < wanted
                   and now >= targets[len(found)]):
                share = (max(0.0, (targets[len(found)] - before[2]) /
                             (now - before[2])) if now > before[2] else 1)
                found.append((before[0] + share * (seconds - before[0]),
                              before[1] + share * (gradients - before[1])))
            before = (seconds, gradients, now)
            if len(found) == wanted:
                break
        return found, best


def serve(rank, arguments):
    file, table, first, ranks, port, precision = arguments
    all_cores = os.sched_getaffinity(0)
    if first >= 0:
        os.sched_setaffinity(0, {first + rank})
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64 if precision == "double"
                            else torch.float32)
    if ranks > 1:
        host, _, number = port.rpartition(":")
        os.environ.update(MASTER_ADDR=host or "127.0.0.1", MASTER_PORT=number)
        torch.distributed.init_process_group("gloo", rank=rank,
                                             world_size=ranks)
    with open(file, encoding="ascii") as runs:
        lines = [line.split() for line in runs]
    # All runs of a file have the same points.
    if lines[0][0] == "cifar":
        train, test = photographs()
    else:
        train, test = images("train"), images("t10k")
    for line in lines:
        trainer = Trainer(rank, ranks, line)
        copies, seconds, gradients = trainer.train(*train)
        if rank == 0:
            if first >= 0:
                os.sched_setaffinity(0, set(range(first, first + ranks)))
            torch.set_num_threads(min(ranks, len(all_cores)))
            found, best = trainer.judge(copies, *test)
            torch.set_num_threads(1)
            if first >= 0:
                os.sched_setaffinity(0, {first})
            blank = [""] * (len(TARGETS) - len(found))
            row = [trainer.problem, trainer.way, trainer.policy, precision,
                   ranks, trainer.slow, f"{trainer.period:g}",
                   f"{trainer.step:g}", trainer.batch, trainer.seed,
                   f"{seconds:.6g}", gradients, f"{gradients / seconds:.6g}",
                   0, "", f"{best:.4f}"]
            row += [f"{entry[0]:.6g}" for entry in found] + blank
            row += [f"{entry[1]:.6g}" for entry in found] + blank
            with open(table, "a", encoding="ascii") as out:
                out.write(",".join(map(str, row)) + "\n")
        if ranks > 1:
            torch.distributed.barrier()
    if ranks > 1:
        torch.distributed.destroy_process_group()


def write_models(folder, seeds):
    for problem, make in EXPORTED.items():
        for seed in seeds:
            torch.manual_seed(seed)
            model, shape = make()
            networks.export(model, shape, f"{folder}/{problem}_{seed}.onnx")


def main():
    if sys.argv[1] == "--models":
        write_models(sys.argv[2], [int(seed) for seed in sys.argv[3:]])
        return
    file, table, first, ranks, port = sys.argv[1:6]
    precision = sys.argv[6] if len(sys.argv) > 6 else "single"
    arguments = (file, table, int(first), int(ranks), port, precision)
    if int(ranks) == 1:
        serve(0, arguments)
    elif ":" in port:
        serve(int(os.environ["OMPI_COMM_WORLD_RANK"]), arguments)
    else:
        torch.multiprocessing.spawn(serve, (arguments,), int(ranks))


if __name__ == "__main__":
    main()
