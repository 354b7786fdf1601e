#!/usr/bin/env python3
"""Runs the command line programs as users do, and checks what comes of it.

Every case names the promise that it holds.  A case that fails is printed with
the command, what the command printed, and what was expected; the exit status
is 1 then.  Needs nothing but Python's standard library.

Usage: programs.py --bin DIR --stock DIR --drop-in FILE --mpiexec MPIEXEC
           --work SCRATCH [--update-snapshots] [--list] [--only light|heavy]
           [NAME...]

Only cases are run whose name contains one of the NAMEs, and, with --only, those
that may run beside each other (light), or that may not (heavy).  The data is a part of
Fashion-MNIST, where that is installed, else generated.
"""

import argparse
import concurrent.futures
import fcntl
import gzip
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATASET = "/usr/share/datasets/fashion-mnist"
TRAIN, TEST = 2000, 500
TOPS = {0, 2, 3, 4, 6}  # What is worn above the belt: half of all images.

LR = "mlpack_dasgd_logistic_regression"
SOFTMAX = "mlpack_dasgd_softmax_regression"
SVM = "mlpack_dasgd_linear_svm"
FFN = "mlpack_dasgd_ffn"
PROGRAMS = (LR, SOFTMAX, SVM, FFN)
STOCK = {LR: "mlpack_logistic_regression",
         SOFTMAX: "mlpack_softmax_regression",
         SVM: "mlpack_linear_svm"}

# For Open MPI, if run by hand; others do not mind.
for variable, setting in (
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_hwloc_base_binding_policy", "none"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ("PRTE_MCA_hwloc_default_binding_policy", "none")):
    os.environ.setdefault(variable, setting)
# What would change what the programs do.
for variable in ("DASGD_TERMINAL", "DASGD_MPIRUN"):
    os.environ.pop(variable, None)


#
# Running programs.
#

class Failed(Exception):
    """A promise is not held."""


class Result:
    """What a command did."""

    def __init__(self, command, status, out, err, seconds):
        self.command = command
        self.status = status
        self.out = out
        self.err = err
        self.seconds = seconds

    def text(self):
        def quote(word):
            return word if re.fullmatch(r"[\w./:=,+-]+", word) else \
                "'" + word.replace("'", "'\\''") + "'"
        text = "  command: " + " ".join(quote(word) for word in self.command)
        text += "\n  status: %s after %.1f s" % (self.status, self.seconds)
        for name, printed in (("stdout", self.out), ("stderr", self.err)):
            if len(printed) > 3000:
                printed = printed[:1500] + "\n[...]\n" + printed[-1500:]
            text += "\n  %s:" % name
            text += "".join("\n    | " + line
                            for line in printed.replace("\r", "\n").split("\n")
                            if line.strip())
        return text


def expect(condition, expected, *results):
    """Fail with what was expected, and what the commands did."""
    if not condition:
        raise Failed("  expected: " + expected +
                     "".join("\n" + result.text() for result in results))


def processes():
    """All processes: number to (parent, start, state, seconds of CPU)."""
    table = {}
    tick = os.sysconf("SC_CLK_TCK")
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name) as file:
                text = file.read()
        except OSError:
            continue  # It has just ended.
        # The name of the program, in brackets, may contain anything.
        fields = text[text.rindex(")") + 2:].split()
        table[int(name)] = (int(fields[1]), int(fields[19]), fields[0],
                            (int(fields[11]) + int(fields[12])) / tick)
    return table


def descendants(pid):
    """The processes below one, as {number: start}."""
    table = processes()
    found = {}
    grown = True
    while grown:
        grown = False
        for number, (parent, start, _, _) in table.items():
            if number not in found and (parent == pid or parent in found):
                found[number] = start
                grown = True
    return found


def alive(group):
    """Which of these processes, {number: start}, have not ended."""
    table = processes()
    return [number for number, start in group.items()
            if number in table and table[number][1] == start and
            table[number][2] not in "ZX"]


def await_event(condition, seconds):
    """Wait until the condition holds; its value, false after some seconds."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)


def end_job(process):
    """End a process that was started here, and all below it."""
    below = descendants(process.pid)
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)
    for number in alive(below):
        os.kill(number, signal.SIGKILL)


def start(command, folder, **more):
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL,
                            start_new_session=True, **more)


def run(command, folder, timeout=60):
    """Run a command to its end."""
    command = [str(word) for word in command]
    begin = time.monotonic()
    process = start(command, folder, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=timeout)
        status = process.returncode
    except subprocess.TimeoutExpired:
        end_job(process)
        out, err = process.communicate(timeout=10)
        status = "none (ended by the test)"
    return Result(command, status, out.decode(errors="replace"),
                  err.decode(errors="replace"), time.monotonic() - begin)


def well(command, folder, timeout=60):
    """Run a command that must succeed."""
    result = run(command, folder, timeout)
    expect(result.status == 0, "exit status 0", result)
    return result


#
# Names of programs and files.
#

class Setting:
    """Where everything is; set by main()."""
    bin = stock = work = mpiexec = drop_in = alternate = None
    update = False
    generated = False
    models = {}
    lock = threading.Lock()


def our(program):
    return os.path.join(Setting.bin, program)


def stock(program):
    return os.path.join(Setting.stock, STOCK[program])


def mpi(ranks):
    return [Setting.mpiexec, "-n", str(ranks)]


def data(name):
    return os.path.join(Setting.work, "data", name)


def fresh(name):
    """An empty folder."""
    folder = os.path.join(Setting.work, re.sub(r"[^\w.-]", "_", name))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "w" if isinstance(text, str) else "wb") as file:
        file.write(text)
    return path


def numbers(*path):
    return [int(float(line)) for line in content(*path).split()]


def tree(folder):
    """All names below a folder; those of temporary files, too."""
    return sorted(os.path.join(where, name)[len(folder) + 1:]
                  for where, folders, files in os.walk(folder)
                  for name in folders + files)


def share(one, other):
    """How much of two lists is the same."""
    if len(one) != len(other):
        raise Failed("  expected: lists of the same length, not %d and %d" %
                     (len(one), len(other)))
    return sum(a == b for a, b in zip(one, other)) / len(one)


#
# Data.
#

def read_images(which, count):
    """Images of 28 x 28 bytes, and their labels."""
    paths = [os.path.join(DATASET, which + kind) for kind in
             ("-images-idx3-ubyte.gz", "-labels-idx1-ubyte.gz")]
    if all(os.path.exists(path) for path in paths):
        with gzip.open(paths[0]) as file:
            file.read(16)
            pixels = file.read(784 * count)
        with gzip.open(paths[1]) as file:
            file.read(8)
            labels = list(file.read(count))
        return [pixels[784 * i:784 * (i + 1)] for i in range(count)], labels

    # Ten classes, each around a pattern of its own.
    Setting.generated = True
    patterns, chance = random.Random(1), random.Random(which)
    centres = [[[patterns.uniform(40, 215) for _ in range(7)]
                for _ in range(7)] for _ in range(10)]
    images, labels = [], []
    for _ in range(count):
        label = chance.randrange(10)
        centre = centres[label]
        spots = [[min(255, max(0, chance.gauss(centre[y][x], 60)))
                  for x in range(7)] for y in range(7)]
        images.append(bytes(int(spots[y // 4][x // 4]) for y in range(28)
                            for x in range(28)))
        labels.append(label)
    return images, labels


def shrink(image):
    """7 x 7 means of 4 x 4 pixels each, from 0 to 1."""
    return [sum(sum(image[28 * y + 4 * column:28 * y + 4 * column + 4])
                for y in range(4 * row, 4 * row + 4)) / (16 * 255)
            for row in range(7) for column in range(7)]


def moments(rows):
    """Mean and standard deviation of each column."""
    means = [sum(column) / len(rows) for column in zip(*rows)]
    # Some pixels are hardly ever other than black.
    return means, [max(0.05, (sum((value - mean) ** 2 for value in column) /
                              len(rows)) ** 0.5)
                   for column, mean in zip(zip(*rows), means)]


def text_of(rows, separator=","):
    return "".join(separator.join(value if isinstance(value, str) else
                                  "%d" % value if isinstance(value, int) else
                                  "%.6f" % value for value in row) + "\n"
                   for row in rows)


def idx_of(images):
    return struct.pack(">4B3I", 0, 0, 8, 3, len(images), 28, 28) + \
        b"".join(images)


def idx_labels_of(labels):
    return struct.pack(">4BI", 0, 0, 8, 1, len(labels)) + bytes(labels)


def make_data():
    os.makedirs(data(""), exist_ok=True)
    for which, name, count in (("train", "train", TRAIN),
                               ("t10k", "test", TEST)):
        images, labels = read_images(which, count)
        rows = [shrink(image) for image in images]
        if name == "train":
            means, scales = moments(rows)
        # Every dimension around 0: else SGD needs too long.
        rows = [[(value - mean) / scale for value, mean, scale in
                 zip(row, means, scales)] for row in rows]
        two = [int(label in TOPS) for label in labels]
        write(data(name + ".csv"), text_of(rows))
        write(data(name + "_labels.csv"), text_of([x] for x in labels))
        write(data(name + "_two.csv"), text_of([x] for x in two))
        write(data(name + "_with_labels.csv"),
              text_of(row + [label] for row, label in zip(rows, labels)))
        few = 300
        write(data(name + "-images-idx3-ubyte"), idx_of(images[:few]))
        write(data(name + "-labels-idx1-ubyte"), idx_labels_of(labels[:few]))
        write(data(name + "-images-idx3-ubyte.gz"),
              gzip.compress(idx_of(images[:few])))
        write(data(name + "-labels-idx1-ubyte.gz"),
              gzip.compress(idx_labels_of(labels[:few])))
        if name == "test":
            write(data("twelve.csv"), text_of([x] for x in labels[:-1] + [12]))
            continue

        # Two shards, and what may be wrong with one of them.
        for rank in range(2):
            part = slice(rank, None, 2)
            write(data("shard_%d.csv" % rank), text_of(rows[part]))
            write(data("shard_labels_%d.csv" % rank),
                  text_of([x] for x in labels[part]))
            write(data("shard_two_%d.csv" % rank),
                  text_of([x] for x in two[part]))
        write(data("narrow_0.csv"), text_of(rows[0::2]))
        write(data("narrow_1.csv"), text_of(row[:40] for row in rows[1::2]))
        write(data("lonely_0.csv"), text_of(rows[0::2]))
        write(data("bad_two_0.csv"), text_of([x] for x in two[0::2]))
        write(data("bad_two_1.csv"),
              text_of([x] for x in two[1::2][:-1] + [7]))

        # Mistakes.
        write(data("void.csv"), "")
        write(data("narrow.csv"), text_of(row[:40] for row in rows))
        write(data("short_labels.csv"), text_of([x] for x in two[:-1]))
        write(data("three.csv"), text_of([x] for x in two[:-1] + [2]))
        write(data("negative.csv"), text_of([x] for x in two[:-1] + [-1]))
        write(data("half.csv"), text_of([str(x)] for x in two[:-1] + [0.5]))
        write(data("half_column.csv"), text_of(
            row + [label] for row, label in zip(rows, two[:-1] + [0.5])))
        write(data("one_class.csv"), text_of([1] for _ in two))
        write(data("two_points.csv"), text_of(rows[:2]))
        write(data("two_labels.csv"), "0\n1\n")
        write(data("three_points.csv"), text_of(rows[:3]))
        write(data("three_labels.csv"), text_of([x] for x in two[:3]))
        for word in ("nan", "inf"):
            bad = [list(row) for row in rows]
            bad[4][2] = word
            write(data(word + ".csv"), text_of(bad))
        bad[4][2] = "shirt"
        write(data("words.csv"), text_of(bad))
        for number, word in enumerate(NO_NUMBERS):
            bad[4][2] = word
            write(data("no_number_%d.csv" % number), text_of(bad))
        write(data("semicolons.csv"), text_of(rows, ";"))
        write(data("decimal_commas.csv"), text_of(rows, ";").replace(".", ","))
        write(data("bom.csv"), b"\xef\xbb\xbf" + text_of(rows).encode())
        write(data("binary.csv"), bytes(range(256)) * 20)
        write(data("one_two.csv"), text_of([x + 1] for x in two))
        write(data("no_number_labels.csv"),
              text_of([x] for x in two[:-1] + ["7A"]))
        write(data("train.xyz"), text_of(rows))
        write(data("cut-images-idx3-ubyte"), idx_of(images[:few])[:-100])
        packed = gzip.compress(idx_of(images[:few]))
        write(data("cut-images-idx3-ubyte.gz"), packed[:len(packed) // 2])
        write(data("cut-labels-idx1-ubyte"), idx_labels_of(labels[:few])[:-1])
        write(data("layers.txt"), "# a small network\nlinear:32  # hidden\n"
              "\n\trelu # linear:99\nlinear:10 logsoftmax\n")
        write(data("no_layers.txt"), "# nothing\n")


def make_models():
    """Models for the cases that need one, and what can be wrong with one."""
    folder = data("")
    for program, name in ((LR, "lr"), (SOFTMAX, "softmax"), (SVM, "svm"),
                          (FFN, "ffn")):
        for ending in ("bin", "xml", "json"):
            model = "%s.%s" % (name, ending)
            well([our(program)] + training(program, epochs=2) +
                 ["--seed", 1, "--output_model_file", model], folder)
            whole = content(folder, model)
            write(data("cut_" + model), whole[:2 * len(whole) // 3])
            write(data("garbage_" + model), b"no model at all\n" * 20)
            write(data("long_" + model), whole + b"\nand more")


LAYERS = "linear:32 relu linear:10 logsoftmax"
# Of the objective, not of the optimizer: the same for mlpack's own programs.
# Enough regularization that the best model is unique, and found in short time.
OBJECTIVE = {LR: ["--lambda", "20"],
             SOFTMAX: ["--lambda", "0.01"],
             SVM: ["--lambda", "0.01"],
             FFN: []}
OPTIMIZER = {LR: ["--step_size", "0.1", "--batch_size", "16"],
             SOFTMAX: ["--step_size", "0.002", "--batch_size", "1"],
             SVM: ["--step_size", "0.0005", "--batch_size", "1"],
             FFN: ["--step_size", "0.1", "--batch_size", "16"]}
EPOCHS = {LR: 20, SOFTMAX: 20, SVM: 20, FFN: 15}


def labels_of(program, which="train"):
    return data(which + ("_two.csv" if program == LR else "_labels.csv"))


def training(program, epochs=None):
    """Options to train."""
    return ["--training_file", data("train.csv"), "--labels_file",
            labels_of(program), "--epochs", epochs or EPOCHS[program],
            "--tolerance", "-1"] + OPTIMIZER[program] + OBJECTIVE[program] + \
        (["--layers", LAYERS] if program == FFN else [])


def prediction(model, name):
    """Options to predict."""
    return ["--input_model_file", model, "--test_file", data("test.csv"),
            "--predictions_file", name + ".csv", "--probabilities_file",
            name + "_probabilities.csv"]


#
# Cases.
#

CASES = []


def case(name, promise, action, light=False):
    """light: needs little time of any core, and may run beside others."""
    CASES.append((name, promise, action, light))


def program_case(program, ranks, by_mpiexec):
    """Train and predict, and compare with the serial program of mlpack."""
    def action(folder):
        command = (mpi(ranks) if by_mpiexec else []) + [our(program)] + \
            training(program) + ["--seed", 3, "--output_model_file",
            "model.bin", "--test_file", data("test.csv"),
            "--predictions_file", "predictions.csv", "--report_file",
            "report.json"] + ([] if by_mpiexec else ["--ranks", ranks])
        result = well(command, folder)
        expect(tree(folder) == ["model.bin", "predictions.csv", "report.json"],
               "only model, predictions and report, not %s" % tree(folder),
               result)
        report = json.loads(content(folder, "report.json"))
        expect(report["ranks"] == ranks, "a report of %d ranks, not %s" %
               (ranks, report["ranks"]), result)
        mine = numbers(folder, "predictions.csv")
        accuracy = share(mine, numbers(labels_of(program, "test")))
        serial = serial_predictions(program)
        base = share(serial, numbers(labels_of(program, "test")))
        same = share(mine, serial)
        note = "accuracy %.3f, serial %.3f, the same %.3f" % (accuracy, base,
                                                              same)
        expect(accuracy >= base - WORSE, "accuracy not worse by more than "
               "%.2f: %s" % (WORSE, note), result)
        expect(same >= SAME[program], "predictions of which %.2f are the same "
               "as the serial program's: %s" % (SAME[program], note), result)
        return note
    case("%s/%d%s" % (program[len("mlpack_dasgd_"):], ranks,
         "/mpiexec" if by_mpiexec else ""), "trains at %d rank(s) what the "
         "serial program trains" % ranks, action)


def seed_case(program):
    """The seed decides over a run, and over nothing but the run."""
    def action(folder):
        models = []
        for seed in (1, 1, 2):
            # The first pass over the data is in its own order, as in ens::SGD.
            well([our(program)] + training(program, 2) + [
                "--seed", seed, "--output_model_file", "model.bin"], folder)
            models.append(content(folder, "model.bin"))
        expect(models[0] == models[1], "the same model for the same seed")
        expect(models[0] != models[2], "another model for another seed")
    case("seed/" + program[len("mlpack_dasgd_"):], "the seed decides over the "
         "start and the order of points", action)


for program_ in PROGRAMS:
    seed_case(program_)


def alternate_case(update):
    """The same command gives the same model, whatever version is installed."""
    def action(folder):
        results = []
        for program in (our(SOFTMAX), Setting.alternate):
            well([program, "--training_file", data("train.csv"),
                "--labels_file", labels_of(SOFTMAX), "--epochs", 20,
                "--tolerance", -1, "--batch_size", TRAIN,
                "--step_size", 0.01 if update == "adam" else 0.05,
                "--update", update,
                "--seed", 3, "--test_file", data("test.csv"),
                "--probabilities_file", "probabilities.csv",
                "--predictions_file", "predictions.csv"], folder)
            results.append([float(number) for number in re.split(
                rb"[,\s]+", content(folder, "probabilities.csv").strip())])
        largest = max(abs(a - b) for a, b in zip(*results))
        note = "probabilities differ by at most %.1e" % largest
        # A batch of all points: what is left is the order of additions.
        expect(len(results[0]) == len(results[1]) and largest < 1e-9, note)
        expect(max(results[0]) > 0.5, "a model that has learned something")
        # Ranks are started and end well there, too.
        well(mpi(2) + [Setting.alternate] + training(SOFTMAX, 1) + [
            "--output_model_file", "model.bin"], folder)
        return note
    case("alternate/" + update, "steps mean the same with other versions of "
         "mlpack and ensmallen", action)


for update_ in ("sgd", "momentum", "adam"):
    alternate_case(update_)


# Of 500 points, an accuracy of 0.8 has a standard deviation of 0.018; two
# models differ by less, since they see the same points.
WORSE = 0.04
# Measured over seeds and ranks: 0.986 to 0.998, 0.952 to 0.984, 0.932 to 0.956.
# SGD with a fixed step goes around the best model; and many points of ten
# classes are near a boundary, more so with the hinge loss, which L-BFGS does
# not minimize to the end.  Networks of different starts need not agree at all.
SAME = {LR: 0.96, SOFTMAX: 0.92, SVM: 0.90, FFN: 0}


def serial_predictions(program):
    """Of mlpack's own program, trained by L-BFGS.  For networks there is none:
    of one rank, which is plain SGD."""
    with Setting.lock:  # Cases run side by side.
        if program not in Setting.models:
            folder = fresh("serial_" + program)
            if program == FFN:
                command = [our(FFN)] + training(FFN) + ["--seed", 2]
            else:
                command = [stock(program), "--training_file", data("train.csv"),
                           "--labels_file", labels_of(program)] + \
                    OBJECTIVE[program]
            well(command + ["--test_file", data("test.csv"),
                            "--predictions_file", "serial.csv",
                            "--output_model_file", "serial.bin"], folder)
            Setting.models[program] = numbers(folder, "serial.csv")
    return Setting.models[program]


for program_, ranks_ in ((LR, 2), (SOFTMAX, 4), (SVM, 1), (FFN, 2)):
    for ranks__ in (1, 2, 4):
        program_case(program_, ranks__, False)
    program_case(program_, ranks_, True)


def exchange_case(program):
    """Models in both directions and in all formats."""
    def action(folder):
        for ending in ("bin", "xml", "json"):
            # Trained at 4 ranks; used here and by mlpack's own program.
            mine = "ours." + ending
            well([our(program)] + training(program, epochs=1) +
                 ["--ranks", 4, "--output_model_file", mine], folder)
            same_predictions(mine)
            # The other way round.
            theirs = "stock." + ending
            well([stock(program), "--training_file", data("train.csv"),
                  "--labels_file", labels_of(program), "--max_iterations", 5,
                  "--output_model_file", theirs] + OBJECTIVE[program], folder)
            same_predictions(theirs)

    def same_predictions(model):
        one = well([our(program)] + prediction(model, "ours"), folder_of())
        two = well([stock(program)] + prediction(model, "stock"), folder_of())
        for suffix in (".csv", "_probabilities.csv"):
            expect(content(folder_of(), "ours" + suffix) ==
                   content(folder_of(), "stock" + suffix), "the same bytes in "
                   "ours%s and stock%s, of %s" % (suffix, suffix, model), one,
                   two)

    def folder_of():
        return os.path.join(Setting.work, re.sub(r"[^\w.-]", "_", name))

    name = "exchange/" + program[len("mlpack_dasgd_"):]
    case(name, "models go both ways between us and mlpack, as .bin, .xml and "
         ".json", action)


for program_ in STOCK:
    exchange_case(program_)


def front_end(folder):
    """Started twice, mlpack's own programs do the same work twice."""
    for program in STOCK:
        seen = []
        for ranks in (1, 2):
            command = mpi(ranks) + [stock(program)] + given(
                program, **dict(STOCK_ONLY, max_iterations=20)) + ["-v"]
            result = well(command, folder)
            text = result.out + result.err
            expect(text.count("Execution parameters") == 1 and
                   text.count("total_time") == 1, "parameters and timers once",
                   result)
            expect(tree(folder) == ["model.bin", "predictions.csv"],
                   "model and predictions, not %s" % tree(folder), result)
            # The start of the others is random.
            seen.append(content(folder, "model.bin") if program == LR else "")
        expect(seen[0] == seen[1], "the same model", result)
        clear(folder)


