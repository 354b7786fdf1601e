"""Cases of what a training tells: reports, progress."""

import json
import os
import re

from .harness import (
    HERE, LR, PROGRAMS, SOFTMAX, SVM, TRAIN, case, content, data, expect,
    given, labels_of, mpi, on_terminal, our, training, tree, well)
from .training import clear

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
