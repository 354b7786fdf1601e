/**
 * @file dataset.hpp
 *
 * Points with classes from the files that a user gives, and what a model must
 * know of them to be used later.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_DATASET_HPP
#define DASGD_BINDINGS_DATA_DATASET_HPP

#include "input_file.hpp"

#include <armadillo>

#include <string>
#include <vector>

namespace mlpack { namespace util { class Params; } }

namespace dasgd {
namespace cli {

/**
 * Names of the columns and classes of data that a model is trained with.  They
 * are kept beside the model, in a file of its name with ".names" after it.
 */
struct DataNames
{
  //! Columns of points; those of words are as many rows of 0 and 1 as words.
  std::vector<TableColumn> columns;
  //! Where labels are a column of the file: its number, from 0, and its name.
  size_t labelColumn = NoColumn;
  std::string labelName;
  //! Empty if labels are the numbers of classes.
  std::vector<std::string> classes;
  //! Do they come with a model?
  bool ofModel = false;

  //! The name of a class, or its number if it has none.
  std::string Class(const size_t number) const
  {
    return number < classes.size() ? classes[number] : std::to_string(number);
  }
};

//! Points, one in each column, with their labels, if there are any.
struct Dataset
{
  //! As the file has it; empty once the points are made of it.
  Table table;
  arma::mat points;
  //! The labels that occur, in the order of their numbers.
  std::vector<std::string> words;
  //! Numbers of words, and after NumberLabels() of classes.
  arma::Row<size_t> labels;
  bool labelled = false;
  //! The column that they were, and its name.
  size_t labelColumn = NoColumn;
  std::string labelName;
  //! Width and height of IDX images; otherwise 0.
  size_t width = 0, height = 0;
  //! The parameters that they come from, for messages.
  std::string pointsName, labelsName;
};

/**
 * Read a file of points, and one of labels unless those are a column of it.
 *
 * @param points,labels Names of the parameters.
 * @param names Of the model, if its own are known.
 * @param training Must there be labels?
 */
Dataset ReadDataset(mlpack::util::Params& params,
                    const std::string& points,
                    const std::string& labels,
                    const DataNames& names,
                    const bool training);

//! The file that an option names.
InputFile FileOf(mlpack::util::Params& params,
                 const std::string& option,
                 const bool training);

//! Make points of a table, in the order of the columns of a model; words become
//! rows of 0 and 1.
void MakePoints(Dataset& data, const DataNames& names);

//! The words that any rank has, in one order on all.  Collective.
void UniteWords(std::vector<std::string>& words);

/**
 * Give labels the numbers of classes, on all ranks alike.  Whole numbers that
 * may be those of classes are left as they are.  Collective.
 *
 * @param most Classes that a model has, or 0 for as many as labels.
 * @param remedy What to do if there are more.
 */
void NumberLabels(Dataset& data,
                  DataNames& names,
                  const size_t most,
                  const std::string& remedy);

//! The same for test data: what no class of the model is gets numbers that
//! follow those of classes.
void NumberTestLabels(Dataset& data, const DataNames& names);

} // namespace cli
} // namespace dasgd

#endif
