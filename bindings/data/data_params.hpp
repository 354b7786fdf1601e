/**
 * @file data_params.hpp
 *
 * The parameters for data of the programs that train classifiers.  To be
 * included by a binding, after mlpack_main.hpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_DATA_PARAMS_HPP
#define DASGD_BINDINGS_DATA_DATA_PARAMS_HPP

PARAM_STRING_IN("training_file", "Training data, one point per line, or IDX "
    "images.", "t", "");
PARAM_STRING_IN("labels_file", "Labels of the training data, words or whole "
    "numbers; without this file they are a column of the training data.", "l",
    "");
PARAM_STRING_IN("label_column", "Column of the labels, by name or by number "
    "from 1, in files that have one; the last unless given.", "", "");
PARAM_FLAG("drop_incomplete", "Leave lines out in which a value is missing.",
    "");
PARAM_FLAG("standardize", "Train with columns of mean 0 and deviation 1.  The "
    "saved model holds for data as it is in the files.", "");
PARAM_STRING_IN("test_file", "Points to classify.", "T", "");
PARAM_STRING_IN("test_labels_file", "Labels of the test points; prints the "
    "accuracy, as does a column of labels in --test_file.", "L", "");
PARAM_UROW_OUT("predictions",
    "File to save the predicted class of each test point to.", "P");

#endif
