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

#include <string>

//! What the descriptions of linear models say of labels.
inline std::string LabelsText()
{
  return "Training data is given by " + PRINT_PARAM_STRING("training_file") +
      "; the labels, words or whole numbers, by " +
      PRINT_PARAM_STRING("labels_file") + " or in a column.  ";
}

//! What they say of test data, and of files.
//! @param scores What the parameter "probabilities" saves.
inline std::string FilesText(const std::string& scores)
{
  return PRINT_PARAM_STRING("predictions") + " saves the predicted class of "
      "each point in " + PRINT_PARAM_STRING("test_file") + ", and " +
      PRINT_PARAM_STRING("probabilities") + " the " + scores + " of the "
      "classes.  With " + PRINT_PARAM_STRING("test_labels_file") + " the "
      "accuracy and the confusion matrix are printed."
      "\n\n"
      "All processes read the same training data and divide it among them; "
      "with " + PRINT_PARAM_STRING("sharded") + " each reads its own file.  "
      "Files may be CSV or TSV, with or without a header, ARFF, NumPy's .npy, "
      "Armadillo binaries or IDX files such as MNIST's, also compressed.";
}

//! How to train on two processes, and how to use the model.
inline std::string ExampleText(const std::string& method,
                               const std::string& data,
                               const std::string& test,
                               const std::string& model)
{
  return "To train a model with the points in " + PRINT_DATASET(data) +
      " and the labels in " + PRINT_DATASET("labels") + " on two processes, "
      "and save it to " + PRINT_MODEL(model) + ":"
      "\n\n" +
      PRINT_CALL("dasgd_" + method, "training_file", data + ".csv",
          "labels_file", "labels.csv", "step_size", 0.1, "epochs", 10, "ranks",
          2, "output_model", model) +
      "\n\n"
      "To predict the classes of the points in " + PRINT_DATASET(test) +
      " with it (mlpack_" + method + " can do so, too):"
      "\n\n" +
      PRINT_CALL("dasgd_" + method, "input_model", model, "test_file", test +
          ".csv", "predictions", "predictions");
}

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
