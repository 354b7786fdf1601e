#!/usr/bin/env python3
"""Runs a program that knows nothing of ranks under mpirun.

It must train once, not n times; print once; end with one model on all ranks;
leave whole files; and say so if an optimizer is not decentralized.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading


def start(arguments, ranks, *words, input=None):
    """Runs the program; returns what it prints, and what it says of itself."""
    command = arguments.mpiexec.split() + ["-n", str(ranks), arguments.program]
    done = subprocess.run(command + list(words), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, input=input or b"",
                          timeout=200)
    out = done.stdout.decode()
    errors = done.stderr.decode()
    check(done.returncode == 0, f"{words} at {ranks} ranks: status "
          f"{done.returncode}\n{out}{errors}")
    results = []
    for line in errors.splitlines():
        fields = line.split()
        if fields[:1] == ["result"]:
            results.append(dict(zip(fields[1::2], fields[2::2])))
    return out, errors, results


def check(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def same(results, name):
    return len({result[name] for result in results}) == 1


def train(arguments, folder):
    file = os.path.join(folder, "parameters.csv")
    serial = None
    for ranks in (1, 2, 3):
        out, errors, results = start(arguments, ranks, "train", file, "5")
        print(f"{ranks} ranks:", *(f"{name} {value}" for name, value in
                                   results[0].items()))
        check(len(results) == ranks, errors)
        for name in ("accuracy", "bestAccuracy", "data", "predictions", "best",
                     "random", "loaded"):
            check(same(results, name), f"ranks differ in {name}:\n{errors}")
        check(results[0]["loaded"] == "1", "the file is not what was saved")
        # 900 points in batches of 30, eight times.
        check(sum(int(result["steps"]) for result in results) == 240,
              f"{ranks} ranks do not take 240 steps in all:\n{errors}")
        check(sum(int(result["looks"]) for result in results) == 8,
              f"validation data is not looked at once an epoch:\n{errors}")
        check(out.count("accuracy") == 1, f"not printed once:\n{out}")
        check(out.count("Epoch 8/8") == 1, f"not one progress bar:\n{out}")
        serial = serial or results[0]
        for name in ("accuracy", "bestAccuracy"):
            check(float(results[0][name]) > float(serial[name]) - 0.06,
                  f"{name} is {results[0][name]} at {ranks} ranks, "
                  f"{serial[name]} at one")
        check(results[0]["data"] == serial["data"], "other data")

    # A seed from the clock is one for all ranks.
    _, errors, results = start(arguments, 3, "train", file)
    check(len(results) == 3 and same(results, "data"), errors)
    _, _, others = start(arguments, 3, "train", file)
    check(others[0]["data"] != results[0]["data"], "the seed is always the same")
    check(os.listdir(folder) == ["parameters.csv"],
          f"more than one file is left: {os.listdir(folder)}")


def print_all(arguments, folder):
    os.environ["DASGD_ALL_OUTPUT"] = "1"
    out, _, _ = start(arguments, 2, "train",
                      os.path.join(folder, "parameters.csv"), "5")
    del os.environ["DASGD_ALL_OUTPUT"]
    check(out.count("accuracy") == 2, f"not printed by both ranks:\n{out}")


def save(arguments, folder):
    """Three ranks save the same file, and somebody reads it all the time."""
    file = os.path.join(folder, "often.csv")
    over = threading.Event()
    broken, reads = [], 0

    def read():
        nonlocal reads
        while not over.is_set():
            try:
                with open(file) as content:
                    lines = content.read().splitlines()
            except FileNotFoundError:
                continue
            reads += 1
            if len(lines) != 500 or len(set(lines)) != 1:
                broken.append(len(lines))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        _, errors, _ = start(arguments, 3, "save", file)
    finally:
        over.set()
        reader.join()
    print(f"{reads} reads beside 600 saves")
    check(not broken and reads > 0, f"{len(broken)} of {reads} reads found "
          f"less than the whole file: {broken[:5]}")
    check("not whole" not in errors, errors)


def printing(arguments):
    """Once, in whatever way the program prints; errors come from all."""
    out, errors, _ = start(arguments, 3, "print", input=b"word\n")
    for way in ("printf", "puts", "cout", "cout again", "system"):
        check(out.splitlines().count("by " + way) == 1,
              f"not printed once by {way}:\n{out}")
    check(errors.count("by stderr") == 3, errors)
    # What mpirun reads goes to rank 0 only, as the documentation says.
    check(errors.count("read 'word'") == 1 and errors.count("read ''") == 2,
          errors)
    os.environ["DASGD_ALL_OUTPUT"] = "1"
    out, _, _ = start(arguments, 2, "print", input=b"word\n")
    del os.environ["DASGD_ALL_OUTPUT"]
    for way in ("printf", "puts", "system"):
        check(out.splitlines().count("by " + way) == 2, out)


def lookahead(arguments):
    """An optimizer that holds another one: all ranks do all of it, and only
    that."""
    serial = None
    for ranks in (1, 3):
        _, errors, results = start(arguments, ranks, "lookahead")
        check(len(results) == ranks, errors)
        for name in ("steps", "objective", "hash"):
            check(same(results, name), f"ranks differ in {name}:\n{errors}")
        serial = serial or results[0]
        check(results[0] == serial, f"{results[0]} instead of {serial}")
    check(errors.count("is not decentralized: each of 3 ranks runs all of it "
                       "for itself") == 1, errors)
    check("Lookahead" in errors, errors)


def serial(arguments):
    line = ("dasgd: ens::L_BFGS is not decentralized: each of 3 ranks runs all "
            "of it for itself.")
    out, errors, _ = start(arguments, 3, "serial")
    check(errors.count(line) == 1, f"not said once:\n{errors}")
    check(out == "done\n", out)
    _, errors, _ = start(arguments, 1, "serial")
    check("dasgd" not in errors, errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpiexec", default="mpiexec")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train(arguments, folder)
        print_all(arguments, folder)
        save(arguments, folder)
    serial(arguments)
    printing(arguments)
    lookahead(arguments)


main()