def clear(folder):
    for name in tree(folder):
        os.remove(os.path.join(folder, name))


case("front_end", "of mlpack's own programs, too, only rank 0 prints and "
     "writes", front_end, light=True)


#
# No change at all.
#

def drop_in_trains(folder):
    command = [Setting.drop_in, "--optimizer", "sgd", "--training_file",
               data("train.csv"), "--labels_file", labels_of(LR),
               "--max_iterations", 40000, "--step_size", "0.1",
               "--batch_size", 16, "--tolerance", "1e-12",
               "--output_model_file", "model.bin", "--test_file",
               data("test.csv"), "--predictions_file", "predictions.csv",
               "--verbose"] + OBJECTIVE[LR]
    result = well(mpi(2) + command, folder)
    expect(tree(folder) == ["model.bin", "predictions.csv"],
           "one model and one file of predictions, not %s" % tree(folder),
           result)
    lines = [line for line in (result.out + result.err).split("\n")
             if "total_time" in line or "Execution parameters" in line]
    expect(len(lines) == 2, "timers and parameters once, not %s" % lines,
           result)
    again = well([stock(LR)] + prediction("model.bin", "stock"), folder)
    expect(content(folder, "predictions.csv") == content(folder, "stock.csv"),
           "the same predictions by mlpack's own program", result, again)
    same = share(numbers(folder, "predictions.csv"), serial_predictions(LR))
    expect(same >= SAME[LR], "predictions as serial, not %.3f" % same, result)
    return "%.3f the same as serial" % same


def drop_in_decentral(folder):
    """
    Programs that train each for itself do not care what the other one reads.
    Ranks that train together do: they find that their data differs.
    """
    for rank in range(2):
        chance = random.Random(5 + rank)
        rows, labels = [], []
        for i in range(200):
            label = i % 2
            rows.append([chance.gauss(1.5 if label else -1.5, 1), 0.0])
            labels.append([label])
        write(os.path.join(folder, "points_%d.csv" % rank), text_of(rows))
        write(os.path.join(folder, "labels_%d.csv" % rank), text_of(labels))

    def command(rank, model):
        return [Setting.drop_in, "--optimizer", "sgd", "--training_file",
                "points_%d.csv" % rank, "--labels_file",
                "labels_%d.csv" % rank, "--max_iterations", 4000,
                "--step_size", "0.1", "--batch_size", 10, "--tolerance",
                "1e-12", "--output_model_file", model]

    for rank in range(2):
        well(command(rank, "alone_%d.json" % rank), folder)
    well(mpi(1) + command(0, "model.json") + [":", "-n", "1"] +
         command(0, "model.json"), folder)
    os.remove(os.path.join(folder, "model.json"))
    return refused(folder, mpi(1) + command(0, "model.json") + [":", "-n", "1"]
                   + command(1, "model.json"), ["ranks 0 and 1 hold different "
                   "data", "seed random splits alike"])


case("drop_in/trains", "mlpack's own program trains under mpiexec, prints and "
     "writes once, and its model is mlpack's", drop_in_trains)
case("drop_in/decentral", "ranks train together, so that they notice if they "
     "do not read the same data", drop_in_decentral)


#
# What is read.
#

def inputs(folder):
    """The same numbers in all formats; binary is what a program writes."""
    for ending in ("csv", "bin"):
        well([our(SOFTMAX), "--input_model_file", data("softmax.bin"),
              "--test_file", data("train.csv"), "--probabilities_file",
              "points." + ending], folder)
    rows = [line.split(",")
            for line in content(folder, "points.csv").decode().split()]
    expect(len(rows) == TRAIN and len(rows[0]) == 10, "probabilities of %d "
           "points for 10 classes" % TRAIN)
    write(os.path.join(folder, "points.tsv"), text_of(rows, "\t"))
    write(os.path.join(folder, "points.txt"), text_of(rows, " "))
    write(os.path.join(folder, "points.arff"), "@relation points\n\n" +
          "".join("@attribute a%d numeric\n" % i for i in range(10)) +
          "\n@data\n" + text_of(rows))
    labels = content(data("train_labels.csv")).decode().split()
    write(os.path.join(folder, "last_column.csv"),
          text_of(row + [label] for row, label in zip(rows, labels)))
    for program in (LR, SOFTMAX, SVM, FFN):
        if program == LR:
            labels = content(data("train_two.csv")).decode().split()
            write(os.path.join(folder, "last_column_two.csv"),
                  text_of(row + [label] for row, label in zip(rows, labels)))
        models = {}
        for ending in ("csv", "tsv", "txt", "arff", "bin", "last column"):
            last = ending == "last column"
            command = [our(program), "--training_file", "last_column%s.csv" %
                       ("_two" if program == LR else "") if last else
                       "points." + ending, "--epochs", 1, "--seed", 7,
                       "--output_model_file", "model.bin"] + \
                ([] if last else ["--labels_file", labels_of(program)]) + \
                (["--layers", "linear:10 logsoftmax"] if program == FFN else
                 [])
            result = well(command, folder)
            models[ending] = content(folder, "model.bin")
            expect(models[ending] == models["csv"], "the same model from %s "
                   "as from csv" % ending, result)


def separators(folder):
    """Other separators and marks make no difference."""
    models = []
    for name in ("train.csv", "semicolons.csv", "bom.csv"):
        well([our(SOFTMAX)] + given(SOFTMAX, training_file=data(name), seed=3,
                                    report_file=None, trace_file=None), folder)
        models.append(content(folder, "model.bin"))
    expect(models[0] == models[1] == models[2], "the same model")


def idx_everywhere(folder):
    """IDX files in every program, compressed or not."""
    for program in PROGRAMS:
        predictions = []
        for end in ("", ".gz"):
            images, labels = (data("train-%s-ubyte%s" % (kind, end)) for kind
                              in ("images-idx3", "labels-idx1"))
            words = given(program, training_file=images, labels_file=labels,
                          test_file=images, test_labels_file=labels, epochs=3,
                          seed=3)
            if program == LR:
                result = run([str(x) for x in [our(program)] + words], folder)
                expect(result.status == 1 and "10 classes" in result.err,
                       "labels of IDX files that are read", result)
                continue
            well([our(program)] + words, folder)
            predictions.append(numbers(folder, "predictions.csv"))
        if predictions:
            expect(predictions[0] == predictions[1] and
                   len(predictions[0]) == 300, "300 predictions, the same")


case("separators", "semicolons and a byte order mark are read", separators,
     light=True)
case("idx", "all programs read IDX files", idx_everywhere, light=True)
case("inputs", "CSV, TSV, text, ARFF and binary, labels apart or as the last "
     "column, are all the same", inputs)


#
# What a step is.
#

def step_size_case(program):
    """One step with all points, and one with the same points four times: the
    mean gradient is the same."""
    def action(folder):
        chance = random.Random(11)
        points = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(4)]
        labels = [[0], [1], [1], [0]] if program == LR else \
            [[0], [1], [2], [1]]
        models, results = [], []
        for times in (1, 4):
            write(os.path.join(folder, "points.csv"), text_of(points * times))
            write(os.path.join(folder, "labels.csv"), text_of(labels * times))
            results.append(well(
                [our(program), "--training_file", "points.csv",
                 "--labels_file", "labels.csv", "--step_size", "0.5",
                 "--batch_size", 4 * times, "--max_iterations", 4 * times,
                 "--tolerance", -1, "--seed", 6, "--output_model_file",
                 "model.json"] + (["--layers", "linear:3 logsoftmax"]
                                  if program == FFN else []), folder))
            models.append([float(value) for value in re.findall(
                r'"elem": "?([-+.\de]+)"?,?\n',
                content(folder, "model.json").decode())])
        expect(len(models[0]) == len(models[1]) >= 4, "weights", *results)
        # Up to the order of additions, which differs.
        expect(all(abs(one - other) < 1e-9 for one, other in zip(*models)),
               "the same weights, not %s and %s" % tuple(models), *results)
    case("step_size/" + program[len("mlpack_dasgd_"):], "--step_size is along "
         "the mean gradient, whatever the batch size", action, light=True)


for program_ in PROGRAMS:
    step_size_case(program_)


#
# What is printed.
#

SHARED_OPTIONS = ("step_size batch_size max_iterations tolerance update "
                  "topology sharing ranks threads sharded report_file "
                  "trace_file history_file checkpoint_file checkpoint_every "
                  "restart restarts wire_format overlap "
                  "exchange_share staleness_damping look_ahead epochs "
                  "progress seed "
                  "hostfile elastic ranks_file ranks_command min_ranks "
                  "max_ranks help info verbose version").split()
OPTIONS = {
    LR: "training_file labels_file lambda input_model_file output_model_file "
        "test_file test_labels_file predictions_file probabilities_file "
        "decision_boundary print_training_accuracy",
    SOFTMAX: "training_file labels_file lambda input_model_file "
        "output_model_file test_file test_labels_file predictions_file "
        "probabilities_file number_of_classes no_intercept",
    SVM: "training_file labels_file lambda delta num_classes no_intercept "
        "input_model_file output_model_file test_file test_labels_file "
        "predictions_file probabilities_file",
    FFN: "training_file labels_file test_file test_labels_file layers "
        "layers_file input_shape input_model_file output_model_file "
        "predictions_file probabilities_file"}


def help_case(program):
    def action(folder):
        result = well([our(program), "--help"], folder)
        expect(result.err == "", "nothing on standard error", result)
        for option in SHARED_OPTIONS + OPTIONS[program].split():
            expect(re.search(r"^  --%s( \(-.\))? \[" % option, result.out,
                             re.M), "option --%s, with its type" % option,
                   result)
        for line in result.out.split("\n"):
            expect(len(line) <= 80, "lines of at most 80 characters, not '%s'"
                   % line)
        path = os.path.join(HERE, "help", program + ".txt")
        # mlpack's way to wrap lines leaves blanks at their ends.
        text = re.sub(" +$", "", result.out, flags=re.M)
        if Setting.update:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, text)
        expect(os.path.exists(path), "a snapshot %s; --update-snapshots writes "
               "it" % path)
        expect(content(path).decode() == text, "the text of %s; if the "
               "new one is right, --update-snapshots keeps it" % path, result)
        short = well([our(program), "-h"], folder)
        expect(short.out == result.out, "the same from -h", short)
        both = well(mpi(2) + [our(program), "--help"], folder)
        expect(both.out.replace("\r", "") == result.out, "the same, once, on "
               "two ranks", both)
    case("help/" + program[len("mlpack_dasgd_"):], "--help is as it was, and "
         "has every option", action, light=True)


for program_ in PROGRAMS:
    help_case(program_)


def version(folder):
    for program in PROGRAMS:
        for option in ("--version", "-V"):
            result = well([our(program), option], folder)
            expect(re.fullmatch(program + r": part of dasgd \d+\.\d+\.\d+, "
                   r"with mlpack \d+\.\d+\.\d+\.?\n", result.out),
                   "'%s: part of dasgd X.Y.Z, with mlpack X.Y.Z.'" % program,
                   result)


def info(folder):
    entry = well([our(LR), "--info", "training_file"], folder)
    expect(entry.out.startswith("  --training_file (-t) [string]") and
           "Training data" in entry.out and "--labels" not in entry.out,
           "the description of --training_file alone", entry)
    for asked in ("t", "--training_file"):
        other = well([our(LR), "--info=" + asked], folder)
        expect(other.out == entry.out, "the same as of 'training_file'", other,
               entry)
    default = well([our(LR), "--info", "b"], folder)
    expect("--batch_size (-b) [int] " in default.out and "Default value 32." in
           " ".join(default.out.split()), "type and default of -b", default)


def verbose(folder):
    result = well(mpi(2) + [our(LR)] + training(LR, epochs=1) +
                  ["--output_model_file", "model.bin", "-v"], folder)
    text = result.out + result.err
    for line in ("Execution parameters:", "Program timers:",
                 "  total_time: ", "  logistic_regression_optimization: ",
                 "  loading_data: ", "  saving_data: ", "  batch_size: 16",
                 "  training_file: %s" % data("train.csv"),
                 "read '%s': %d points of 49 columns" % (data("train.csv"),
                                                         TRAIN),
                 "  output_model: 'model.bin'"):
        expect(text.count(line) == 1, "'%s', once" % line, result)
    expect("[INFO ]" in text, "mlpack's [INFO ]", result)
    quiet = well([our(LR)] + training(LR, epochs=1) +
                 ["--output_model_file", "model.bin"], folder)
    expect(quiet.out + quiet.err == "", "nothing without --verbose", quiet)


