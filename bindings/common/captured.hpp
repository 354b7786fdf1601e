/**
 * @file captured.hpp
 *
 * Takes the function to minimize out of a model of mlpack.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_CAPTURED_HPP
#define DASGD_BINDINGS_COMMON_CAPTURED_HPP

#include "any_function.hpp"

#include <ensmallen.hpp>

#include <dasgd/optimizer/layer_statistics.hpp>

#include <functional>

namespace dasgd {
namespace cli {

//! A function of mlpack as one of these.
template<typename FunctionType>
class AnyFunctionOf : public AnyFunction
{
 public:
  explicit AnyFunctionOf(FunctionType& given) :
      function(static_cast<FullType&>(given)) { }

 private:
  size_t DoNumFunctions() const override { return function.NumFunctions(); }
  void DoShuffle() override { function.Shuffle(); }
  double DoEvaluate(const arma::mat& iterate,
                    const size_t begin,
                    const size_t size) override
  { return function.Evaluate(iterate, begin, size); }
  double DoEvaluateWithGradient(const arma::mat& iterate,
                                const size_t begin,
                                arma::mat& gradient,
                                const size_t size) override
  { return function.EvaluateWithGradient(iterate, begin, gradient, size); }
  void DoVisitStatistics(
      const std::function<void(arma::mat&)>& action) override
  { statistics::Visit(function, action); }

  // As ens::SGD sees it: what the function does not offer is made of the rest.
  using FullType = ens::Function<FunctionType, arma::mat, arma::mat>;

  FullType& function;
};

/**
 * Takes the place of an optimizer in a model's Train(), and hands function and
 * iterate on.  The iterate is the model's own memory where the model reads it
 * from there.
 */
class Captured
{
 public:
  using Action = std::function<double(AnyFunction&, arma::mat&)>;

  explicit Captured(const Action& action) : action(&action) { }

  //! Callbacks are up to the action.
  template<typename FunctionType, typename MatType, typename... CallbackTypes>
  typename MatType::elem_type Optimize(FunctionType& function,
                                       MatType& iterate,
                                       CallbackTypes&&...)
  {
    AnyFunctionOf<FunctionType> any(function);
    return (*action)(any, static_cast<arma::mat&>(iterate));
  }

 private:
  const Action* action;
};

} // namespace cli
} // namespace dasgd

#endif
