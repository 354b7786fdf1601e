"""What all cases need: running programs, their names, and data.

A case is a name, the promise that it holds, and a function of a fresh folder.
"""

import fcntl
import gzip
import itertools
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
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
    # Open MPI 4 removes what its jobs share in a folder for temporary files
    # while another one that begins needs it: a folder for each.
    temporary = os.path.join(Setting.work, "mpi", str(next(Setting.jobs)))
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL,
                            start_new_session=True, env=dict(
                                os.environ,
                                OMPI_MCA_orte_tmpdir_base=temporary), **more)


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
    jobs = itertools.count()


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
        write(data("three_labels.csv"), "0\n1\n0\n")
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


#
# Commands, and what they say.
#

# Each of them was once read as a number.
NO_NUMBERS = ("NA", ".", "n", "1e", "1.5f", "7A", "")
# mlpack's own programs know nothing of ranks; the front end does.
STOCK_ONLY = {"epochs": None, "report_file": None, "trace_file": None}


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