def aliases(folder):
    pairs = {
        LR: "t=training_file l=labels_file r=lambda=2 M=output_model_file "
            "T=test_file P=predictions_file p=probabilities_file "
            "L=test_labels_file d=decision_boundary=0.4 s=step_size=0.1 b=batch_size=8 "
            "e=tolerance=0.1 u=update=momentum g=topology=ring E=epochs=2 "
            "R=ranks=1 a=print_training_accuracy",
        SOFTMAX: "t=training_file l=labels_file r=lambda=0.01 "
            "M=output_model_file T=test_file P=predictions_file "
            "p=probabilities_file c=number_of_classes=10 N=no_intercept "
            "L=test_labels_file s=step_size=0.1 n=max_iterations=4000",
        SVM: "t=training_file l=labels_file r=lambda=0.01 d=delta=0.5 "
            "c=num_classes=10 N=no_intercept M=output_model_file T=test_file "
            "P=predictions_file p=probabilities_file L=test_labels_file "
            "s=step_size=0.1 n=max_iterations=4000",
        FFN: "t=training_file l=labels_file T=test_file L=test_labels_file "
            "M=output_model_file P=predictions_file p=probabilities_file "
            "s=step_size=0.1 n=max_iterations=4000 i=input_shape=7x7x1"}
    for program, text in pairs.items():
        values = {"training_file": data("train.csv"),
                  "labels_file": labels_of(program),
                  "test_file": data("test.csv"),
                  "test_labels_file": labels_of(program, "test"),
                  "output_model_file": "model.bin",
                  "predictions_file": "p.csv", "probabilities_file": "q.csv"}
        seen = []
        for long in (True, False):
            command = [our(program)]
            for pair in text.split():
                alias, name, *value = pair.split("=")
                command.append("--" + name if long else "-" + alias)
                command += value or ([values[name]] if name in values else [])
            command += ["--seed", 9]
            if program == FFN:
                command += ["--layers" if long else "-y",
                            "linear:10 logsoftmax"]
            result = well(command, folder)
            seen.append([content(folder, name)
                         for name in ("model.bin", "p.csv", "q.csv")])
        expect(seen[0] == seen[1], "the same outputs from aliases as from "
               "names", result)


def test_accuracy(folder):
    for program in (LR, SOFTMAX, SVM):
        result = well([our(program)] + training(program, epochs=2) +
                      ["--test_file", data("test.csv"), "--test_labels_file",
                       labels_of(program, "test"), "--predictions_file",
                       "p.csv", "--output_model_file", "model.bin"],
                      folder)
        truth = numbers(labels_of(program, "test"))
        right = round(share(numbers(folder, "p.csv"), truth) * len(truth))
        found = re.search(r"test accuracy \S+ % \((\d+) of (\d+)\)",
                          result.out)
        expect(found and int(found.group(1)) == right and
               int(found.group(2)) == len(truth) and
               "confusion matrix" in result.out,
               "an accuracy of %d of %d from %s" % (right, len(truth),
                                                    program), result)


case("version", "--version tells both versions", version, light=True)
case("info", "--info tells of one option, by name or alias", info, light=True)
case("verbose", "--verbose lists parameters and timers, once", verbose,
     light=True)
case("aliases", "-x means --name", aliases, light=True)
case("test_accuracy", "with labels of test points the accuracy is that of the "
     "predictions", test_accuracy, light=True)


def manuals(folder):
    for program in PROGRAMS:
        page = our(program + ".1")
        expect(os.path.exists(page), "the manual page " + page)
        text = content(page).decode()
        expect(text.startswith(".TH "), ".TH at the beginning of " + page)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLE",
                        "OPTIONAL INPUT OPTIONS"):
            expect(".SH %s\n" % section in text, ".SH %s in %s" % (section,
                                                                  page))
        for option in SHARED_OPTIONS + OPTIONS[program].split():
            expect("\\-\\-" + option in text, "--%s in %s" % (option, page))
        if shutil.which("man"):
            result = run(["env", "LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANWIDTH=80",
                          "man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8",
                          "-Z", page], folder)
            result.out = ""
            expect(result.status == 0 and result.err == "", "no warning",
                   result)


case("manuals", "every program has a manual page, which man reads without a "
     "warning", manuals, light=True)


#
# Mistakes.
#

# Each of them was once read as a number.
NO_NUMBERS = ("NA", ".", "n", "1e", "1.5f", "7A", "")


def given(program, **changes):
    """Options of a run that would succeed, but for the changes; None leaves an
    option out, True makes it a flag."""
    options = {"training_file": data("train.csv"),
               "labels_file": labels_of(program), "epochs": 1,
               "output_model_file": "model.bin", "test_file": data("test.csv"),
               "predictions_file": "predictions.csv",
               "report_file": "report.json", "trace_file": "trace.json"}
    if program == FFN:
        options["layers"] = LAYERS
    options.update(changes)
    words = []
    for name, value in options.items():
        if value is not None:
            words += ["--" + name] + ([] if value is True else [value])
    return words


def applying(program, model, **changes):
    """The same, to use a model."""
    return given(program, **dict({"training_file": None, "labels_file": None,
                                  "epochs": None, "layers": None,
                                  "output_model_file": None,
                                  "report_file": None, "trace_file": None,
                                  "input_model_file": model}, **changes))


def plain(text):
    """Without colours."""
    return re.sub(r"\033\[[\d;]*m", "", text)


def refused(folder, command, needles, before=()):
    """Non-zero, within a minute; one message that has all these words; nothing left."""
    for name in before:
        os.makedirs(os.path.join(folder, name))
    known = tree(folder)
    result = run(command, folder)
    expect(isinstance(result.status, int) and result.status != 0, "an exit "
           "status other than 0", result)
    # Under mpirun it may be another: while mpirun takes a failed job down, Open
    # MPI's own thread in a rank that is at MPI_Finalize() may crash.
    if command[0] != Setting.mpiexec:
        expect(result.status == 1, "exit status 1", result)
    expect(tree(folder) == known, "no file, not %s" % tree(folder), result)
    err, out = plain(result.err), plain(result.out)
    expect(err.count("[FATAL]") == 1 and "[FATAL]" not in out,
           "[FATAL] once, on standard error", result)
    message = err[err.index("[FATAL]"):].split("\n")[0]
    for needle in needles:
        expect(needle in message, "'%s' in the message" % needle, result)
    # Where mlpack's loaders tell more, they do so before.
    expect(err.count(message[len("[FATAL] "):]) == 1, "the message once",
           result)
    return message


def mistake(name, program, words, *needles, before=(), ranks=(1, 2),
            where=our):
    """A mistake that is the same on all ranks; words are found late, when data
    has a place."""
    for count in ranks:
        def action(folder, count=count):
            command = (mpi(count) if count > 1 else []) + [where(program)] + \
                words()
            return refused(folder, command, needles, before)
        case("mistake/%s/%d" % (name, count), "a mistake is told once, with "
             "its parameter, and leaves nothing", action, light=True)


mistake("missing_file", LR, lambda: given(LR, training_file="absent.csv"),
        "'--training_file (-t)'", "'absent.csv'", "No such file")
mistake("missing_labels", SOFTMAX,
        lambda: given(SOFTMAX, labels_file="absent.csv"),
        "'--labels_file (-l)'", "'absent.csv'")
mistake("missing_test", SVM, lambda: given(SVM, test_file="absent.csv"),
        "'--test_file (-T)'", "'absent.csv'")
mistake("missing_model", LR, lambda: applying(LR, "absent.bin"),
        "'--input_model_file (-m)'", "'absent.bin'")
mistake("missing_file_ffn", FFN, lambda: given(FFN, training_file="absent.csv"),
        "'--training_file (-t)'", "'absent.csv'", "No such file")
mistake("missing_layers_file", FFN,
        lambda: given(FFN, layers=None, layers_file="absent.txt"),
        "'--layers_file (-Y)'", "'absent.txt'")
mistake("empty_file", LR, lambda: given(LR, training_file=data("void.csv")),
        "'--training_file (-t)'", "void.csv'", "empty")
mistake("empty_file_ffn", FFN,
        lambda: given(FFN, training_file=data("void.csv")),
        "'--training_file (-t)'", "void.csv'", "empty")
mistake("directory", LR, lambda: given(LR, training_file="folder"),
        "'--training_file (-t)'", "'folder'", before=["folder"])
mistake("directory_ffn", FFN, lambda: given(FFN, training_file="folder.csv"),
        "'--training_file (-t)'", "'folder.csv'", before=["folder.csv"])
mistake("directory_model", LR, lambda: applying(LR, "folder.bin"),
        "'--input_model_file (-m)'", "'folder.bin'", before=["folder.bin"])
mistake("label_count", LR,
        lambda: given(LR, labels_file=data("short_labels.csv")),
        "'--labels_file (-l)'", "'--training_file (-t)'", str(TRAIN),
        str(TRAIN - 1))
mistake("label_count_ffn", FFN,
        lambda: given(FFN, labels_file=data("short_labels.csv")),
        "'--labels_file (-l)'", "'--training_file (-t)'", str(TRAIN),
        str(TRAIN - 1))
mistake("test_label_count_lr", LR,
        lambda: given(LR, test_labels_file=data("three.csv")),
        "'--test_labels_file (-L)'", "'--test_file (-T)'", str(TRAIN),
        str(TEST))
mistake("test_label_count", SOFTMAX,
        lambda: given(SOFTMAX, test_labels_file=data("three.csv")),
        "'--test_labels_file (-L)'", "'--test_file (-T)'", str(TRAIN),
        str(TEST))
mistake("label_range", LR, lambda: given(LR, labels_file=data("three.csv")),
        "'--labels_file (-l)'", "3 classes ('0', ..., '2')",
        "mlpack_dasgd_softmax_regression")
mistake("label_range_softmax", SOFTMAX,
        lambda: given(SOFTMAX, number_of_classes=5), "'--labels_file (-l)'",
        "10 classes", "'--number_of_classes (-c)'")
mistake("label_range_svm", SVM, lambda: given(SVM, num_classes=5),
        "'--num_classes (-c)'", "(5)", "10 different labels")
mistake("label_range_ffn", FFN,
        lambda: given(FFN, layers="linear:5 logsoftmax"),
        "'--labels_file (-l)'", "10 classes", "5 outputs")
mistake("negative_label", LR,
        lambda: given(LR, labels_file=data("negative.csv")),
        "'--labels_file (-l)'", "-1")
mistake("half_label", LR, lambda: given(LR, labels_file=data("half.csv")),
        "'--labels_file (-l)'", "0.5")
mistake("half_label_ffn", FFN, lambda: given(FFN,
        labels_file=data("half.csv")), "'--labels_file (-l)'", "0.5")
mistake("half_label_column", LR, lambda: given(
        LR, training_file=data("half_column.csv"), labels_file=None),
        "'--training_file (-t)'", "0.5")
mistake("topology", LR, lambda: given(LR, topology="star"),
        "'--topology (-g)'", "(star)")
mistake("topology_of_other_size", LR, lambda: given(LR, topology="mesh:3x3"),
        "'--topology (-g)'", "(mesh:3x3)", "9", ranks=(2,))
mistake("topology_file", LR, lambda: given(LR, topology="file:absent.txt"),
        "'--topology (-g)'", "absent.txt")
mistake("layer", FFN, lambda: given(FFN, layers="lineer:10 logsoftmax"),
        "'--layers (-y)'", "'lineer:10'", "did you mean 'linear'?")
mistake("layer_in_file", FFN, lambda: given(
        FFN, layers=None, layers_file=data("train_two.csv")),
        "'--layers_file (-Y)'", "layer 1")
mistake("no_layers_in_file", FFN, lambda: given(
        FFN, layers=None, layers_file=data("no_layers.txt")),
        "'--layers_file (-Y)'", "no layers")
mistake("no_layers", FFN, lambda: given(FFN, layers=None), "'--layers (-y)'",
        "'--layers_file (-Y)'")
mistake("shape", FFN, lambda: given(FFN, input_shape="8x8x1"),
        "'--input_shape (-i)'", "8x8x1", "64", "49")
mistake("shape_is_none", FFN, lambda: given(FFN, input_shape="7x-7"),
        "'--input_shape (-i)'", "7x-7")
mistake("shape_of_layers", FFN, lambda: given(
        FFN, input_shape="7x7x1", layers="conv:4x9x9 linear:10 logsoftmax"),
        "'--layers (-y)'", "conv:4x9x9", "9", "7")
mistake("shape_is_flat", FFN, lambda: given(
        FFN, layers="conv:4x3x3 linear:10 logsoftmax"), "'--layers (-y)'",
        "conv:4x3x3", "flat (49 values)")
mistake("too_many_ranks", LR, lambda: given(
        LR, training_file=data("three_points.csv"),
        labels_file=data("three_labels.csv"), ranks=4), "3 points", "4 ranks",
        "'--ranks", ranks=(1,))
mistake("too_many_ranks", LR, lambda: given(
        LR, training_file=data("two_points.csv"),
        labels_file=data("two_labels.csv")), "2 points", "3 ranks", "'--ranks",
        ranks=(3,))
mistake("no_folder", LR, lambda: given(
        LR, output_model_file="nowhere/model.bin"),
        "'--output_model_file (-M)'", "'nowhere/model.bin'", "No such file")
mistake("no_folder_predictions", SVM, lambda: given(
        SVM, predictions_file="nowhere/p.csv"), "'--predictions_file (-P)'",
        "'nowhere/p.csv'")
mistake("no_folder_report", SOFTMAX, lambda: given(
        SOFTMAX, report_file="nowhere/r.json"), "'--report_file", "nowhere")
mistake("no_folder_trace", FFN, lambda: given(FFN,
        trace_file="nowhere/t.json"), "'--trace_file", "nowhere")
mistake("output_is_folder", LR, lambda: given(
        LR, output_model_file="folder.bin"), "'--output_model_file (-M)'",
        "'folder.bin'", "directory", before=["folder.bin"])
mistake("report_is_folder", LR, lambda: given(LR, report_file="folder"),
        "'--report_file", "'folder'", "directory", before=["folder"])
mistake("output_ending", LR, lambda: given(LR, output_model_file="model.dat"),
        "'--output_model_file (-M)'", "'model.dat'", ".bin, .xml, .json")
mistake("output_ending_ffn", FFN, lambda: given(FFN,
        predictions_file="p.xyz"), "'--predictions_file (-P)'", "'p.xyz'",
        ".csv")
mistake("output_twice", LR, lambda: given(
        LR, predictions_file="o.csv", probabilities_file="o.csv"), "'o.csv'",
        "'--predictions_file (-P)'", "'--probabilities_file (-p)'")
mistake("input_ending", LR, lambda: given(
        LR, training_file=data("train.xyz")), "'--training_file (-t)'",
        "train.xyz'", ".csv")
mistake("model_ending", LR, lambda: applying(LR, data("train.csv")),
        "'--input_model_file (-m)'", "train.csv'", ".bin, .xml or .json")
for kind_ in ("cut", "garbage", "long"):
    for program_, name_ in ((LR, "lr"), (SOFTMAX, "softmax"), (SVM, "svm"),
                            (FFN, "ffn")):
        for ending_ in ("bin", "xml", "json"):
            file_ = "%s_%s.%s" % (kind_, name_, ending_)
            mistake("damaged/" + file_, program_, lambda program=program_,
                    file=file_: applying(program, data(file)),
                    "'--input_model_file (-m)'", file_ + "'",
                    ranks=(1, 2) if kind_ == "cut" and program_ == LR else
                    (1,))
for program_ in PROGRAMS:
    for other_, name_ in ((LR, "lr"), (SOFTMAX, "softmax"), (SVM, "svm"),
                          (FFN, "ffn")):
        if other_ == program_:
            continue
        for ending_ in ("bin", "json"):
            file_ = name_ + "." + ending_
            mistake("other_model/%s/%s" % (program_[len("mlpack_dasgd_"):],
                    file_), program_, lambda program=program_, file=file_:
                    applying(program, data(file)), "'--input_model_file (-m)'",
                    # A binary file does not tell what it is of: some load, and
                    # do not fit.
                    *(() if ending_ == "bin" else (file_ + "'",)),
                    ranks=(1, 2) if program_ == LR and other_ == SOFTMAX else
                    (1,))
mistake("batch_size", LR, lambda: given(LR, batch_size=-5),
        "'--batch_size (-b)'", "(-5)")
mistake("batch_size_zero", FFN, lambda: given(FFN, batch_size=0),
        "'--batch_size (-b)'", "(0)")
mistake("step_size", SVM, lambda: given(SVM, step_size="-0.1"),
        "'--step_size (-s)'", "-0.1")
mistake("lambda", SOFTMAX, lambda: given(SOFTMAX, **{"lambda": "-1"}),
        "'--lambda (-r)'", "-1")
