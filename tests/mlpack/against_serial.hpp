/**
 * @file against_serial.hpp
 *
 * Trains a model with ens::SGD and with DASGD and compares.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_MLPACK_AGAINST_SERIAL_HPP
#define DASGD_TESTS_MLPACK_AGAINST_SERIAL_HPP

#include <mlpack.hpp>

#include <dasgd.hpp>

#include "catch.hpp"

#include <string>

//! What training ended with.
struct Trained
{
  arma::mat parameters;
  //! Larger is better: an accuracy in per cent, or a loss, negated.
  double score = 0;
};

//! Does a function add up the gradients of a batch, or average over them?
enum class Batches { Sum, Mean };

//! How to train, and what must come of it.
struct Plan
{
  Batches batches;
  //! The step along the mean gradient of a batch.
  double step;
  size_t batchSize;
  //! Points to visit, over all ranks.
  size_t points;
  //! The score that the serial run must reach, so that the test says something.
  double enough;
  //! By how much the score may fall behind that of the serial run.  Ranks apply
  //! gradients in an order that changes from run to run, and on a busy machine
  //! some come late; so the end is not the same, only as good.
  double behind;
};

/**
 * Train serially (on rank 0 alone), then on all ranks, from the same start.
 *
 * How late gradients come depends on the machine: a rank that has no core for
 * a while computes its next gradients on an old model.  The plans allow for it
 * by small steps, and by far more gradients than the serial run needs, so that
 * such a burst is followed by many that make up for it.
 *
 * @param train Takes an optimizer, returns what it has Trained.
 */
template<typename TrainType>
void CheckAgainstSerial(const Plan& plan, TrainType&& train)
{
  const dasgd::MpiCommunicator world(MPI_COMM_WORLD);
  const double batchSize = double(plan.batchSize);
  // The same step with every ensmallen; since 3.10 it divides by batch size.
  const double stepSize = plan.step *
      (dasgd::ensmallen::dividesStep ? batchSize : 1.0) /
      (plan.batches == Batches::Sum ? batchSize : 1.0);
  // Never reached, so that all points are visited.
  const double tolerance = -1.0;

  Trained serial;
  if (world.Rank() == 0)
  {
    mlpack::RandomSeed(5);
    ens::StandardSGD optimizer(stepSize, plan.batchSize, plan.points,
        tolerance);
    serial = train(optimizer);
  }
  // The others wait for it here.
  const double serialScore = world.Gather(serial.score).front();

  mlpack::RandomSeed(5);
  dasgd::DASGD optimizer(stepSize, plan.batchSize, plan.points, tolerance);
  // Gradients of microseconds are very stale where ranks share cores; shorter
  // steps would need more points.
  optimizer.StalenessDamping() = 0;
  const Trained own = train(optimizer);

  CHECK(serialScore >= plan.enough);
  CHECK(own.score >= serialScore - plan.behind);

  // The same model everywhere, bit for bit.
  const std::string bytes(
      reinterpret_cast<const char*>(own.parameters.memptr()),
      own.parameters.n_elem * sizeof(double));
  CHECK(!bytes.empty());
  for (const std::string& other : world.Gather(bytes))
    CHECK((other == bytes));

  // One rank alone does what ens::SGD does, to the bit; the program is built
  // without fused operations, which the compiler might use in one of the two.
  if (world.Size() == 1)
  {
    CHECK(own.parameters.n_elem == serial.parameters.n_elem);
    CHECK(bytes == std::string(
        reinterpret_cast<const char*>(serial.parameters.memptr()),
        serial.parameters.n_elem * sizeof(double)));
  }
}

//! Per cent of the predictions that are right.
inline double Accuracy(const arma::Row<size_t>& predicted,
                       const arma::Row<size_t>& labels)
{
  return 100.0 * double(arma::accu(predicted == labels)) /
      double(labels.n_elem);
}

//! The class with the largest output, for each point.
inline arma::Row<size_t> Largest(const arma::mat& outputs)
{
  return arma::conv_to<arma::Row<size_t>>::from(arma::index_max(outputs, 0));
}

#endif
