/**
 * @file train.hpp
 *
 * From the parameters of optimizer_params.hpp to a training.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_TRAIN_HPP
#define DASGD_BINDINGS_TRAINING_TRAIN_HPP

#include "captured.hpp"
#include "check_training.hpp"
#include "training_tags.hpp"

#include <dasgd/staleness/history.hpp>
#include <dasgd/report/report.hpp>

#include <functional>

namespace dasgd {
namespace cli {

//! What a function of mlpack gives for a batch: the sum over its points, or the
//! mean.
enum class Batch { Sum, Mean };

//! What is known of a training when it is over.
struct Trained
{
  //! Step sizes are along the mean gradient of a batch, as in the options.
  Report report;
  History history;
  //! The loss of the last epoch, for each point; of the last whole one if the
  //! training has stopped by itself.
  double meanLoss = 0;
  size_t batchSize = 0;
  size_t seed = 0;
};

/**
 * Train a model with DASGD.
 *
 * @param points Points that this rank holds.
 * @param seed See Seed().
 * @param kind What the model's function gives for a batch.
 * @param tags What a checkpoint is tied to besides the options; see DataTags().
 * @param train Called as train(optimizer): hands it to the model.
 * @param scales What is wrong with the scales of columns, for the message of a
 *     training that diverged.
 */
Trained Train(mlpack::util::Params& params,
              const size_t points,
              const size_t seed,
              const Batch kind,
              const Tags& tags,
              const std::function<void(Captured)>& train,
              const std::string& scales = "");

/**
 * Print and write what is known of a training, on rank 0.
 *
 * @param accuracy On test points, from 0 to 1; not a number if there are none.
 * @param more For the report, names with values as JSON has them.
 */
void SaveReports(mlpack::util::Params& params,
                 const Trained& trained,
                 const double accuracy,
                 const Tags& more = { });

} // namespace cli
} // namespace dasgd

#endif