mistake("update", LR, lambda: given(LR, update="adagrad"), "'--update (-u)'",
        "'adagrad'", "'momentum'")
mistake("sharing", LR, lambda: given(LR, sharing="fair"), "'--sharing'",
        "'fair'", "'dynamic'")
mistake("ranks", LR, lambda: given(LR, ranks=0), "'--ranks", "(0)")
mistake("ranks_differ", LR, lambda: given(LR, ranks=3), "'--ranks", "(3)",
        "2", ranks=(2,))
mistake("epochs_and_iterations", LR, lambda: given(LR, max_iterations=100),
        "'--max_iterations (-n)'", "'--epochs (-E)'")
mistake("test_dimensions", LR, lambda: given(LR, test_file=data("narrow.csv")),
        "'--test_file (-T)'", "(40)", "(49)")
mistake("test_dimensions_softmax", SOFTMAX, lambda: applying(
        SOFTMAX, data("softmax.bin"), test_file=data("narrow.csv")),
        "'--test_file (-T)'", "(40)", "(49)")
mistake("test_dimensions_svm", SVM, lambda: applying(
        SVM, data("svm.bin"), test_file=data("narrow.csv")),
        "'--test_file (-T)'", "(40)", "(49)")
mistake("test_dimensions_ffn", FFN, lambda: applying(
        FFN, data("ffn.bin"), test_file=data("narrow.csv")),
        "'--test_file (-T)'", "(40)", "(49)")
mistake("model_dimensions", LR, lambda: given(
        LR, training_file=data("narrow.csv"), input_model_file=data("lr.bin"),
        test_file=None, predictions_file=None), "'--input_model_file (-m)'",
        "49", "40")
mistake("nan", LR, lambda: given(LR, training_file=data("nan.csv")),
        "'--training_file (-t)'", "line 5, column 3 is 'nan'",
        "1 of %d lines" % TRAIN, "'--drop_incomplete'")
mistake("inf_ffn", FFN, lambda: given(FFN, training_file=data("inf.csv")),
        "'--training_file (-t)'", "row 5, column 3")
mistake("words", LR, lambda: given(LR, training_file=data("words.csv")),
        "'--training_file (-t)'", "words.csv'")
for number_, word_ in enumerate(NO_NUMBERS):
    for program_ in PROGRAMS:
        if program_ == LR or number_ % 4 == 0:
            mistake("no_number/%s/%d" % (program_[len("mlpack_dasgd_"):],
                    number_), program_, lambda program=program_,
                    file="no_number_%d.csv" % number_: given(
                        program, training_file=data(file)),
                    "'--training_file (-t)'", "line 5, column 3",
                    "'%s'" % word_ if word_ else "empty",
                    ranks=(1, 2) if number_ == 0 else (1,))
mistake("no_number_labels", LR, lambda: given(
        LR, labels_file=data("no_number_labels.csv")), "'--labels_file (-l)'",
        "3 classes ('0', ..., '7A')", ranks=(1,))
mistake("decimal_commas", SOFTMAX, lambda: given(
        SOFTMAX, training_file=data("decimal_commas.csv")),
        "line 1, column 1", "decimal points", ranks=(1,))
mistake("binary_text", FFN, lambda: given(
        FFN, training_file=data("binary.csv")), "'--training_file (-t)'",
        "no text", "another kind", ranks=(1,))
mistake("label_column", LR, lambda: given(
        LR, labels_file=None, label_column="kind"), "'--training_file (-t)'",
        "no column 'kind'", "'--label_column'", "there are 49", ranks=(1,))
mistake("quotes", FFN, lambda: given(FFN, layers=None) + [
        "--layers", "linear:10", "logsoftmax"], "--layers takes one value",
        "quotes", ranks=(1,))
mistake("no_value_given", LR, lambda: given(LR) + ["--step_size="],
        "--step_size", ranks=(1,))
for program_ in PROGRAMS:
    mistake("one_class/" + program_[len("mlpack_dasgd_"):], program_,
            lambda program=program_: given(
                program, labels_file=data("one_class.csv")),
            "'--labels_file (-l)'", "are 1;", "at least 2 classes", ranks=(1,))
for option_ in ("step_size", "epochs", "batch_size", "tolerance",
                "checkpoint_every", "threads", "seed", "ranks"):
    for value_ in ("", "nan", "inf", "0x10", "1,5", "ten"):
        mistake("value/%s/%s" % (option_, value_ or "empty"), SOFTMAX,
                lambda option=option_, value=value_: given(
                    SOFTMAX, **{option: value}), "'--%s" % option_,
                "('%s')" % value_, "number", ranks=(1,))
mistake("output_is_input", LR, lambda: given(LR, predictions_file=data(
        "test.csv")), "'--predictions_file (-P)'", "the input of "
        "'--test_file (-T)'", ranks=(1,))
mistake("output_is_input_ffn", FFN, lambda: given(FFN, predictions_file=data(
        "test.csv")), "'--predictions_file (-P)'", "the input of "
        "'--test_file (-T)'", ranks=(1,))
mistake("output_is_model", LR, lambda: given(
        LR, input_model_file=data("lr.bin"), report_file=data("lr.bin")),
        "'--report_file'", "the input of '--input_model_file (-m)'", ranks=(1,))
for output_ in ("report_file", "trace_file", "history_file",
                "checkpoint_file"):
    for program_ in (SOFTMAX, FFN):
        mistake("input_as/%s/%s" % (output_, program_[len("mlpack_dasgd_"):]),
                program_, lambda program=program_, output=output_: given(
                    program, **{output: data("train.csv")}),
                "'--%s'" % output_, "the input of '--training_file (-t)'",
                ranks=(1,))
mistake("words_ffn", FFN, lambda: given(FFN, training_file=data("words.csv")),
        "'--training_file (-t)'", "words.csv'")
for ending_ in ("", ".gz"):
    mistake("idx_cut" + ending_, FFN, lambda ending=ending_: given(
            FFN, training_file=data("cut-images-idx3-ubyte" + ending),
            labels_file=data("train-labels-idx1-ubyte")),
            "'--training_file (-t)'", "cut-images-idx3-ubyte" + ending_,
            "damaged")
mistake("idx_cut_labels", FFN, lambda: given(
        FFN, training_file=data("train-images-idx3-ubyte"),
        labels_file=data("cut-labels-idx1-ubyte")), "'--labels_file (-l)'",
        "cut-labels-idx1-ubyte", "damaged")
mistake("idx_without_labels", FFN, lambda: given(
        FFN, training_file=data("train-images-idx3-ubyte"), labels_file=None),
        "'--labels_file (-l)'", "'--training_file (-t)'")
mistake("idx_mixed_up", FFN, lambda: given(
        FFN, training_file=data("train-labels-idx1-ubyte"),
        labels_file=data("train-images-idx3-ubyte")),
        "train-labels-idx1-ubyte", "mixed up")
mistake("option", LR, lambda: given(LR, trainin=data("train.csv")),
        "--trainin", "did you mean '--training_file'?")
mistake("option_near", FFN, lambda: given(FFN, epoch=1), "--epoch",
        "did you mean '--epochs'?")
mistake("no_value", LR, lambda: given(LR) + ["--seed"], "--seed")
mistake("nothing", LR, lambda: [], "'--training_file (-t)'",
        "'--input_model_file (-m)'")
mistake("info", SVM, lambda: ["--info", "lamda"], "lamda")
mistake("diverged", FFN, lambda: given(FFN, step_size="3e300"),
        "Training diverged on rank ", " at step ", "try --step_size ")


# mlpack's own programs know nothing of ranks; the front end does.
STOCK_ONLY = {"epochs": None, "report_file": None, "trace_file": None}
mistake("stock/missing_file", LR, lambda: given(
        LR, training_file="absent.csv", **STOCK_ONLY),
        "'--training_file (-t)'", "'absent.csv'", where=stock)
mistake("stock/optimizer", LR, lambda: given(
        LR, optimizer="newton", **STOCK_ONLY), "'--optimizer (-O)'",
        "newton", where=stock)
mistake("stock/label_count", LR, lambda: given(
        LR, labels_file=data("short_labels.csv"), **STOCK_ONLY), "same number",
        where=stock)
mistake("stock/no_folder", SVM, lambda: given(
        SVM, output_model_file="nowhere/model.bin", **STOCK_ONLY),
        "'--output_model_file (-M)'", "'nowhere/model.bin'", where=stock)


def mistakes_by_ranks(folder):
    """A mistake that is found before ranks are started, and one after."""
    refused(folder, [our(LR)] + given(LR, batch_size=-5, ranks=2),
            ["'--batch_size (-b)'", "(-5)"])
    return refused(folder, [our(LR)] + given(
        LR, labels_file=data("three.csv"), ranks=2), ["'--labels_file (-l)'"])


case("mistake/ranks/--ranks", "with --ranks, too, a mistake is told once",
     mistakes_by_ranks, light=True)


#
# Data as people have it.
#

KINDS = ("bag", "boot", "coat")


def flowers(count, seed):
    """Points of four numbers, the first of them large, with a word each."""
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        kind = chance.randrange(3)
        rows.append([round(chance.gauss(mean, 0.25), 3) for mean in (
            (5, 3.4, 1.4, 0.2), (5.9, 2.7, 4.2, 1.3), (6.6, 3, 5.5, 2))[kind]] +
            [KINDS[kind]])
    return rows


HEADER = ["length", "width", "petal length", "petal width", "kind"]


def people_program(program):
    """A program, for these points, and how many kinds it can tell."""
    return [our(program), "--seed", 1, "--epochs", 30, "--step_size", 0.1] + (
        ["--layers", "linear:8 relu linear:3 logsoftmax"]
        if program == FFN else [])


def npy_of(kind, shape, values):
    """An array as numpy.save() writes it."""
    head = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (
        {"d": "f8", "q": "i8"}[kind], shape)
    head = head.ljust(117) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + \
        head.encode() + struct.pack("<%d%s" % (len(values), kind), *values)


def words_case(program):
    def action(folder):
        rows, tests = flowers(400, 1), flowers(200, 2)
        if program == LR:
            rows = [row for row in rows if row[-1] != "coat"]
            tests = [row for row in tests if row[-1] != "coat"]
        write(os.path.join(folder, "train.csv"), text_of([HEADER] + rows))
        # In another order, as the header says.
        write(os.path.join(folder, "test.csv"),
              text_of(row[::-1] for row in [HEADER] + tests))
        write(os.path.join(folder, "bare.csv"),
              text_of(row[:-1] for row in tests))
        notes = []
        for ranks in (1, 2):
            trained = well(people_program(program) + [
                "--ranks", ranks, "--training_file", "train.csv", "--test_file",
                "test.csv", "--standardize", "--output_model_file", "model.bin",
                "--predictions_file", "p.csv"], folder)
            expect(re.search(r"test accuracy 9\d|test accuracy 100",
                             trained.out) and re.search(
                r"\n +bag +boot", trained.out), "an accuracy of 90 % or more, "
                "and a table with names", trained)
            predicted = content(folder, "p.csv").decode().split()
            right = sum(one == row[-1] for one, row in zip(predicted, tests))
            expect("(%d of %d)" % (right, len(tests)) in trained.out,
                   "predictions in words, as good as is said", trained)
            # The model, alone, with points that have neither names nor labels.
            for launch in ([], mpi(2)):
                again = well(launch + [
                    our(program), "--input_model_file", "model.bin",
                    "--test_file", "bare.csv", "--predictions_file", "q.csv"],
                    folder)
                expect(content(folder, "q.csv") == content(folder, "p.csv"),
                       "the same predictions", again)
            notes.append("%.3f" % (right / len(tests)))
        # Names belong to one model; one without any leaves none behind.
        os.rename(os.path.join(folder, "model.bin.names"),
                  os.path.join(folder, "names"))
        well([our(program)] + given(program, test_file=None,
                                    predictions_file=None, report_file=None,
                                    trace_file=None), folder)
        os.rename(os.path.join(folder, "names"),
                  os.path.join(folder, "model.bin.names"))
        refused(folder, [our(program), "--input_model_file", "model.bin",
                         "--test_file", data("test.csv"), "--predictions_file",
                         "r.csv"], ["'model.bin.names'", "another model"])
        well([our(program)] + given(program, test_file=None,
                                    predictions_file=None, report_file=None,
                                    trace_file=None), folder)
        expect("model.bin.names" not in tree(folder), "no names of another "
               "model, not %s" % tree(folder))
        return ", ".join(notes)
    return action


for program_ in PROGRAMS:
    case("data/words/" + program_[len("mlpack_dasgd_"):], "a header and words "
         "for labels are read, and predictions are words",
         words_case(program_), light=True)


def unknown_columns(folder):
    """A column that the model does not know is neither labels nor a value."""
    rows, tests = flowers(300, 1), flowers(100, 2)
    write(os.path.join(folder, "train.csv"), text_of([HEADER] + rows))
    well(people_program(SVM) + ["--training_file", "train.csv",
                                    "--output_model_file", "model.bin"], folder)
    write(os.path.join(folder, "bare.csv"),
          text_of(row[:-1] for row in [HEADER] + tests))
    use = [our(SVM), "--input_model_file", "model.bin", "--test_file"]
    well(use + ["bare.csv", "--predictions_file", "p.csv"], folder)
    # Labels by another name, or no labels, in their place and in another one.
    for name, header, at in (("species", HEADER[:-1] + ["species"], 4),
                             ("id", ["id"] + HEADER[:-1], 0)):
        values = tests if at else [[7] + row[:-1] for row in tests]
        write(os.path.join(folder, "test.csv"), text_of([header] + values))
        result = well(use + ["test.csv", "--predictions_file", "q.csv"], folder)
        told = plain(result.out + result.err)
        expect("accuracy" not in told and "'%s'" % name in told and
               "left out" in told and "'--label_column'" in told,
               "no accuracy, but a warning that names the column", result)
        expect(content(folder, "q.csv") == content(folder, "p.csv"),
               "the same predictions", result)
    write(os.path.join(folder, "test.csv"),
          text_of([HEADER[:-1] + ["species"]] + tests))
    result = well(use + ["test.csv", "--label_column", "species"], folder)
    expect("test accuracy" in result.out, "labels of that name", result)
    # Nothing asked for.
    result = well(use + ["bare.csv"], folder)
    expect("'--predictions_file (-P)'" in plain(result.out + result.err),
           "a warning", result)
    refused(folder, use + ["test.csv", "--label_column", "kinds"], [
        "no column 'kinds'", "'species'"])
    # More training: the last column is not that of the labels.
    more = [our(SVM), "--input_model_file", "model.bin", "--epochs", 1,
            "--output_model_file", "more.bin", "--training_file"]
    write(os.path.join(folder, "first.csv"), text_of(
        [["kind"] + HEADER[:-1] + ["note"]] +
        [row[-1:] + row[:-1] + ["boot"] for row in rows]))
    result = well(more + ["first.csv"], folder)
    expect("'note'" in plain(result.out + result.err), "a warning", result)
    write(os.path.join(folder, "others.csv"), text_of(
        [HEADER[:-1] + ["note"]] + [row[:-1] + ["boot"] for row in rows]))
    refused(folder, more + ["others.csv"], [
        "no column 'kind'", "'--label_column'", "'note'"])


def lost_names(folder):
    """Without its file of names, a model does not know words."""
    rows = [[row[0], "red" if row[2] < 3 else "blue", row[-1]]
            for row in flowers(300, 1)]
    write(os.path.join(folder, "train.csv"), text_of(rows))
    well(people_program(SVM) + ["--training_file", "train.csv",
                                "--output_model_file", "model.bin"], folder)
    write(os.path.join(folder, "test.csv"), text_of(row[:2] for row in rows))
    use = [our(SVM), "--input_model_file", "model.bin", "--test_file",
           "test.csv", "--predictions_file", "p.csv"]
    well(use, folder)
    os.remove(os.path.join(folder, "p.csv"))
    os.rename(os.path.join(folder, "model.bin.names"),
              os.path.join(folder, "names"))
    refused(folder, use, ["column 2 holds words", "'.names'"])


case("data/lost_names", "words are refused where those of the model are lost",
     lost_names, light=True)
case("data/unknown_columns", "columns that the model does not know are told, "
     "and are no labels", unknown_columns, light=True)


def label_numbers(folder):
    """Labels 1 to 3, and -1 and 1, are told by their numbers."""
    for program in PROGRAMS:
        for names in ((-1, 1),) + (((1, 2, 3),) if program != LR else ()):
            points = [row for row in flowers(300, 1)
                      if KINDS.index(row[-1]) < len(names)]
            for row in points:
                row[-1] = names[KINDS.index(row[-1])]
            write(os.path.join(folder, "train.csv"), text_of(points))
            write(os.path.join(folder, "first.csv"),
                  text_of([row[-1]] + row[:-1] for row in [HEADER] + points))
            for words in (["--training_file", "train.csv", "--test_file",
                           "train.csv"],
                          ["--training_file", "first.csv", "--test_file",
                           "first.csv", "--label_column", "kind"],
                          ["--training_file", "first.csv", "--test_file",
                           "first.csv", "--label_column", "1"]):
                result = well(people_program(program) + words + [
                    "--standardize", "--output_model_file", "model.bin",
                    "--predictions_file", "p.csv"], folder)
                right = sum(one == row[-1] for one, row in
                            zip(numbers(folder, "p.csv"), points))
                expect("(%d of %d)" % (right, len(points)) in result.out and
                       right > 0.9 * len(points), "predictions by the numbers "
                       "in the file", result)


