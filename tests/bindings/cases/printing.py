"""Cases of what is printed: help, manual pages, information."""

import os
import re
import shutil

from .harness import (
    FFN, HERE, LR, PROGRAMS, SOFTMAX, SVM, Setting, TRAIN, case, content,
    data, expect, labels_of, mpi, numbers, our, run, share, training, well,
    write)

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
