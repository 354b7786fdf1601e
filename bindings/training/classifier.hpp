/**
 * @file classifier.hpp
 *
 * What programs for classification do with models and data, whatever the model
 * is.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_CLASSIFIER_HPP
#define DASGD_BINDINGS_TRAINING_CLASSIFIER_HPP

#include "train.hpp"

#include <data/dataset.hpp>

#include <functional>
#include <set>
#include <string>

namespace mlpack { namespace util { class Params; class Timers; } }

namespace dasgd {
namespace cli {

/**
 * The checks on what was given that mlpack's programs for classification make.
 * Warns if nothing will be saved, or nothing done.
 */
void CheckClassifier(mlpack::util::Params& params);

/**
 * A model for classification.  It is made with what "input_model" gives, if
 * that was given, and gives "output_model" its model.
 */
class Classifier
{
 public:
  virtual ~Classifier() = default;

  //! Change values of points that were read.
  virtual void Scale(Dataset& /* data */) { }

  /**
   * Get ready: make a model unless there is one, and give labels their numbers.
   * Collective.
   *
   * @param data For training; empty if the model is only used.
   */
  virtual void Prepare(Dataset& data, DataNames& names) = 0;

  // The rest holds once the model is prepared.

  //! Of the points that the model takes.
  virtual size_t Dimensions() const = 0;

  //! Where these are from, for messages.
  virtual std::string Origin() const = 0;

  virtual arma::mat& Parameters() = 0;

  //! The labels that it may predict.
  virtual std::set<size_t> Classes() const = 0;

  //! What its function gives for a batch.
  virtual Batch Loss() const = 0;

  //! Does it make up for points whose mean is not 0?
  virtual bool Intercept() const { return true; }

  //! What a checkpoint is tied to besides options and data.
  //! @param continues Is an existing model trained further?
  virtual Tags CheckpointTags(const bool continues)
  { return continues ? ModelTag(Parameters()) : Tags(); }

  //! Change the weights, one row for each class, one column for each dimension,
  //! and the intercepts, one for each class.
  virtual void ChangeWeights(
      const std::function<void(arma::mat&, arma::vec&)>& change) = 0;

  virtual void Train(Dataset& data, Captured optimizer) = 0;

  //! Called after that, with what it was trained with.
  virtual void Report(const Dataset& /* data */) { }

  /**
   * The labels of points.
   *
   * @param scores How likely each class is, one row for each class.
   */
  virtual arma::Row<size_t> Classify(const arma::mat& points,
                                     arma::mat& scores) = 0;
};

/**
 * Train a classifier, use it, or both, as the parameters say.
 *
 * @param seed See Seed().
 * @param name Of the timers.
 */
void RunClassifier(mlpack::util::Params& params,
                   mlpack::util::Timers& timers,
                   Classifier& model,
                   const size_t seed,
                   const std::string& name);

} // namespace cli
} // namespace dasgd

#endif