case("data/label_numbers", "labels need not be numbered from 0",
     label_numbers, light=True)


def incomplete(folder):
    rows = flowers(200, 1)
    for number, (row, column, missing) in enumerate((
            (3, 2, "NA"), (7, 0, ""), (9, 4, "?"), (9, 1, "nan"))):
        rows[row][column] = missing
    write(os.path.join(folder, "bad.csv"), text_of([HEADER] + rows))
    words = ["--training_file", "bad.csv", "--output_model_file", "model.bin"]
    refused(folder, people_program(SOFTMAX) + words, [
        "3 of 200 lines", "'bad.csv'", "line 5, column 3 ('petal length') is "
        "'NA'", "'--drop_incomplete'"])
    result = well(people_program(SOFTMAX) + words + ["--drop_incomplete"],
                  folder)
    expect("3 of 200 lines" in result.out + result.err, "how many are left out",
           result)
    model = content(folder, "model.bin")
    write(os.path.join(folder, "good.csv"), text_of(
        [HEADER] + [row for i, row in enumerate(rows) if i not in (3, 7, 9)]))
    words[1] = "good.csv"
    well(people_program(SOFTMAX) + words, folder)
    expect(content(folder, "model.bin") == model, "the model of the others",
           result)


case("data/incomplete", "missing values are counted, and left out if so asked",
     incomplete, light=True)


def formats(folder):
    """The same points in all formats give the same model."""
    rows = flowers(300, 1)
    for row in rows:
        row[-1] = KINDS.index(row[-1])
    text = text_of([HEADER] + rows)
    write(os.path.join(folder, "a.csv"), text)
    write(os.path.join(folder, "b.csv.gz"), gzip.compress(text.encode()))
    write(os.path.join(folder, "c.tsv"), text_of([HEADER] + rows, "\t"))
    write(os.path.join(folder, "d.npy"), npy_of(
        "d", (len(rows), 5), [float(x) for row in rows for x in row]))
    write(os.path.join(folder, "e.npy"), npy_of(
        "d", (len(rows), 4), [float(x) for row in rows for x in row[:-1]]))
    write(os.path.join(folder, "labels.npy"), npy_of(
        "q", (len(rows),), [row[-1] for row in rows]))
    head = "@relation flowers\n" + "".join(
        "@attribute '%s' %s\n" % (name, "numeric" if name != "kind" else
                                 "{0,1,2}") for name in HEADER) + "@data\n"
    write(os.path.join(folder, "f.arff"), head + text_of(rows))
    # As R writes it: the numbers of lines in a column without a name.
    write(os.path.join(folder, "g.csv"), text_of(
        [['"%s"' % word for word in [""] + HEADER]] +
        [['"%d"' % (i + 1)] + row for i, row in enumerate(rows)]))
    models = {}
    for name in ("a.csv", "b.csv.gz", "c.tsv", "d.npy", "e.npy", "f.arff",
                 "g.csv"):
        result = well(people_program(SOFTMAX) + [
            "--training_file", name, "--output_model_file", "model.bin"] +
            (["--labels_file", "labels.npy"] if name[0] == "e" else []), folder)
        models[name] = content(folder, "model.bin")
        expect(models[name] == models["a.csv"], "the model of a.csv", result)
    # Words in columns of points.
    for row in rows:
        row[1] = "wide" if row[1] > 3 else "narrow"
    write(os.path.join(folder, "a.csv"), text_of([HEADER] + rows))
    write(os.path.join(folder, "f.arff"), head.replace(
        "'width' numeric", "'width' {narrow, wide}") + text_of(rows))
    for name in ("a.csv", "f.arff"):
        result = well(people_program(SOFTMAX) + [
            "--training_file", name, "--test_file", name,
            "--output_model_file", "model.bin"], folder)
        models[name] = content(folder, "model.bin")
        expect(models[name] == models["a.csv"] and re.search(
            r"accuracy (9\d|100)", result.out), "a good model, the same of "
            "both", result)
    rows[7][1] = "huge"
    write(os.path.join(folder, "test.csv"), text_of([HEADER] + rows))
    result = well([our(SOFTMAX), "--input_model_file", "model.bin",
                   "--test_file", "test.csv"], folder)
    expect("'huge', which the model was not trained with" in
           result.out + result.err, "a warning of a word", result)


case("data/formats", "CSV with gzip, TSV, NumPy's arrays and ARFF are the same "
     "to a training", formats, light=True)


def shards_of_words(folder):
    """No rank has all classes."""
    rows = flowers(300, 1)
    for rank, kinds in enumerate((KINDS[:2], KINDS[1:])):
        write(os.path.join(folder, "part_%d.csv" % rank), text_of(
            [HEADER] + [row for row in rows if row[-1] in kinds]))
    write(os.path.join(folder, "test.csv"), text_of([HEADER] + rows))
    result = well(people_program(SOFTMAX) + [
        "--ranks", 2, "--sharded", "--training_file", "part_{rank}.csv",
        "--test_file", "test.csv", "--standardize", "--output_model_file",
        "model.bin"], folder)
    expect(re.search(r"accuracy (9\d|8[5-9])", result.out), "a model of all "
           "three", result)


case("data/shards", "shards may have different classes", shards_of_words,
     light=True)


def standardized(folder):
    """Columns of very different scales."""
    notes = []
    for program in PROGRAMS:
        sets = []
        for seed in (1, 2):
            rows = [[row[0] * 1e5, row[1] * 1e-3] + row[2:]
                    for row in flowers(400, seed)
                    if program != LR or row[-1] != "coat"]
            for row in rows:
                row[-1] = KINDS.index(row[-1])
            sets.append(rows)
        write(os.path.join(folder, "train.csv"), text_of(sets[0]))
        write(os.path.join(folder, "test.csv"),
              text_of(row[:-1] for row in sets[1]))
        write(os.path.join(folder, "labels.csv"),
              text_of(row[-1:] for row in sets[1]))
        words = people_program(program) + ["--training_file", "train.csv"]
        told = run(words + ["--output_model_file", "model.bin"], folder)
        expect("differ in scale by 10^8" in told.out + told.err and
               "try --standardize" in told.out + told.err,
               "what is wrong with the columns", told)
        if program == SOFTMAX:
            refused(folder, words + ["--output_model_file", "m.bin"],
                    ["diverged", "column 1 goes to", "try --standardize"])
        tests = ["--test_file", "test.csv", "--predictions_file", "p.csv"]
        result = well(words + tests + [
            "--standardize", "--test_labels_file", "labels.csv",
            "--output_model_file", "model.bin"], folder)
        accuracy = float(re.search(r"accuracy (\S+) %", result.out).group(1))
        notes.append("%.1f %%" % accuracy)
        expect(accuracy > 90, "an accuracy of more than 90 %", result)
        expected = content(folder, "p.csv")
        # The model holds for data as it is, in mlpack's own program as well,
        # and when it is trained further.
        if program in STOCK:
            own = well([stock(program), "--input_model_file", "model.bin"] +
                       tests, folder)
            expect([float(x) for x in content(folder, "p.csv").split()] ==
                   [float(x) for x in expected.split()],
                   "mlpack's own predictions", own)
        if program != SOFTMAX:
            more = well([our(program), "--input_model_file", "model.bin",
                         "--training_file", "train.csv", "--standardize",
                         "--step_size", 1e-12, "--max_iterations", 400,
                         "--output_model_file", "more.bin"] + tests, folder)
            expect(content(folder, "p.csv") == expected, "the same, trained "
                   "further by next to nothing", more)
    refused(folder, [our(FFN)] + given(
        FFN, standardize=True, input_shape="7x7x1",
        layers="conv:4x3x3 linear:10 logsoftmax"), ["'--standardize'",
        "'Convolution'"])
    return ", ".join(notes)


case("data/standardize", "--standardize trains where scales differ, and the "
     "model holds for the data as it is", standardized, light=True)


def defaults(folder):
    """How long, unless told otherwise; and why it stopped."""
    for ranks in (1, 2):
        result = well([our(SOFTMAX)] + given(SOFTMAX, epochs=None, ranks=ranks,
                                             tolerance=-1), folder)
        report = json.loads(content(folder, "report.json"))
        expect(report["points"] == 100000 and re.search(
            r"stopped after 50 epochs, as the last one made the loss \S+ % "
            r"(smaller|larger); mean loss \S+; --epochs 150 goes on",
            result.out), "100,000 points, and a line on it", result)
    write(os.path.join(folder, "many.csv"), text_of(
        [[i % 7, i % 3]] for i in ()) + "".join(
            "%d,%d,%d\n" % (i % 7, i % 3, i % 2) for i in range(12000)))
    for ranks in (1, 2):
        result = well([our(LR), "--training_file", "many.csv", "--tolerance",
                       -1, "--report_file", "report.json", "--ranks", ranks],
                      folder)
        report = json.loads(content(folder, "report.json"))
        # Of several ranks, some have begun the next epoch before they hear.
        points, most = report["points"], (120000 if ranks == 1 else 600000)
        said = re.search(r"stopped after (\d+) epochs, as the last one \D+"
                         r"[\d.]+ % \w+; mean loss (\S+);", result.out)
        expect(120000 <= points <= most and said and
               int(said.group(1)) == points // 12000,
               "10 epochs of many points that teach nothing", result)
        # log(2), however little of the next epoch was done.
        for loss in (float(said.group(2)), report["mean_loss"]):
            expect(abs(loss - 0.693) < 0.02,
                   "the mean loss of the last whole epoch", result)
    # A training that is resumed counts what was before, once.
    for epochs in (10, 20):
        result = well([our(LR), "--training_file", "many.csv", "--tolerance",
                       -1, "--checkpoint_file", "state"], folder)
        expect("stopped after %d epochs" % epochs in result.out,
               "%d epochs in all" % epochs, result)
    expect("--standardize" not in result.out + result.err, "no advice", result)
    write(os.path.join(folder, "large.csv"), "".join(
        "%d,%d,%d\n" % (i % 7 * 15, i % 3, i % 2) for i in range(12000)))
    result = well([our(LR), "--training_file", "large.csv", "--tolerance", -1],
                  folder)
    expect(re.search(r"Values of .* are large .*; try --standardize",
                     result.out + result.err), "advice", result)
    result = well([our(LR)] + given(LR, epochs=9, tolerance=1e9), folder)
    expect(re.search(r"stopped after \d epochs?, as the last one changed the "
                     r"objective by less than --tolerance 1e\+09", result.out),
           "why it stopped early", result)
    result = well([our(LR)] + given(LR, epochs=2), folder)
    expect(result.out == "", "nothing if that was asked for", result)


case("defaults", "training stops by default when an epoch gains little, "
     "and says so", defaults, light=True)


def colours(folder):
    """Only for terminals, and only if wanted."""
    command = [our(LR)] + given(LR, training_file="absent.csv")
    for words in (command, mpi(2) + command, command + ["--ranks", 2]):
        result = run(words, folder)
        expect("[FATAL]" in result.err and "\033" not in result.err,
               "no codes in a pipe", result)
    for words in ([], mpi(2)):
        result = well(words + [our(LR)] + given(LR) + ["--verbose"], folder)
        expect("[INFO ]" in result.out and "\033" not in result.out,
               "no codes in a pipe", result)
    expect("\033[" in on_terminal(command, folder).err, "colours on a terminal")
    shown = on_terminal(["env", "NO_COLOR=1"] + command, folder)
    expect("\033" not in shown.err, "none with NO_COLOR", shown)


case("colours", "colours are for terminals", colours, light=True)


def completion(folder):
    """As bash asks for it."""
    for program in PROGRAMS:
        script = well([our(program), "--bash_completion"], folder).out
        write(os.path.join(folder, "script"), script)
        result = well(["bash", "--norc", "-c", ". ./script; COMP_WORDS=(%s "
                       "--max_); COMP_CWORD=1; _%s; echo ${COMPREPLY[@]}" %
                       (program, program)], folder)
        expect(result.out.split() == ["--max_iterations", "--max_ranks"],
               "both options", result)


case("completion", "bash completes options", completion, light=True)


#
# Shards.
#

def shards(folder):
    notes = []
    for program in (LR, FFN):
        labels = "shard_two_{rank}.csv" if program == LR else \
            "shard_labels_{rank}.csv"
        for launch in ("--ranks", "mpiexec"):
            words = given(program, training_file=data("shard_{rank}.csv"),
                          labels_file=data(labels), sharded=True,
                          epochs=EPOCHS[program], seed=3, trace_file=None,
                          tolerance=-1) + OPTIMIZER[program] + \
                OBJECTIVE[program]
            command = [our(program)] + words + ["--ranks", 2] \
                if launch == "--ranks" else mpi(2) + [our(program)] + words
            result = well(command, folder)
            report = json.loads(content(folder, "report.json"))
            expect(report["data"] == "sharded" and report["epoch_points"] ==
                   TRAIN, "a report of sharded data, %d points" % TRAIN,
                   result)
            truth = numbers(labels_of(program, "test"))
            accuracy = share(numbers(folder, "predictions.csv"), truth)
            base = share(serial_predictions(program), truth)
            notes.append("%.3f, whole %.3f" % (accuracy, base))
            expect(accuracy >= base - WORSE, "an accuracy as with whole data, "
                   + notes[-1], result)
    return "; ".join(notes)


case("sharded/trains", "two shards give a model as good as all data", shards)


def small_shard(folder):
    """One rank has fewer points than make a batch."""
    lines = {}
    for kind in ("", "labels_"):
        for rank in (0, 1):
            text = content(data("shard_%s%d.csv" % (kind, rank)))
            lines[kind, rank] = text.splitlines(True)[:100 if rank == 0 else 5]
            write(os.path.join(folder, "part_%s%d.csv" % (kind, rank)),
                  b"".join(lines[kind, rank]))
    for update in ("sgd", "adam"):
        well([our(SOFTMAX), "--ranks", 2, "--sharded", "--training_file",
              "part_{rank}.csv", "--labels_file", "part_labels_{rank}.csv",
              "--number_of_classes", 10, "--batch_size", 32, "--epochs", 2,
              "--update", update, "--step_size", 0.001,
              "--output_model_file", "model.bin"], folder)


case("sharded/small", "a shard smaller than a batch is no reason to disagree",
     small_shard, light=True)


def shard_mistake(name, program, needles, **changes):
    for launch in ("--ranks", "mpiexec"):
        def action(folder, launch=launch):
            words = given(program, sharded=True, **{
                key: data(value) for key, value in changes.items()})
            command = [our(program)] + words + ["--ranks", 2] \
                if launch == "--ranks" else mpi(2) + [our(program)] + words
            return refused(folder, command, needles)
        case("sharded/%s/%s" % (name, launch), "what is wrong on one rank is "
             "told once, with the rank", action, light=True)


for program_, labels_ in ((LR, "shard_two_{rank}.csv"),
                          (FFN, "shard_labels_{rank}.csv")):
    suffix_ = "_ffn" if program_ == FFN else ""
    shard_mistake("missing" + suffix_, program_, ["rank 1", "lonely_1.csv'",
                  "'--training_file (-t)'"],
                  training_file="lonely_{rank}.csv", labels_file=labels_)
    shard_mistake("dimensions" + suffix_, program_, ["49 dimensions on rank 0",
                  "40 on rank 1", "'--training_file (-t)'"],
                  training_file="narrow_{rank}.csv", labels_file=labels_)
shard_mistake("labels", LR, ["'--labels_file (-l)'", "('0', ..., '7')"],
              training_file="shard_{rank}.csv",
              labels_file="bad_two_{rank}.csv")
shard_mistake("labels_missing", SVM, ["rank 1", "'--labels_file (-l)'",
              "lonely_1.csv'"], training_file="shard_{rank}.csv",
              labels_file="lonely_{rank}.csv")


#
# Accounts of a training.
#

def accounts(folder):
    for ranks in (1, 2, 3):
        clear(folder)
        result = well([our(SOFTMAX)] + given(SOFTMAX, ranks=ranks), folder)
        expect(tree(folder) == ["model.bin", "predictions.csv", "report.json",
                                "trace.json"], "four files, not %s" %
               tree(folder), result)
        report = json.loads(content(folder, "report.json"))
        expect(report["ranks"] == ranks and report["epoch_points"] == TRAIN and
               report["points"] >= TRAIN, "a report of %d ranks and %d points"
               % (ranks, TRAIN), result)
        trace = json.loads(content(folder, "trace.json"))
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        tracks = {(event.get("pid"), event.get("tid")) for event in events
                  if event.get("ph") == "X"}
        expect(len(tracks) == ranks, "a trace with %d tracks, not %d" %
               (ranks, len(tracks)), result)


def report_words(folder):
    """The report speaks of what the user gave."""
    for program in PROGRAMS:
        labels = {"test_labels_file": labels_of(program, "test")}
        well([our(program)] + given(program, step_size=0.25, batch_size=16,
                                    seed=5, **labels), folder)
        report = json.loads(content(folder, "report.json"))
        expect(report["program"] == program and report["step_size"] == 0.25 and
               report["batch_size"] == 16 and report["seed"] == 5 and
               report["update"] == "sgd" and
               0 < report["mean_loss"] < 5 and
               0.3 < report["test_accuracy"] <= 1 and
               set(report["versions"]) == {"dasgd", "mlpack", "ensmallen",
                                           "armadillo", "mpi"},
               "a report in the words of %s, not %s" % (program, report))


