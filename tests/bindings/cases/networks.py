"""Cases of mlpack_dasgd_ffn."""

import os
import re
import shutil

from .harness import (
    FFN, OPTIMIZER, TEST, case, content, data, expect, given, labels_of,
    numbers, our, prediction, share, well)

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
