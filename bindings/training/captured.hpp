/**
 * @file captured.hpp
 *
 * Takes the function to minimize out of a model of mlpack.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_CAPTURED_HPP
#define DASGD_BINDINGS_TRAINING_CAPTURED_HPP

#include "any_function.hpp"

#include <ensmallen.hpp>

#include <dasgd/ensmallen/layer_statistics.hpp>

#include <functional>
#include <type_traits>

namespace dasgd {
namespace cli {

//! A function of mlpack as one of these.
template<typename FunctionType, typename MatType = arma::mat>
class AnyFunctionOf : public AnyFunctionFor<MatType>
{
 public:
  explicit AnyFunctionOf(FunctionType& given) :
      function(static_cast<FullType&>(given)) { }

 private:
  using ElemType = typename MatType::elem_type;

  size_t DoNumFunctions() const override { return function.NumFunctions(); }
  void DoShuffle() override { function.Shuffle(); }
  ElemType DoEvaluate(const MatType& iterate,
                      const size_t begin,
                      const size_t size) override
  { return function.Evaluate(iterate, begin, size); }
  ElemType DoEvaluateWithGradient(const MatType& iterate,
                                  const size_t begin,
                                  MatType& gradient,
                                  const size_t size) override
  { return function.EvaluateWithGradient(iterate, begin, gradient, size); }
  void DoVisitStatistics(
      const std::function<void(arma::mat&)>& action) override
  { statistics::Visit(function, action); }
  void DoEpochEnded(const MatType& iterate,
                    const size_t epoch,
                    const double objective) override
  { TellEpoch(function, iterate, epoch, objective, 0); }

  //! Functions that want to know of epochs have this one.
  template<typename Type>
  static auto TellEpoch(Type& function,
                        const MatType& iterate,
                        const size_t epoch,
                        const double objective,
                        int) -> decltype(function.EpochEnded(iterate, epoch,
                                                             objective))
  { return function.EpochEnded(iterate, epoch, objective); }
  template<typename Type>
  static void TellEpoch(Type&, const MatType&, size_t, double, long) { }

  // As ens::SGD sees it: what the function does not offer is made of the rest.
  using FullType = ens::Function<FunctionType, MatType, MatType>;

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
  //! What minimizes, in double or in single precision.
  struct Action
  {
    std::function<double(AnyFunction&, arma::mat&)> exact;
    std::function<float(AnyFunctionFor<arma::fmat>&, arma::fmat&)> single;
  };

  explicit Captured(const Action& action) : action(&action) { }

  //! Callbacks are up to the action.
  template<typename FunctionType, typename MatType, typename... CallbackTypes>
  typename MatType::elem_type Optimize(FunctionType& function,
                                       MatType& iterate,
                                       CallbackTypes&&...)
  {
    if constexpr (std::is_same_v<typename MatType::elem_type, float>)
    {
      AnyFunctionOf<FunctionType, arma::fmat> any(function);
      return action->single(any, iterate);
    }
    else
    {
      AnyFunctionOf<FunctionType> any(function);
      return action->exact(any, static_cast<arma::mat&>(iterate));
    }
  }

 private:
  const Action* action;
};

} // namespace cli
} // namespace dasgd

#endif