def mean_loss(folder):
    """It is that of a point, however much of an epoch there was."""
    losses = []
    for points in (TRAIN, TRAIN + TRAIN // 4, 2 * TRAIN):
        well([our(SOFTMAX)] + given(SOFTMAX, epochs=None, max_iterations=points,
                                    seed=2, tolerance=-1), folder)
        losses.append(json.loads(content(folder, "report.json"))["mean_loss"])
    expect(losses[2] * 0.8 < losses[1] < losses[0] * 1.2,
           "a loss between those of whole epochs, not %s" % losses)


def unknown_labels(folder):
    """Labels that no model predicts are told."""
    result = well([our(LR)] + given(LR, test_labels_file=data("twelve.csv")),
                  folder)
    expect("are none that the model was trained with" in result.err + result.out,
           "a warning", result)


def one_thread(folder):
    """One thread unless asked otherwise."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS",
             "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    cores = os.cpu_count()
    for words, chosen, one, two in (
            ([], [], 1, 1), (["--threads", 2], [], 2, max(1, cores // 2)),
            ([], ["OPENBLAS_NUM_THREADS=2"], 2, 2)):
        for ranks, threads in ((1, one), (2, two)):
            well(["env"] + [word for name in names for word in ("-u", name)] +
                 chosen + [our(SOFTMAX)] + given(SOFTMAX, ranks=ranks) + words,
                 folder)
            used = json.loads(content(folder, "report.json"))["blas_threads"]
            expect(used in (None, min(threads, cores)),
                   "%d threads at %d ranks, not %s" % (threads, ranks, used))


def history_file(folder):
    """What is recorded can be looked at."""
    well([our(SVM)] + given(SVM, ranks=2, history_file="history.txt"), folder)
    result = well([our("dasgd_history"), "history.txt"], folder)
    expect("rank" in result.out, "a table", result)


def sample(folder):
    """The first steps of the README."""
    script = os.path.join(HERE, "..", "..", "examples", "sample_data.sh")
    well([script, "sample"], folder)
    result = well([our(LR), "--ranks", 2, "--epochs", 10, "--training_file",
                   "sample/train.csv", "--labels_file",
                   "sample/train_labels.csv", "--test_file", "sample/test.csv",
                   "--test_labels_file", "sample/test_labels.csv",
                   "--output_model_file", "model.bin"], folder)
    found = re.search(r"test accuracy (\S+) %", result.out)
    expect(found and float(found.group(1)) > 85, "an accuracy above 85 %",
           result)


case("mean_loss", "the mean loss is that of a point", mean_loss, light=True)
case("unknown_labels", "test labels that the model does not know are told",
     unknown_labels, light=True)
case("sample", "the README's data and command work", sample, light=True)
case("report", "reports speak of the options that were given", report_words,
     light=True)
case("threads", "one thread for linear algebra unless asked for more",
     one_thread, light=True)
case("history_file", "--history_file is what dasgd_history reads", history_file,
     light=True)
case("accounts", "--report_file and --trace_file are JSON, of all ranks",
     accounts, light=True)


#
# Progress.
#

PROGRESS = re.compile(r"epoch \d+/\d+  loss \d+\.\d+  \d+ gradients/s  "
                      r"staleness \d+\.\d  \d+:\d\d left")


def on_terminal(command, folder, timeout=60, columns=0):
    """Run with a terminal for standard error; its text is that of both."""
    command = [str(word) for word in command]
    begin = time.monotonic()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    process = start(command, folder, stdout=slave, stderr=slave)
    os.close(slave)
    text = b""
    try:
        while time.monotonic() < begin + timeout:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                piece = os.read(master, 65536)
            except OSError:
                break  # Linux says so when nobody has it open any more.
            if not piece:
                break
            text += piece
        process.wait(max(0.1, begin + timeout - time.monotonic()))
    except subprocess.TimeoutExpired:
        end_job(process)
    finally:
        os.close(master)
    return Result(command, process.returncode, "", text.decode(),
                  time.monotonic() - begin)


def progress(folder):
    words = training(LR, epochs=5) + ["--output_model_file", "model.bin",
                                      "--progress"]
    for command in ([our(LR)] + words, [our(LR)] + words + ["--ranks", 2],
                    mpi(2) + [our(LR)] + words):
        shown = on_terminal(command, folder)
        expect(shown.status == 0, "exit status 0", shown)
        lines = PROGRESS.findall(shown.err)
        expect(len(lines) >= 5, "a line of progress for each of 5 epochs, at "
               "least", shown)
        expect(lines[-1].startswith("epoch 5/5 "), "the last epoch at the "
               "end", shown)
        expect(shown.err.count("\n") == 1, "one line, rewritten", shown)
        quiet = well(command, folder)
        expect(quiet.out + quiet.err == "", "nothing without a terminal", quiet)
    return lines[-1]


case("progress", "--progress shows one line on a terminal, and else nothing",
     progress)


#
# Networks.
#

def ffn_layers_file(folder):
    models = []
    for words in ({}, {"layers": None, "layers_file": data("layers.txt")},
                  {"input_shape": "49"}):
        result = well([our(FFN)] + given(FFN, seed=4, **words), folder)
        models.append(content(folder, "model.bin"))
        expect(models[-1] == models[0], "the model of --layers alone", result)
    expect(re.search(r"1 +Linear +32 +1600\b", result.out) and
           re.search(r"3 +Linear +10 +330\b", result.out) and
           re.search(r"Total +1930\b", result.out), "a table of layers with "
           "32 and 10 outputs, 1930 parameters in all", result)


def ffn_shape(folder):
    result = well([our(FFN)] + given(FFN, input_shape="7x7x1", ranks=2,
                  layers="conv:4x3x3 relu maxpool:2x2 linear:10 logsoftmax",
                  test_labels_file=labels_of(FFN, "test")), folder)
    # 5x5x4 after the convolution, 2x2x4 after pooling.
    for row in (r"Convolution +5x5x4 +40\b", r"MaxPooling +2x2x4 +0\b",
                r"Linear +10 +170\b", r"Total +210\b"):
        expect(len(re.findall(row, result.out)) == 1, "a row '%s', once" % row,
               result)
    confusion(folder, result)


def confusion(folder, result):
    """The table must agree with the predictions that were saved."""
    found = re.search(r"test accuracy (\d+\.\d+) % \((\d+) of (\d+)\)",
                      result.out)
    expect(found, "the accuracy", result)
    rows = [[int(word) for word in match.group(2).split()]
            for match in re.finditer(
                r"^ +(\d+)((?: +\d+){10}) +\d+\.\d %$", result.out, re.M)]
    expect(len(rows) == 10, "ten rows of the confusion matrix", result)
    truth = numbers(labels_of(FFN, "test"))
    mine = numbers(folder, "predictions.csv")
    counts = [[0] * 10 for _ in range(10)]
    for label, predicted in zip(truth, mine):
        counts[label][predicted] += 1
    expect(rows == counts, "the confusion matrix of the predictions, %s" %
           counts, result)
    right = sum(counts[i][i] for i in range(10))
    expect(sum(map(sum, rows)) == TEST and int(found.group(3)) == TEST and
           int(found.group(2)) == right and
           found.group(1) == "%.2f" % (100 * right / TEST),
           "%d right of %d" % (right, TEST), result)


def ffn_models(folder):
    seen = []
    for ending in ("bin", "xml", "json"):
        trained = well([our(FFN)] + given(
            FFN, seed=4, output_model_file="model." + ending,
            probabilities_file="probabilities.csv"), folder)
        loaded = well([our(FFN)] + prediction("model." + ending, "loaded") +
                      ["--test_labels_file", labels_of(FFN, "test")], folder)
        expect(content(folder, "predictions.csv") ==
               content(folder, "loaded.csv"), "the same predictions of the "
               "loaded model", trained, loaded)
        seen.append((content(folder, "probabilities.csv"),
                     content(folder, "loaded_probabilities.csv")))
        # Whoever writes digits may lose some.
        expect(ending != "bin" or seen[-1][0] == seen[-1][1], "the same "
               "probabilities", trained, loaded)
        shutil.copy(os.path.join(folder, "loaded.csv"),
                    os.path.join(folder, "predictions.csv"))
        confusion(folder, loaded)


def ffn_continues(folder):
    first = well([our(FFN)] + given(FFN, epochs=2, seed=4), folder)
    more = well([our(FFN)] + given(
        FFN, layers=None, epochs=10, input_model_file="model.bin",
        output_model_file="more.bin", predictions_file="more.csv", ranks=2) +
        OPTIMIZER[FFN], folder)
    truth = numbers(labels_of(FFN, "test"))
    before = share(numbers(folder, "predictions.csv"), truth)
    after = share(numbers(folder, "more.csv"), truth)
    expect(after > before, "a better model, not %.3f after %.3f" %
           (after, before), first, more)
    return "%.3f, then %.3f" % (before, after)


def ffn_idx(folder):
    seen = []
    for ending in ("", ".gz"):
        result = well([our(FFN)] + given(
            FFN, training_file=data("train-images-idx3-ubyte" + ending),
            labels_file=data("train-labels-idx1-ubyte" + ending),
            test_file=data("test-images-idx3-ubyte" + ending),
            test_labels_file=data("test-labels-idx1-ubyte" + ending),
            layers="meanpool:4x4 linear:10 logsoftmax", epochs=3, seed=5) +
            OPTIMIZER[FFN], folder)
        seen.append((content(folder, "model.bin"),
                     content(folder, "predictions.csv"), result.out))
    expect(seen[0] == seen[1], "the same from compressed files", result)
    expect(re.search(r"MeanPooling +7x7x1 ", result.out), "images of 28x28 "
           "without --input_shape", result)
    expect(re.search(r"test accuracy \d+\.\d+ % \(\d+ of 300\)", result.out),
           "an accuracy on 300 images", result)


case("ffn/layers_file", "--layers_file, with comments, is --layers",
     ffn_layers_file, light=True)
case("ffn/input_shape", "--input_shape makes images of rows; layers are "
     "listed with their parameters", ffn_shape, light=True)
case("ffn/models", "a saved network predicts as the trained one did",
     ffn_models, light=True)
case("ffn/continues", "a saved network can be trained further",
     ffn_continues, light=True)
case("ffn/idx", "IDX files are read, compressed or not", ffn_idx, light=True)


#
# Ranks that are killed.
#

def killed_case(name, promise, by_mpiexec, victim):
    """
    victim: the rank that is killed, or None to ask the launcher to end.
    """
    ranks = 3

    def action(folder):
        old = b"a model from before"
        write(os.path.join(folder, "model.bin"), old)
        command = (mpi(ranks) if by_mpiexec else []) + [our(SOFTMAX)] + \
            given(SOFTMAX, epochs=1000000, tolerance=-1, trace_file=None) + \
            ([] if by_mpiexec else ["--ranks", ranks])
        command = [str(word) for word in command]
        begin = time.monotonic()
        # To files: a pipe would be held open by whoever is left.
        with open(os.path.join(folder, "out"), "wb") as out, \
                open(os.path.join(folder, "err"), "wb") as err:
            process = start(command, folder, stdout=out, stderr=err)
        known = tree(folder)

        def result(status):
            return Result(command, status, content(folder, "out").decode(),
                          content(folder, "err").decode(),
                          time.monotonic() - begin)

        try:
            busy = await_event(lambda: workers(process.pid), 30)
            expect(busy and process.poll() is None, "three ranks at work",
                   result(process.poll()))
            job = descendants(process.pid)
            if victim is None:
                process.terminate()
            else:
                os.kill(busy[victim], signal.SIGKILL)
            try:
                status = process.wait(30)
            except subprocess.TimeoutExpired:
                raise Failed("  expected: an end within 30 s\n" +
                             result("none").text())
            expect(status != 0, "a status other than 0", result(status))
            # Whoever is reaped by another parent needs a moment.
            await_event(lambda: not alive(job), 10)
            expect(not alive(job), "no process of the job left, not %s" %
                   alive(job), result(status))
        finally:
            if process.poll() is None:
                end_job(process)
        expect(tree(folder) == known, "no new file, not %s" %
               sorted(set(tree(folder)) - set(known)), result(status))
        expect(content(folder, "model.bin") == old, "the old model",
               result(status))
        return "status %s" % status

    def workers(pid):
        """{rank: process}, if all have computed for a while."""
        table = processes()
        found = {}
        for number in descendants(pid):
            try:
                if os.readlink("/proc/%d/exe" % number) != \
                        os.path.realpath(our(SOFTMAX)):
                    continue
                environment = content("/proc/%d/environ" % number).decode(
                    errors="replace").split("\0")
            except OSError:
                continue
            for variable in environment:
                match = re.fullmatch(
                    r"(?:OMPI_COMM_WORLD_RANK|PMI_RANK|PMI_ID)=(\d+)",
                    variable)
                if match and number in table and table[number][3] > 0.5:
                    found[int(match.group(1))] = number
        return found if len(found) == ranks else None

    case("killed/" + name, promise, action)


killed_case("rank_2", "when a rank dies, the job ends and leaves what was "
            "there", False, 2)
killed_case("rank_0/mpiexec", "so it does when the rank dies that writes",
            True, 0)
killed_case("launcher", "a job that is told to end does so and leaves what was "
            "there", False, None)


#
# Checkpoints.
#

def checkpointed(epochs, *more):
    return [our(SOFTMAX)] + training(SOFTMAX, epochs) + [
        "--seed", 3, "--output_model_file", "model.bin", "--report_file",
        "report.json", "--checkpoint_file", "state.checkpoint",
        "--checkpoint_every", "0.05"] + list(more)


def worker_of(pid, rank):
    """The process of a rank below this one, or None."""
    for number in descendants(pid):
        try:
            if os.readlink("/proc/%d/exe" % number) != \
                    os.path.realpath(our(SOFTMAX)):
                continue
            environment = content("/proc/%d/environ" % number).decode(
                errors="replace").split("\0")
            if any("%s=%d" % (name, rank) in environment for name in
                   ("OMPI_COMM_WORLD_RANK", "PMI_RANK")):
                return number
        except OSError:
            continue
    return None


def resumed(folder):
    """What is done once is not done again."""
    well(checkpointed(2), folder)
    first = json.loads(content(folder, "report.json"))
    expect(not first["resumed"] and first["checkpoints"] >= 1,
           "a first training with checkpoints")
    model = content(folder, "model.bin")
    again = well(checkpointed(2), folder)
    expect("resuming from checkpoint state.checkpoint after %d points; "
           "training is already complete; raise --epochs, or use --restart" %
           (2 * TRAIN) in again.err,
           "to be told that nothing is left to do", again)
    expect(content(folder, "model.bin") == model, "the same model", again)
    longer = well(checkpointed(3, "--ranks", 2), folder)
    report = json.loads(content(folder, "report.json"))
    expect(report["resumed"] and report["ranks_before"] == 1 and
           report["points_before"] == 2 * TRAIN and
           report["points"] == 3 * TRAIN, "a report that counts on", longer)
    anew = well(checkpointed(1, "--restart"), folder)
    report = json.loads(content(folder, "report.json"))
    expect(not report["resumed"] and report["points"] == TRAIN,
           "a training that begins anew", anew)
    expect(sorted(os.listdir(folder)) == ["model.bin", "report.json",
                                          "state.checkpoint"],
           "no other file than these, not %s" % os.listdir(folder), anew)


def tied(folder):
    """A checkpoint is of one job."""
    well(checkpointed(2), folder)
    model = content(folder, "model.bin")
    files = tree(folder)
    changed = list(numbers(labels_of(SOFTMAX)))
    changed[TRAIN // 3] = (changed[TRAIN // 3] + 1) % 10
    write(os.path.join(folder, "labels.csv"),
          text_of([int(x)] for x in changed))
    files = tree(folder)
    for words, name, values in (
            (["--step_size", 0.5], "--step_size", ("0.002", "0.5")),
            (["--update", "momentum"], "--update", ("'sgd'", "'momentum'")),
            (["--batch_size", 16], "--batch_size", ("was 1,", "16")),
            (["--lambda", 0.5], "--lambda", ("0.01", "0.5")),
            (["--seed", 4], "--seed", ("3", "4")),
            (["--no_intercept"], "", ("",)),
            (["--labels_file", "labels.csv"], "check sum of the labels",
             ("",))):
        command = checkpointed(2)
        for word in words[::2]:
            if word in command:
                at = command.index(word)
                del command[at:at + 2]
        result = run([str(word) for word in command + words], folder)
        text = plain(result.err)
        expect(result.status == 1 and "cannot resume from checkpoint "
               "state.checkpoint: it is of" in text and name in text and
               all(value in text for value in values) and
               "use --restart to start over" in text,
               "a refusal that names %s" % name, result)
        expect(content(folder, "model.bin") == model and
               tree(folder) == files, "the model of before", result)
    # What is no checkpoint is nobody's to replace.
    write(os.path.join(folder, "state.checkpoint"), "precious\n")
    result = run([str(word) for word in checkpointed(1, "--restart")], folder)
    expect(result.status == 1 and "is not a checkpoint, and is not replaced" in
           result.err and content(folder, "state.checkpoint") == b"precious\n",
           "a file that is not replaced", result)


def diverged_checkpoint(folder):
    """What was good before is kept, and the advice is one that works."""
    well(checkpointed(1), folder)
    good = content(folder, "state.checkpoint")
    os.rename(os.path.join(folder, "state.checkpoint"),
              os.path.join(folder, "kept"))
    command = [our(FFN)] + given(FFN, step_size="1e300",
                                 checkpoint_file="state.checkpoint",
                                 checkpoint_every=0)
    result = run([str(word) for word in command], folder)
    there = os.path.exists(os.path.join(folder, "state.checkpoint"))
    expect(result.status == 1 and "try --step_size " in result.err and
           (not there or " and --restart; 'state.checkpoint' keeps the last "
            "state" in plain(result.err)), "advice with --restart", result)
    expect(good == content(folder, "kept"), "the other file as it was", result)


def two_jobs(folder):
    """Two jobs on one checkpoint: the second is refused."""
    command = [str(word) for word in checkpointed(100000)]
    first = start(command, folder, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE)
    try:
        expect(await_event(lambda: os.path.exists(os.path.join(
            folder, "state.checkpoint")), 30), "a checkpoint within 30 s")
        second = run(command, folder)
        expect(second.status == 1 and "is in use by process %d on " % first.pid
               in plain(second.err) and "name another file" in second.err,
               "a refusal that names the process", second)
    finally:
        first.kill()
        first.communicate()
    # The lock of a process that was killed is nobody's.
    third = run([str(word) for word in checkpointed(1)], folder)
    expect(third.status == 0, "a training that resumes it", third)


case("checkpoint/tied", "a checkpoint is resumed only by the job that it is of",
     tied, light=True)
case("checkpoint/diverged", "a divergence leaves what was good, and says what "
     "to do", diverged_checkpoint, light=True)
case("checkpoint/two_jobs", "two jobs do not share a checkpoint", two_jobs,
     light=True)
case("checkpoint/resumed", "a training goes on from its checkpoint, at any "
     "number of ranks", resumed, light=True)


def killed_when_saved(command, folder):
    """Run a job, and kill its rank 1 as soon as there is a checkpoint: what the
    job did, and the processes that it had then."""
    command = [str(word) for word in command]
    process = start(command, folder, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE)
    path = os.path.join(folder, "state.checkpoint")
    begin = time.monotonic()
    try:
        number = await_event(lambda: os.path.exists(path) and
                             worker_of(process.pid, 1), 30)
        expect(number, "a rank 1 and a checkpoint within 30 s")
        job = descendants(process.pid)
        os.kill(number, signal.SIGKILL)
        out, err = process.communicate(timeout=90)
    finally:
        if process.poll() is None:
            end_job(process)
    return Result(command, process.returncode, out.decode(), err.decode(),
                  time.monotonic() - begin), job


def restarted(folder):
    result, job = killed_when_saved(
        checkpointed(400, "--ranks", 2, "--restarts", 1), folder)
    expect(result.status == 0, "that it is started again, and ends well",
           result)
    lines = [line for line in result.err.splitlines() if "died" in line]
    expect(len(lines) == 1 and re.fullmatch(
        r"dasgd: rank 1 died \(signal 9, Killed\), and the job with it; the "
        r"last checkpoint is state.checkpoint, \d+ s old; starting again "
        r"from it \(1 of 1\)", lines[0]), "one line on it", result)
    expect("noticed that process" not in result.err, "none of mpirun's own",
           result)
    report = json.loads(content(folder, "report.json"))
    expect(report["resumed"] and report["points"] == 400 * TRAIN,
           "a report of all points", result)
    expect(not alive(job), "no process left of the first job", result)
    expect(sorted(os.listdir(folder)) == ["model.bin", "report.json",
                                          "state.checkpoint"],
           "nothing half-written, not %s" % os.listdir(folder), result)


case("checkpoint/restarted", "a rank that dies costs no more than the time "
     "since the last checkpoint", restarted)


def not_restarted(folder):
    result, job = killed_when_saved(mpi(2) + checkpointed(4000), folder)
    expect(result.status != 0, "a status other than 0", result)
    expect("the last checkpoint is state.checkpoint" in result.err,
           "the place of the checkpoint", result)
    await_event(lambda: not alive(job), 10)
    expect(not alive(job), "no process left", result)


case("checkpoint/mpiexec", "where all ranks end, the last word is where the "
     "checkpoint is", not_restarted)

def interrupted(folder):
    """SIGTERM and SIGUSR1, to the program or to one of its ranks."""
    path = os.path.join(folder, "state.checkpoint")
    for ranks, launcher, whom, number in (
            (1, [], "program", signal.SIGTERM),
            (2, [], "program", signal.SIGTERM),
            (2, [], 1, signal.SIGUSR1),
            (2, mpi(2), 1, signal.SIGTERM)):
        command = launcher + checkpointed(1000000) + (
            [] if launcher or ranks == 1 else ["--ranks", ranks])
        command = [str(word) for word in command]
        process = start(command, folder, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
        begin = time.monotonic()
        try:
            victim = await_event(lambda: os.path.exists(path) and (
                process.pid if whom == "program" else
                worker_of(process.pid, whom)), 30)
            expect(victim, "a process and a checkpoint within 30 s")
            job = descendants(process.pid)
            sent = time.monotonic()
            os.kill(victim, number)
            out, err = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                end_job(process)
        result = Result(command, process.returncode, out.decode(),
                        err.decode(), time.monotonic() - begin)
        expect(result.status == 75, "status 75", result)
        lines = [line for line in result.err.splitlines()
                 if line.startswith("dasgd: ended by signal %d, " % number)]
        expect(len(lines) == 1 and "the last checkpoint is state.checkpoint" in
               lines[0] and lines[0].endswith("; run the same command to "
                                              "resume"),
               "one line on it", result)
        expect(launcher or len(result.err.splitlines()) == 1, "nothing else",
               result)
        await_event(lambda: not alive(job), 10)
        expect(not alive(job), "no process left", result)
        expect(os.listdir(folder) == ["state.checkpoint"],
               "nothing but the checkpoint, not %s" % os.listdir(folder),
               result)
        # It goes on to more points than it had.
        again = run(checkpointed(1), folder)
        expect(again.status == 0 and "resuming from checkpoint" in again.err,
               "a training that knows of it", again)
        report = json.loads(content(folder, "report.json"))
        expect(report["resumed"] and report["points"] > 0,
               "points that were counted", again)
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))


case("checkpoint/interrupted", "a signal ends a training such that it can be "
     "resumed", interrupted)


def elastic(folder):
    """More and fewer ranks while it trains, none of whose work is lost."""
    path = os.path.join(folder, "ranks")
    write(path, "2\n")
    command = [str(word) for word in checkpointed(
        600, "--elastic", "--ranks_file", "ranks", "--min_ranks", 1,
        "--max_ranks", 3)]
    with open(os.path.join(folder, "said"), "wb") as said:
        process = start(command, folder, stdout=subprocess.PIPE, stderr=said)
    begin = time.monotonic()
    def ranks():
        return sum(worker_of(process.pid, rank) is not None
                   for rank in range(4))
    def checkpoint():
        try:
            return os.stat(os.path.join(folder,
                                        "state.checkpoint")).st_mtime_ns
        except OSError:
            return 0
    try:
        for number in (2, 3, 1):
            write(path + ".new", "%d\n" % number)
            os.rename(path + ".new", path)
            expect(await_event(lambda: ranks() == number, 30),
                   "%d ranks, not %d" % (number, ranks()))
            # They train: there is another checkpoint.
            before = checkpoint()
            expect(await_event(lambda: checkpoint() > before, 30),
                   "a new checkpoint of %d ranks" % number)
        # With none it waits.
        write(path + ".new", "0\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: ranks() == 0 and b"waiting for more" in
                           content(folder, "said"), 30), "no rank")
        write(path + ".new", "1\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: ranks() == 1, 30), "1 rank again")
        before = checkpoint()
        expect(await_event(lambda: checkpoint() > before, 30),
               "that it goes on after a pause")
        # What cannot be read changes nothing; too many are not started.
        write(path + ".new", "many\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: b"many" in content(folder, "said"), 30),
               "a word on what cannot be read")
        before = checkpoint()
        expect(await_event(lambda: checkpoint() > before, 30),
               "that one rank goes on")
        write(path + ".new", "200\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: ranks() == 3, 30), "3 ranks")
        before = checkpoint()
        expect(await_event(lambda: checkpoint() > before, 30),
               "that three ranks go on")
        os.kill(await_event(lambda: worker_of(process.pid, 2), 10),
                signal.SIGKILL)
        out, _ = process.communicate(timeout=240)
    finally:
        if process.poll() is None:
            end_job(process)
    result = Result(command, process.returncode, out.decode(),
                    content(folder, "said").decode(),
                    time.monotonic() - begin)
    expect(result.status == 0, "a good end", result)
    said = [line for line in result.err.splitlines()
            if line.startswith("dasgd: ")]
    expect([line for line in said if "now" in line] == [
        "dasgd: now %s, as ranks says; starting again from state.checkpoint" %
        text for text in ("3 ranks", "1 rank", "3 ranks")] and
        [line for line in said if "many" in line] == [
            "dasgd: ranks: it holds 'many' in place of a number of ranks; it "
            "stays at 1 rank"] and
        sum("rank 2 died (signal 9, Killed)" in line for line in said) == 1 and
        sum("0 ranks, fewer than --min_ranks 1; waiting" in line
            for line in said) == 1 and
        len(said) == 6, "a line on each change", result)
    report = json.loads(content(folder, "report.json"))
    expect(report["points"] == 600 * TRAIN and report["resumed"],
           "every point of every epoch", result)


case("elastic/ranks_file", "a training goes on with more and fewer ranks",
     elastic)


def ranks_command(folder):
    """A command says how many ranks there are."""
    path = os.path.join(folder, "ranks")
    saved = os.path.join(folder, "state.checkpoint")
    write(path, "localhost slots=2\n")
    command = [str(word) for word in checkpointed(
        100000, "--elastic", "--ranks_command", "cat ranks")]
    with open(os.path.join(folder, "said"), "wb") as said:
        process = start(command, folder, stdout=subprocess.DEVNULL, stderr=said)
    def ranks():
        return sum(worker_of(process.pid, rank) is not None
                   for rank in range(4))
    try:
        expect(await_event(lambda: ranks() == 2, 30), "two ranks")
        write(path + ".new", "3\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: ranks() == 3, 30), "three ranks")
        # They train: there is another checkpoint.
        before = os.stat(saved).st_mtime_ns
        expect(await_event(lambda: os.stat(saved).st_mtime_ns > before, 30),
               "a checkpoint of three ranks")
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    finally:
        if process.poll() is None:
            end_job(process)
    result = Result(command, process.returncode, "",
                    content(folder, "said").decode(), 0)
    expect(result.status == 75 and "dasgd: now 3 ranks, as cat ranks says;"
           in result.err, "a change and its reason", result)
    result = run(checkpointed(20, "--elastic", "--ranks_command", "exit 3"),
                 folder)
    expect(result.status == 1 and "'--ranks_command': failed with status 3!" in
           result.err, "the failure of a command", result)


case("elastic/ranks_command", "a command says how many ranks there are",
     ranks_command)


def hostfile(folder):
    write(os.path.join(folder, "hosts"),
          "# this machine\nlocalhost slots=2\n")
    result = run(checkpointed(20, "--hostfile", "hosts"), folder)
    expect(result.status == 0, "a good end", result)
    report = json.loads(content(folder, "report.json"))
    expect(report["ranks"] == 2, "two ranks", result)
    for text, words in (("", "it names no machine"),
                        ("localhost slots=0", "'0' is not a number of ranks"),
                        ("localhost:x", "'x' is not a number of ranks")):
        write(os.path.join(folder, "hosts"), text + "\n")
        result = run(checkpointed(20, "--hostfile", "hosts"), folder)
        expect(result.status == 1 and words in result.err and
               "'--hostfile'" in result.err and
               len(result.err.splitlines()) == 1, "'%s'" % words, result)


case("elastic/hostfile", "machines come from a file", hostfile)


def unreachable(folder):
    """Machines that do not answer are left out."""
    agent = os.path.join(folder, "agent")
    write(agent, "#!/bin/sh\nexit 1\n")
    os.chmod(agent, 0o755)
    write(os.path.join(folder, "hosts"), "lost:3\nlocalhost slots=2\n")
    os.environ["OMPI_MCA_plm_rsh_agent"] = agent
    os.environ["HYDRA_LAUNCHER_EXEC"] = agent
    try:
        result = run(checkpointed(20, "--hostfile", "hosts", "--elastic"),
                     folder)
    finally:
        del os.environ["OMPI_MCA_plm_rsh_agent"]
        del os.environ["HYDRA_LAUNCHER_EXEC"]
    expect(result.status == 0 and result.err == "dasgd: without lost, which "
           "cannot be reached (\"%s lost true\" fails): 2 ranks\n" % agent,
           "the rest", result)
    report = json.loads(content(folder, "report.json"))
    expect(report["ranks"] == 2, "two ranks", result)


case("elastic/unreachable", "machines that cannot be reached are left out",
     unreachable)

mistake("elastic_alone", SOFTMAX,
        lambda: given(SOFTMAX, elastic=True), "'--elastic'", "'--hostfile'",
        "'--ranks_file'")
mistake("ranks_command_and_file", SOFTMAX,
        lambda: given(SOFTMAX, elastic=True, checkpoint_file="c",
                      ranks_file="r", ranks_command="echo 2"),
        "'--ranks_command'", "'--ranks_file'")
mistake("min_ranks_alone", SOFTMAX,
        lambda: given(SOFTMAX, min_ranks=2, ranks=2), "'--min_ranks'",
        "'--elastic'")
mistake("checkpoint_alone", SOFTMAX,
        lambda: given(SOFTMAX, checkpoint_every=5),
        "'--checkpoint_every'", "'--checkpoint_file'")
mistake("restarts_alone", SOFTMAX,
        lambda: given(SOFTMAX, checkpoint_file="c", restarts=5),
        "'--restarts'", "'--ranks'")
mistake("checkpoint_folder", SOFTMAX,
        lambda: given(SOFTMAX, checkpoint_file="no/such/file"),
        "'no/such/file'", "'--checkpoint_file'", "No such file")
mistake("checkpoint_foreign", SOFTMAX,
        lambda: given(SOFTMAX, checkpoint_file=data("void.csv")),
        "cannot resume from checkpoint", "it is not a checkpoint",
        "--restart")


#
# How programs end, and what they leave.
#

def told_once(folder):
    """One line on standard error, whoever notices, and none of mpirun's."""
    shards = dict(sharded=True, labels_file=data("shard_labels_{rank}.csv"))
    for words in (
            # Before ranks are started, by all of them, and by one.
            dict(batch_size=-5),
            dict(labels_file=data("three.csv"), number_of_classes=2),
            dict(training_file=data("three_points.csv"),
                 labels_file=data("three_labels.csv"), ranks=4,
                 number_of_classes=10, test_file=None, predictions_file=None),
            dict(training_file=data("lonely_{rank}.csv"), **shards),
            dict(training_file=data("narrow_{rank}.csv"), **shards),
            # With a checkpoint there are other ways to end.
            dict(labels_file=data("three.csv"), number_of_classes=2,
                 checkpoint_file="state", restarts=1)):
        command = [our(SOFTMAX)] + given(SOFTMAX, **dict({"ranks": 2}, **words))
        refused(folder, command, [])
        result = run(command, folder)
        lines = [line for line in plain(result.err).splitlines()
                 if line.strip()]
        expect(result.status == 1 and len(lines) == 1 and
               lines[0].startswith("[FATAL] ") and result.out == "",
               "status 1 and one line", result)


case("told_once", "with --ranks a mistake is one line, and nothing of mpirun's "
     "follows", told_once, light=True)


def before_ranks(folder):
    """Nobody starts ranks for what can be known without data."""
    stub = write(os.path.join(folder, "mpirun"), "#!/bin/sh\n"
                 "touch '%s/started'\nexit 9\n" % folder)
    os.chmod(stub, 0o755)

    def result_of(**words):
        return run(["env", "DASGD_MPIRUN=" + stub, our(SOFTMAX)] + given(
            SOFTMAX, **dict({"ranks": 2}, **words)), folder)

    for words, needles in (
            ({"lambda": -1}, ["'--lambda", "(-1)"]),
            ({"number_of_classes": 1}, ["'--number_of_classes", "(1)"]),
            ({"input_model_file": data("softmax.bin")},
             ["'--input_model_file (-m)'", "'--training_file (-t)'"]),
            ({"ranks": 5000}, ["'--ranks'", "(5000)", "%d core" %
                               len(os.sched_getaffinity(0)), "at most"]),
            ({"ranks": 70000}, ["'--ranks'", "(70000)", "1 to 65536"]),
            ({"topology": "star"}, ["'--topology", "(star)"])):
        result = result_of(**words)
        message = plain(result.err)
        expect(result.status == 1 and message.count("[FATAL]") == 1 and
               all(needle in message for needle in needles),
               "one message with %s" % needles, result)
        expect(not os.path.exists(os.path.join(folder, "started")),
               "that mpirun is not started", result)
    # Warnings are the ranks': they are not there twice.
    result = result_of(output_model_file=None)
    expect(os.path.exists(os.path.join(folder, "started")) and
           "[WARN ]" not in plain(result.err), "that mpirun is started, and "
           "nothing said before", result)
    expect(result.status == 9, "the status of mpirun", result)


case("before_ranks", "what needs no data is checked before ranks are started",
     before_ranks, light=True)


def narrow(folder):
    words = training(SOFTMAX, epochs=5) + ["--output_model_file", "model.bin",
                                      "--progress"]
    for columns, pattern in (
            (100, PROGRESS),
            (60, re.compile(r"epoch 5/5  loss \d+\.\d+  \d+ gradients/s  "
                            r"\d+:\d\d left")),
            (40, re.compile(r"epoch 5/5  loss \d+\.\d+  \d+:\d\d left")),
            (24, re.compile(r"epoch 5/5  \d+:\d\d left")),
            (12, re.compile(r"epoch 5/5"))):
        for command in ([our(SOFTMAX)] + words,
                        [our(SOFTMAX)] + words + ["--ranks", 2],
                        mpi(2) + [our(SOFTMAX)] + words,
                        ["env", "COLUMNS=%d" % columns, our(SOFTMAX)] + words):
            shown = on_terminal(command, folder, columns=0 if command[0] ==
                                "env" else columns)
            # There may be warnings as well.  They go to standard output, as
            # mlpack's do, and mpiexec may pass them on before the end of the
            # line of progress, which goes to standard error.
            lines = [line for line in re.split(r"[\r\n]+|\[WARN \]",
                                               plain(shown.err))
                     if line.startswith("epoch")]
            expect(shown.status == 0 and lines and
                   max(map(len, lines)) < columns,
                   "lines of less than %d characters" % columns, shown)
            expect(pattern.fullmatch(lines[-1].rstrip()), "a last line %s" %
                   pattern.pattern, shown)
    return lines[-1]


case("progress/narrow", "the line of progress fits the terminal", narrow)


class Terminal:
    """A shell with job control on a terminal of its own, as users have it."""

    def __init__(self, folder):
        self.master, slave = pty.openpty()
        self.text = ""
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "--noediting", "-i"], cwd=folder,
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env=dict(os.environ, PS1="", PS2="", HISTFILE=""),
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern, seconds=30):
        """Wait for some text, and take all up to its end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.text)
            if found:
                before = self.text[:found.end()]
                self.text = self.text[found.end():]
                return before
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.master, 65536).decode(
                        errors="replace")
                except OSError:
                    break
        raise Failed("  expected: '%s' on the terminal, not '%s'" %
                     (pattern, self.text[-500:]))

    def close(self):
        if self.shell.poll() is None:
            end_job(self.shell)
        os.close(self.master)


def states(pid):
    """The states of all programs of ours below a process."""
    table = processes()
    found = []
    for number in descendants(pid):
        try:
            mine = os.readlink("/proc/%d/exe" % number) == \
                os.path.realpath(our(SOFTMAX))
        except OSError:
            continue
        if mine and number in table:
            found.append(table[number][2])
    return found


def job_control(folder):
    """Ctrl-Z, fg, Ctrl-C."""
    for ranks in (1, 2):
        terminal = Terminal(folder)
        try:
            terminal.type(" ".join(str(word) for word in [our(SOFTMAX)] + given(
                SOFTMAX, epochs=1000000, tolerance=-1, trace_file=None,
                progress=True, ranks=ranks)) + "\n")
            terminal.expect(r"loss \d")
            terminal.type("\x1a")
            terminal.expect("Stopped")
            # One more process has started those of several ranks.
            count = 1 if ranks == 1 else ranks + 1
            stopped = await_event(lambda: states(terminal.shell.pid) ==
                                  ["T"] * count, 10)
            expect(stopped, "%d programs that stand still, not %s" %
                   (count, states(terminal.shell.pid)))
            terminal.text = ""
            terminal.type("fg\n")
            terminal.expect(r"loss \d")
            terminal.expect(r"loss \d")
            expect("T" not in states(terminal.shell.pid), "that all go on")
            terminal.type("\x03")
            terminal.expect(r"\r\ndasgd: ")
            last = terminal.expect(r"\r\n")
            expect(last == "ended by signal 2, Interrupt\r\n",
                   "one line on the signal, not %r" % last)
            terminal.type("echo status=$?\n")
            rest = terminal.expect(r"status=\d+\r\n")
            expect(re.fullmatch(r"\s*(echo status=\$\?\s*)?status=130\r\n",
                                rest), "status 130, and not a word more "
                   "than one line, not %r" % rest)
            expect(await_event(lambda: not states(terminal.shell.pid), 10),
                   "that all have ended")
        finally:
            terminal.close()
    expect(tree(folder) == [], "no file, not %s" % tree(folder))
    # With a checkpoint, it is as SIGTERM.
    for ranks in (1, 2):
        terminal = Terminal(folder)
        try:
            terminal.type(" ".join(str(word) for word in checkpointed(
                1000000, "--progress", "--ranks", ranks)) + "\n")
            terminal.expect(r"loss \d")
            terminal.type("\x03")
            terminal.expect(r"\r\ndasgd: ")
            last = terminal.expect(r"\r\n")
            expect("ended by signal 2, Interrupt; the last checkpoint is "
                   "state.checkpoint" in re.sub(r" after \d+ points", "", last),
                   "where to go on, not %r" % last)
            terminal.type("echo status=$?\n")
            terminal.expect(r"status=75\r\n")
        finally:
            terminal.close()


case("job_control", "Ctrl-Z stops all ranks, fg goes on with them, Ctrl-C ends "
     "them with one line", job_control)


def one_line_on_death(folder):
    for number, words in ((signal.SIGKILL, "signal 9, Killed"),
                          (signal.SIGSEGV, "signal 11, Segmentation fault"),
                          (signal.SIGTERM, "signal 15, Terminated")):
        command = [str(word) for word in [our(SOFTMAX)] + given(
            SOFTMAX, epochs=1000000, tolerance=-1, ranks=2)]
        begin = time.monotonic()
        process = start(command, folder, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
        try:
            def at_work():
                victim = worker_of(process.pid, 1)
                return victim and processes().get(victim, (0, 0, "", 0))[3] \
                    > 0.5 and victim
            victim = await_event(at_work, 30)
            expect(victim, "a rank 1 at work")
            job = descendants(process.pid)
            os.kill(victim, number)
            out, err = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                end_job(process)
        result = Result(command, process.returncode, out.decode(),
                        err.decode(), time.monotonic() - begin)
        expect(result.status == 128 + number, "status %d" % (128 + number),
               result)
        # Open MPI prints where a program was that crashed.
        lines = result.err.splitlines()
        expect(lines[-1] == "dasgd: rank 1 died (%s), and the job with it" %
               words and (len(lines) == 1 or number == signal.SIGSEGV) and
               "mpirun" not in result.err and "mpiexec" not in result.err,
               "one line on it", result)
        await_event(lambda: not alive(job), 10)
        expect(not alive(job) and tree(folder) == [], "nothing left", result)


case("one_line_on_death", "which rank died, and of what, is one line",
     one_line_on_death)


def parts(folder):
    """What is half written goes when the program is told to end."""
    old = b"a model from before"
    path = write(os.path.join(folder, "model.json"), old)
    # So large that it takes a while to write.
    words = given(SOFTMAX, epochs=None, max_iterations=1, batch_size=1,
                  number_of_classes=8000, output_model_file="model.json",
                  test_file=None, predictions_file=None, report_file=None,
                  trace_file=None)

    def half():
        return [name for name in os.listdir(folder) if ".part." in name and
                os.path.getsize(os.path.join(folder, name)) > 0]

    for ranks, number in ((1, signal.SIGTERM), (1, signal.SIGINT),
                          (1, signal.SIGHUP), (2, signal.SIGTERM)):
        command = [str(word) for word in [our(SOFTMAX)] + words +
                   ["--ranks", ranks]]
        seen = False
        for _ in range(3):
            process = start(command, folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
            try:
                try:
                    seen = await_event(lambda: half() or
                                       process.poll() is not None, 60) and \
                        process.poll() is None
                except OSError:
                    seen = False  # It has become the model in between.
                writer = process.pid if ranks == 1 else \
                    worker_of(process.pid, 0)
                if seen and writer:
                    os.kill(writer, number)
                out, err = process.communicate(timeout=30)
            finally:
                if process.poll() is None:
                    end_job(process)
            if content(path) == old:
                break
            write(path, old)  # Too late: once more.
        result = Result(command, process.returncode, out.decode(),
                        err.decode(), 0)
        expect(seen and content(path) == old, "a signal while the model is "
               "written", result)
        expect(result.status == (-number if ranks == 1 else 128 + number),
               "to be ended by the signal", result)
        expect(await_event(lambda: tree(folder) == ["model.json"], 5),
               "nothing but the old model, not %s" % tree(folder), result)
        expect(result.err.count("\n") == 1 and "signal %d," % number in
               result.err, "one line on it", result)


case("parts", "a program that is told to end leaves nothing half written",
     parts)


def modes(folder):
    wanted = {"model.bin": 0o600, "predictions.csv": 0o640,
              "report.json": 0o664, "trace.json": 0o604}
    for ranks in (1, 2):
        for name, mode in wanted.items():
            os.chmod(write(os.path.join(folder, name), "old"), mode)
        result = well([our(SOFTMAX)] + given(SOFTMAX, ranks=ranks), folder)
        found = {name: os.stat(os.path.join(folder, name)).st_mode & 0o7777
                 for name in wanted}
        expect(found == wanted and b"old" not in [content(folder, name)
               for name in wanted], "new files with modes as before, not %s" %
               {name: oct(mode) for name, mode in found.items()}, result)


case("modes", "an output that is replaced keeps its permissions", modes,
     light=True)


def not_written(folder):
    """What cannot be written is told with the reason; the rest is there."""
    for ranks in (1, 2):
        for words, missing in (
                ({"report_file": "/dev/full"}, ["'--report_file'"]),
                ({"trace_file": "/dev/full"}, ["'--trace_file'"]),
                ({"output_model_file": "full.bin"},
                 ["'--output_model_file (-M)'"])):
            clear(folder)
            os.symlink("/dev/full", os.path.join(folder, "full.bin"))
            result = run([our(SOFTMAX)] + given(SOFTMAX, ranks=ranks, **words),
                         folder)
            message = plain(result.err)
            expect(result.status == 1, "status 1", result)
            expect(message.count("\n") == 1 and message.startswith("[FATAL] ")
                   and all("given with %s, cannot be written: No space left on "
                           "device;" % option in message for option in missing)
                   and "the other outputs are complete" in message,
                   "one message on %s" % missing, result)
            there = {"full.bin", "model.bin", "predictions.csv", "report.json",
                     "trace.json"}
            for option in words:
                there.discard({"report_file": "report.json", "trace_file":
                               "trace.json", "output_model_file":
                               "model.bin"}[option])
            expect(set(tree(folder)) == there, "the others, not %s" %
                   tree(folder), result)


case("not_written", "an output without room is told with its option and the "
     "reason, costs no other, and gives status 1", not_written, light=True)


def limited(limit, *command):
    """A command under a limit of the shell's ulimit."""
    return ["sh", "-c", "ulimit %s && exec \"$@\"" % limit, "sh"] + \
        [str(word) for word in command]


