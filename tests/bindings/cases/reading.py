"""Cases of what is read, and of what a step is."""

import os
import random
import re

from .harness import (
    FFN, LR, PROGRAMS, SOFTMAX, SVM, TRAIN, case, content, data, expect,
    given, labels_of, numbers, our, run, text_of, well, write)

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
