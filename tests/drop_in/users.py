#!/usr/bin/env python3
"""Runs programs that users of mlpack write: as they are, and under mpirun.

At one rank they print what they print without dasgd, digit by digit.  At
several, they print once, and the result is as good; or they say what to do.
"""

import argparse
import os
import subprocess
import sys
import tempfile

# What each program has to reach without dasgd, so that the comparison says
# something.
ENOUGH = {"validate": 0.75, "tune": 0.5, "normalize": 0.7, "remember": 0.95}
# By how much an accuracy may fall behind.  At several ranks, gradients arrive in
# another order each time, and on a busy machine some come late; of 300 points,
# 0.05 are 15.
BEHIND = 0.05


def check(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True,
                          timeout=100, **more)


def results(done):
    """What a program prints: names, each with a number, once."""
    check(done.returncode == 0, "%s\n%s%s" % (done.args, done.stdout,
                                              done.stderr))
    lines = [line.split() for line in done.stdout.splitlines()]
    check(lines and all(len(line) == 2 for line in lines), done.stdout)
    names = [name for name, _ in lines]
    check(len(set(names)) == len(names), "printed twice:\n" + done.stdout)
    return {name: float(value) for name, value in lines}


def compare(arguments, folder, program):
    def words(ranks):
        return [program, os.path.join(folder, "%s-%d%s" % (
            program, ranks, ".csv" if program == "validate" else ".bin")), "5"]

    def command(ranks):
        return arguments.mpiexec.split() + ["-n", str(ranks),
                                            arguments.drop_in] + words(ranks)

    plain = run([arguments.plain] + words(0))
    wanted = results(plain)
    check(wanted["accuracy"] >= ENOUGH[program], "not trained:\n%s" % wanted)
    check(program != "validate" or wanted["model"] != wanted["bestModel"],
          "the last model is the best, so that the file says nothing")
    for ranks in (1, 2, 3):
        done = run(command(ranks))
        found = results(done)
        print("%s, %d ranks:" % (program, ranks), " ".join(
            "%s %g" % pair for pair in found.items()), flush=True)
        if ranks == 1:
            check(done.stdout == plain.stdout, "one rank is not as without "
                  "dasgd:\n%s%s" % (plain.stdout, done.stdout))
            continue
        check(found.keys() == wanted.keys(), done.stdout)
        for name in ("accuracy", "best", "folds", "tuned"):
            check(found.get(name, 1) >= wanted.get(name, 0) - BEHIND,
                  "%s, %d ranks: %s is %s, without dasgd %s" % (
                      program, ranks, name, found.get(name), wanted.get(name)))
        # The best settings are far from the others.
        for name in ("step", "lambda"):
            check(found.get(name) == wanted.get(name), done.stdout)
    # All ranks have one model, and find one set of settings.
    done = run(command(2), env=dict(os.environ, DASGD_ALL_OUTPUT="1"))
    lines = done.stdout.splitlines()
    check(done.returncode == 0 and all(lines.count(line) % 2 == 0
                                       for line in lines) and lines,
          "ranks differ:\n%s%s" % (done.stdout, done.stderr))


def vote(arguments):
    """Threads that train at the same time: on one rank only."""
    wanted = results(run([arguments.plain, "vote"]))
    check(wanted["accuracy"] > 0.7, "not trained: %s" % wanted)
    command = arguments.mpiexec.split() + ["-n"]
    found = results(run(command + ["1", arguments.drop_in, "vote"]))
    print("vote, 1 rank: accuracy %g" % found["accuracy"])
    check(found["accuracy"] > wanted["accuracy"] - BEHIND, str(found))
    for ranks in (2, 3):
        done = run(command + [str(ranks), arguments.drop_in, "vote"])
        # An exception that a thread does not catch ends the program.  By then
        # mpirun may have ended other ranks.
        check(done.returncode != 0 and "accuracy" not in done.stdout,
              "not refused:\n" + done.stdout)
        check("several threads call Optimize()" in done.stderr and
              "train one after the other" in done.stderr, done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plain", required=True)
    parser.add_argument("--drop-in", required=True)
    parser.add_argument("--mpiexec", default="mpiexec")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for program in ENOUGH:
            compare(arguments, folder, program)
        left = sorted(os.listdir(folder))
        check(all(name.startswith(("validate", "tune")) for name in left) and
              len(left) == 8, "other files: %s" % left)
    vote(arguments)


main()
