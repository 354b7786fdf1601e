/**
 * @file gradient_source.hpp
 *
 * What computes gradients and takes steps, as the algorithms see it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_GRADIENT_SOURCE_HPP
#define DASGD_RUN_GRADIENT_SOURCE_HPP

#include "../staleness/manifest.hpp"
#include "work.hpp"

#include <cstddef>
#include <cstdint>

namespace dasgd {

//! How a step follows the staleness of gradients.
struct StepScale
{
  //! What the step size is multiplied by.
  double factor = 1;
  //! Rounds of its rank by which the update policy looks ahead; 0: it does not.
  double lookAhead = 0;
};

/**
 * All that belongs to the user: function, update policy and callbacks.  So that
 * algorithms are compiled once, whatever those are, they reach them through
 * this interface; a gradient costs about ten virtual calls.  FunctionSource is
 * the production one.
 *
 * Everything here may throw.  Functions that return bool and are not described
 * otherwise return true to ask for a stop.
 */
template<typename ElemType>
class GradientSource
{
 public:
  virtual ~GradientSource() = default;

  //! Where the model is; the user's code may have moved it.
  virtual ElemType* Iterate() = 0;
  //! Where the last gradient is, likewise.
  virtual ElemType* Gradient() = 0;
  //! Elements of each.
  virtual size_t Elements() const = 0;

  //! Compute the gradient of a batch at the iterate.
  virtual bool Evaluate(const Batch& batch, ElemType& objective) = 0;

  /**
   * Apply the update of the gradient to the iterate, and say where that update
   * stands.
   *
   * @param points Of the gradient.
   * @param scale How the step follows staleness.
   * @param out Where the update is to stand, or null.
   * @param sum If not null, it may be added to this instead; `update` is null
   *     then.
   * @return False if the gradient or the update is not finite.
   */
  virtual bool TakeStep(size_t points,
                        const StepScale& scale,
                        ElemType* out,
                        ElemType* sum,
                        const ElemType*& update) = 0;

  /**
   * Get the update of the gradient ready for a model that ranks share (see
   * Board), from which factor times `update` is to be subtracted.  The iterate
   * stays as it is, and is to become a copy of that model.
   *
   * @param update Where it stands until the next gradient is computed.
   * @return False if the gradient or the update is not finite.
   */
  virtual bool FormUpdate(size_t points,
                          const StepScale& scale,
                          const ElemType*& update,
                          ElemType& factor) = 0;

  //! FormUpdate() was told too long a step: it is to be multiplied by this.
  virtual void Shorten(const double by, ElemType& factor)
  { factor *= ElemType(by); }

  //! Apply the update of the gradient as it stands, which is one of so many
  //! points, with the step size times `scale`.  False if the result is not
  //! finite.
  virtual bool Step(double points, double scale) = 0;

  //! Shuffle the points until it was done so often.
  virtual void ShuffleTo(std::uint64_t times) = 0;
  //! Shuffle the points after an epoch at one rank.
  virtual void ShuffleOnce() = 0;

  // What callbacks are told.

  virtual bool Begin(std::uint64_t epoch) = 0;
  virtual bool Applied(const ManifestEntry& entry,
                       double objective,
                       std::uint64_t epoch) = 0;
  virtual bool StepTaken() = 0;
  virtual bool EndEpoch(std::uint64_t epoch,
                        ElemType objective,
                        std::uint64_t points,
                        size_t epochPoints) = 0;
  virtual bool BeginEpoch(std::uint64_t epoch, ElemType objective) = 0;

  // For messages.

  virtual void Diverged(std::uint64_t step,
                        const char* what,
                        ElemType value) = 0;
  virtual void Converged(double tolerance) = 0;

  //! A step or a frame has been applied completely.
  virtual void BetweenSteps() = 0;

  //! This rank waits for others.
  virtual void Idle() { }

  //! The signal that asks this rank to stop, or 0.
  virtual int Signal() = 0;
};

} // namespace dasgd

#endif
