/**
 * @file training_source.hpp
 *
 * What a training asks of the user's function, policies and callbacks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_TRAINING_SOURCE_HPP
#define DASGD_TRAINING_TRAINING_SOURCE_HPP

#include "../core/fingerprint.hpp"
#include "../run/gradient_source.hpp"
#include "../checkpoint/checkpoint.hpp"
#include "checkpoint_keeper.hpp"
#include "handshake.hpp"

#include <exception>
#include <string>

namespace dasgd {

//! How closely EstimateSmoothness() looks.
struct SmoothnessOptions
{
  //! Use at most so many points of the data, from all over it.  The mean over a
  //! few is likely to be more curved than that over all.
  size_t points = 1024;
  //! Rounds at most; each takes the gradients of the points twice.
  size_t iterations = 100;
  //! Stop when the estimate has changed by less than this, relatively, in three
  //! rounds in a row.  More than that may be missing where a large curvature
  //! has others close below it: 1e-3 leaves up to 3 % then, 1e-4 rarely 1 %.
  double tolerance = 1e-4;
  //! Seed of the direction to begin with.
  std::uint64_t seed = 0;
};

//! The steps that ensmallen and its policies take.
struct StepDescription
{
  //! The types of the policies.
  std::string updatePolicy;
  std::string decayPolicy;
  //! Is the update policy the paper's?  And the step of a fixed size?
  bool plain = true;
  bool fixed = true;
  //! Does the update policy have a form that looks ahead?
  bool looksAhead = false;
  //! Does the update policy have state that a checkpoint does not hold?
  bool forgets = false;
  //! Does this version of ensmallen divide the step by the points of a batch?
  bool divided = true;
  //! Does its SGD return the objective of the last epoch if it ended there?
  bool keepsLastObjective = false;

  //! Is the step the paper's?
  bool Vanilla() const { return plain && fixed; }
  //! What a step of 1 is to the mean over points.
  double Scale(const size_t batchSize) const
  { return divided ? 1.0 : double(batchSize); }
};

/**
 * The source of gradients of one rank, from the handshake to the report.  See
 * FunctionSource.
 */
template<typename ElemType>
class TrainingSource : public GradientSource<ElemType>
{
 public:
  // Before the run.

  //! Points that this rank holds.
  virtual size_t PointsHeld() const = 0;
  //! The shape of the model.
  virtual size_t Rows() const = 0;
  virtual size_t Cols() const = 0;

  virtual StepDescription Steps() const = 0;
  //! What all ranks must have in common: policies, and what callbacks keep.
  virtual void Require(Handshake& handshake) const = 0;
  //! What must be the same when a training is resumed.
  virtual void AddTags(Checkpoint& about) const = 0;

  //! Memory and policies for one of that many ranks.
  virtual void Prepare(size_t ranks) = 0;
  //! A random number of the program's own.
  virtual std::uint64_t DrawSeed() = 0;
  //! See TakeFingerprint().
  virtual Fingerprint TakeFingerprint(size_t batchSize) = 0;
  //! See EstimateSmoothness().
  virtual double EstimateSmoothness(const SmoothnessOptions& options) = 0;

  /**
   * The order of points is known; see PointOrder and FunctionSource.
   *
   * @param countAll Do gradients of other ranks count for the decay policy?
   */
  virtual void SetOrder(std::uint64_t seed, bool ownNumbers, bool countAll) = 0;
  //! Tell callbacks that the optimization begins.  They may change the starting
  //! point, so rank 0's goes to all after this.  What they throw comes out of
  //! Begin().
  virtual void BeginOptimization() = 0;
  //! Are there callbacks?
  virtual bool HasCallbacks() const = 0;

  // During the run.

  //! What a checkpoint holds of model and policy.
  virtual void Save(Checkpoint& to) = 0;
  //! The policy remembers what it did; another policy starts afresh.
  virtual void Restore(const Checkpoint& from) = 0;
  //! Save checkpoints from now on.
  virtual void SaveTo(CheckpointKeeper& to) = 0;
  //! One of these ranks from now on, after others have died; this was thrown
  //! before that, if anything was.
  virtual void Rejoin(size_t ranks,
                      size_t rank,
                      const std::exception_ptr& exception) = 0;
  //! How often the points were shuffled.
  virtual std::uint64_t Shuffles() const = 0;

  // After the run.

  /**
   * This rank's part of the objective over all points; if they are replicated,
   * all ranks must have them in the same order.
   */
  virtual ElemType ExactPart(Data data, size_t batchSize) = 0;
  //! What callbacks and layers keep becomes the same on all ranks; see
  //! AgreeOnStatistics().
  virtual void AgreeOnKept(const MpiCommunicator& comm,
                           std::uint64_t batches,
                           std::exception_ptr& thrown) = 0;
  //! Tell callbacks that the optimization has ended.
  virtual void EndOptimization() = 0;
  //! For those who have turned on what ensmallen says.
  virtual void Inform(const std::string& text) = 0;
};

} // namespace dasgd

#endif
