"""Cases of mistakes: each is told once, with the values and the remedy."""

from .harness import (
    FFN, LR, NO_NUMBERS, PROGRAMS, SOFTMAX, STOCK_ONLY, SVM, TEST, TRAIN,
    applying, case, data, given, mpi, our, refused, stock)

#
# Mistakes.
#


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
