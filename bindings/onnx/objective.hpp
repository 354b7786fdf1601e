/**
 * @file objective.hpp
 *
 * A model to be minimized, which says after each epoch how good it is.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_ONNX_OBJECTIVE_HPP
#define DASGD_BINDINGS_ONNX_OBJECTIVE_HPP

#include <dasgd_onnx.hpp>

#include <functional>
#include <utility>

namespace dasgd {
namespace onnx_program {

//! Everything that an optimizer calls.
class Objective
{
 public:
  //! Called on rank 0 with the weights, the number of the epoch from 1 on, and
  //! its mean loss.
  using EpochAction = std::function<void(const arma::fmat&, size_t, double)>;

  Objective(OnnxFunction<arma::fmat>& function, EpochAction epochAction) :
      function(function), epochAction(std::move(epochAction)) { }

  size_t NumFunctions() const { return function.NumFunctions(); }
  void Shuffle() { function.Shuffle(); }

  float Evaluate(const arma::fmat& iterate,
                 const size_t begin,
                 const size_t batchSize)
  { return function.Evaluate(iterate, begin, batchSize); }

  float EvaluateWithGradient(const arma::fmat& iterate,
                             const size_t begin,
                             arma::fmat& gradient,
                             const size_t batchSize)
  {
    return function.EvaluateWithGradient(iterate, begin, gradient, batchSize);
  }

  void Gradient(const arma::fmat& iterate,
                const size_t begin,
                arma::fmat& gradient,
                const size_t batchSize)
  { function.Gradient(iterate, begin, gradient, batchSize); }

  void VisitStatistics(const std::function<void(arma::mat&)>& action)
  { function.VisitStatistics(action); }

  void EpochEnded(const arma::fmat& iterate,
                  const size_t epoch,
                  const double objective)
  {
    if (epochAction)
      epochAction(iterate, epoch, objective);
  }

 private:
  OnnxFunction<arma::fmat>& function;
  EpochAction epochAction;
};

} // namespace onnx_program
} // namespace dasgd

#endif
