/**
 * @file standardizer.hpp
 *
 * Columns of mean 0 and deviation 1 while a model is trained.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_STANDARDIZER_HPP
#define DASGD_BINDINGS_TRAINING_STANDARDIZER_HPP

#include <data/dataset.hpp>

namespace dasgd {
namespace cli {

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
