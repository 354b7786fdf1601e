#!/usr/bin/env python3
"""Runs the command line programs as users do, and checks what comes of it.

Every case names the promise that it holds.  A case that fails is printed with
the command, what the command printed, and what was expected; the exit status
is 1 then.  Needs nothing but Python's standard library.

Usage: programs.py --bin DIR --stock DIR --drop-in FILE --mpiexec MPIEXEC
           --work SCRATCH [--update-snapshots] [--list] [--all]
           [--only light|heavy] [NAME...]

Only cases are run whose name contains one of the NAMEs, and, with --only, those
that may run beside each other (light), or that may not (heavy).  Without names,
only what fails is told, unless --all is given.  The data is a part of
Fashion-MNIST, where that is installed, else generated.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

# Sources stay as they are.
sys.dont_write_bytecode = True

from cases import (training, reading, printing, mistakes, files,
                   accounts, networks, checkpoints, endings)  # noqa: E402,F401
from cases.harness import (CASES, DATASET, Failed, Setting,  # noqa: E402
                           fresh, make_data, make_models)


#
# All cases.
#

def attempt(entry):
    """Run a case: (seconds, note, failure)."""
    name, _, action, _ = entry
    begin = time.monotonic()
    note = failure = None
    try:
        note = action(fresh(name))
    except Failed as reason:
        failure = str(reason)
    except (OSError, ValueError, KeyError, TypeError, IndexError,
            AttributeError, subprocess.SubprocessError) as reason:
        failure = "  %s: %s" % (type(reason).__name__, reason)
    return time.monotonic() - begin, note, failure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--stock", required=True,
                        help="folder of mlpack's own programs")
    parser.add_argument("--drop-in", default="", help="mlpack's own program "
                        "with dasgd/drop_in.hpp; empty if there is none")
    parser.add_argument("--alternate", default="", help="softmax regression, "
                        "built with another version of mlpack and ensmallen")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--work", required=True, help="scratch folder")
    parser.add_argument("--update-snapshots", action="store_true",
                        help="keep what --help prints")
    parser.add_argument("--list", action="store_true", help="only list cases")
    parser.add_argument("--all", action="store_true",
                        help="tell of cases that succeed, too")
    parser.add_argument("--only", choices=("light", "heavy"))
    parser.add_argument("name", nargs="*", help="part of a case's name")
    arguments = parser.parse_args()

    Setting.bin = os.path.abspath(arguments.bin)
    Setting.stock = os.path.abspath(arguments.stock)
    Setting.drop_in = arguments.drop_in and os.path.abspath(arguments.drop_in)
    Setting.alternate = arguments.alternate and os.path.abspath(
        arguments.alternate)
    Setting.mpiexec = arguments.mpiexec
    Setting.work = os.path.abspath(arguments.work)
    Setting.update = arguments.update_snapshots

    chosen = [entry for entry in CASES if not arguments.name or
              any(part in entry[0] for part in arguments.name)]
    if arguments.only:
        chosen = [entry for entry in chosen
                  if bool(entry[3]) == (arguments.only == "light")]
    if not Setting.drop_in:
        print("without mlpack's program with drop_in.hpp: no case drop_in/*")
        chosen = [entry for entry in chosen
                  if not entry[0].startswith("drop_in/")]
    if not Setting.alternate:
        print("without another version of mlpack: no case alternate/*")
        chosen = [entry for entry in chosen
                  if not entry[0].startswith("alternate/")]
    if arguments.list or not chosen:
        for name, promise, _, _ in chosen:
            print("%s: %s" % (name, promise))
        return 0 if chosen else "no such case"

    begin = time.monotonic()
    os.makedirs(Setting.work, exist_ok=True)
    make_data()
    try:
        make_models()
    except Failed as reason:
        print("FAILED models for the cases\n%s" % reason)
        return 1
    print("data: %s; ready after %.1f s" % (
        "generated, as Fashion-MNIST is not in " + DATASET
        if Setting.generated else "part of Fashion-MNIST",
        time.monotonic() - begin), flush=True)

    failed = []

    def tell(entry, outcome):
        seconds, note, failure = outcome
        if failure or arguments.all or arguments.name:
            print("%s %s (%.1f s): %s%s" % (
                "FAILED" if failure else "ok    ", entry[0], seconds, entry[1],
                " [%s]" % note if note else ""), flush=True)
        if failure:
            print(failure, flush=True)
            failed.append(entry[0])

    # What trains goes one at a time: where signals are sent, mpirun must not be
    # starved (it forwards Ctrl-Z after fg then).  The rest mostly waits for
    # processes to start and end.
    for light, workers in ((False, 1), (True, 2 * max(2, os.cpu_count() or 1))):
        entries = [entry for entry in chosen if bool(entry[3]) == light]
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for entry, outcome in zip(entries, pool.map(attempt, entries)):
                tell(entry, outcome)

    print("%d cases, %d failed, %.0f s" % (len(chosen), len(failed),
                                           time.monotonic() - begin))
    for name in failed:
        print("failed: " + name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