def too_large(folder):
    """Matrices are written by others, who do not tell why they fail."""
    for name in ("predictions_file", "probabilities_file"):
        for ending in ("csv", "bin"):
            # Of 512 or 1024 bytes: the shell decides.
            result = run(limited("-f 1", our(SOFTMAX), *applying(
                SOFTMAX, data("softmax.bin"), test_file=data("train.csv"),
                **dict({"predictions_file": None}, **{
                    name: "out." + ending}))), folder)
            message = plain(result.err)
            expect(result.status == 1 and message.count("[FATAL]") == 1 and
                   "'--%s (-" % name in message and
                   "cannot be written: File too large;" in message,
                   "one message that the file is too large", result)
            expect(tree(folder) == [], "no file, not %s" % tree(folder),
                   result)


case("too_large", "a matrix that cannot be written to its end is told with "
     "the reason", too_large, light=True)


def no_memory(folder):
    for ranks in (1, 2):
        command = limited("-v 4000000", "env", "OMP_NUM_THREADS=1",
                          "OPENBLAS_NUM_THREADS=1", our(SOFTMAX), *given(
            SOFTMAX, number_of_classes=100000000, ranks=ranks))
        result = run(command, folder)
        message = plain(result.err)
        expect(result.status == 1 and message.count("[FATAL]") == 1 and
               "out of memory; give fewer ranks or less data" in message and
               "bad_alloc" not in message, "one message that memory is short",
               result)
        expect(len([line for line in message.splitlines() if line.strip()]) ==
               1 and tree(folder) == [], "no more than that", result)


