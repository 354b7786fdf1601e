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

#include "table.hpp"

#include <training/train.hpp>

#include <armadillo>

#include <set>
#include <string>
#include <vector>

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
 * @param points,labels Names of the parameters; "" if there is none for labels.
 * @param names Of the model, if its own are known.
 * @param training Must there be labels?
 */
Dataset ReadDataset(mlpack::util::Params& params,
                    const std::string& points,
                    const std::string& labels,
                    const DataNames& names,
                    const bool training);

/**
 * The training data.  Its names are added to those of the model, or must be the
 * same.  Collective; if the data of one rank is wrong, all throw.
 */
Dataset TrainingData(mlpack::util::Params& params, DataNames& names);

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

/**
 * Test data.
 *
 * @param dimensions Of the model.
 */
Dataset TestData(mlpack::util::Params& params,
                 const DataNames& names,
                 const size_t dimensions);

//! The names of the model that is the input, if there is one.
DataNames InputNames(mlpack::util::Params& params, const arma::mat& parameters);

//! Write names beside the model that is the output, if it has any; only the rank
//! that writes does so.
void SaveNames(mlpack::util::Params& params,
               const DataNames& names,
               const arma::mat& parameters);

/**
 * Train a model with data.
 *
 * @param scales What to say of its columns if that fails; may be empty.
 * @param tags What a checkpoint is tied to besides options and data.
 */
Trained Train(mlpack::util::Params& params,
              const Dataset& data,
              const size_t seed,
              const Batch kind,
              const std::string& scales,
              const Tags& tags,
              const std::function<void(Captured)>& train);

/**
 * With labels of the test points, print how many predictions are right; and hand
 * predictions to the file that is asked for.
 *
 * @param classes What the model may predict.
 * @return The part that is right, from 0 to 1; not a number without labels.
 */
double Predicted(mlpack::util::Params& params,
                 const Dataset& test,
                 const DataNames& names,
                 arma::Row<size_t> predictions,
                 const std::set<size_t>& classes);

/**
 * With --standardize, columns of mean 0 and deviation 1, and models that hold
 * for data as it was before.
 */
class Standardizer
{
 public:
  /**
   * Standardize points, if that is asked for; otherwise warn if it should be.
   * Collective.
   *
   * @param centre Has the model an intercept that can make up for the mean?
   */
  Standardizer(mlpack::util::Params& params,
               Dataset& data,
               const DataNames& names,
               const bool centre);

  bool Used() const { return !deviation.empty(); }

  //! Columns whose scales differ, for messages; empty if they do not.
  const std::string& Scales() const { return scales; }

  /**
   * Make a model of standardized points of one of points as they were.
   *
   * @param weights One row for each class, one column for each dimension.
   * @param intercept One for each class; left as it is without means.
   */
  void Enter(arma::mat& weights, arma::vec& intercept) const;

  //! The other way.
  void Leave(arma::mat& weights, arma::vec& intercept) const;

 private:
  arma::rowvec mean, deviation;
  std::string scales;
};

} // namespace cli
} // namespace dasgd

#endif
