"""Cases of data as people have it: headers, words, shards."""

import gzip
import json
import os
import random
import re
import struct

from .harness import (
    EPOCHS, FFN, LR, OBJECTIVE, OPTIMIZER, PROGRAMS, SOFTMAX, STOCK, SVM,
    TRAIN, case, content, data, expect, given, labels_of, mpi, numbers,
    on_terminal, our, plain, refused, run, share, stock, text_of, tree, well,
    write)
from .training import WORSE, serial_predictions

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