def no_memory_on_one(folder):
    """The others wait for that rank, and must not do so for ever."""
    stub = write(os.path.join(folder, "mpirun"), "#!/bin/sh\nshift 2\n"
                 "exec '%s' -n 1 \"$@\" : -n 1 sh -c 'ulimit -v 800000 && "
                 "exec \"$@\"' sh \"$@\"\n" % Setting.mpiexec)
    os.chmod(stub, 0o755)
    # Threads of their own need memory, too: as much as there are cores.
    result = run(["env", "DASGD_MPIRUN=" + stub, "OMP_NUM_THREADS=1",
                  "OPENBLAS_NUM_THREADS=1", our(SOFTMAX)] + given(
        SOFTMAX, number_of_classes=1500000, test_file=None,
        predictions_file=None, ranks=2), folder)
    expect(result.status == 1 and plain(result.err) == "[FATAL] rank 1: out of "
           "memory; give fewer ranks or less data\n", "status 1 and one line "
           "that names the rank", result)
    expect(tree(folder) == ["mpirun"], "no file, not %s" % tree(folder), result)


case("no_memory_on_one", "what is wrong with one rank alone ends all, with one "
     "line", no_memory_on_one)
case("no_memory", "a lack of memory is told in words, once", no_memory,
     light=True)


def history(folder):
    """dasgd_history: what it prints, and its statuses."""
    tool = our("dasgd_history")
    good = write(os.path.join(folder, "run.history"),
                 "dasgd-history 1\nranks 1\nrank 0\nend\n")
    write(os.path.join(folder, "cut.history"), content(good)[:-4])
    table = well([tool, "run.history"], folder)
    expect(table.out.startswith("1 rank, 0 gradients") and table.err == "",
           "a table", table)
    for option in ("--version", "-V"):
        shown = well([tool, option], folder)
        expect(re.fullmatch(r"dasgd_history: part of dasgd \d+\.\d+\.\d+\.\n",
                            shown.out), "the version", shown)
    shown = well([tool, "--help"], folder)
    expect("--version" in shown.out and shown.err == "", "help", shown)
    for status, words, needle in (
            (1, ["absent.history"], "No such file"),
            (1, ["."], "Is a directory"),
            (1, ["cut.history"], "cut.history"),
            (1, [data("train.csv")], "not a history"),
            (1, ["run.history", "--trace", "/dev/full"], "No space left"),
            (1, ["run.history", "--trace", "nowhere/t.json"], "No such file"),
            (1, ["run.history", "--trace", "run.history"], "choose another"),
            (2, [], "FILE is required"),
            (2, ["--bogus", "run.history"], "--bogus"),
            (2, ["run.history", "cut.history"], "cut.history"),
            (2, ["run.history", "--trace"], "--trace")):
        result = run([tool] + words, folder)
        expect(result.status == status, "status %d" % status, result)
        expect(result.out == "" and result.err.count("\n") == 1 and
               result.err.startswith("dasgd_history: ") and
               needle in result.err, "one line with '%s'" % needle, result)
        expect(tree(folder) == ["cut.history", "run.history"],
               "no file, not %s" % tree(folder), result)
    page = os.path.join(HERE, "../../bindings/dasgd_history.1")
    text = content(page).decode()
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS",
                    "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        expect(".SH %s\n" % section in text, ".SH %s in %s" % (section, page))
    for option in re.findall(r"(?<![\w-])--(\w+)", shown.out):
        expect("\\-\\-" + option in text, "--%s in %s" % (option, page))
    for status in "012":
        expect(".TP\n.B %s\n" % status in text, "status %s in %s" % (status,
                                                                    page))
    if shutil.which("man"):
        result = run(["env", "LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANWIDTH=80",
                      "man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8",
                      "-Z", page], folder)
        result.out = ""
        expect(result.status == 0 and result.err == "", "no warning", result)


case("history", "dasgd_history tells its version, and by its status what was "
     "wrong; its manual page says so", history, light=True)


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
        print("%s %s (%.1f s): %s%s" % (
            "FAILED" if failure else "ok    ", entry[0], seconds, entry[1],
            " [%s]" % note if note else ""), flush=True)
        if failure:
            print(failure, flush=True)
            failed.append(entry[0])

    # What trains goes one at a time: where signals are sent, mpirun must not be
    # starved (it forwards Ctrl-Z after fg then).  The rest mostly waits for
    # processes to start.
    for light, workers in ((False, 1), (True, 3 * max(2, os.cpu_count() or 1))):
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
