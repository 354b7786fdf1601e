/**
 * @file any_function.hpp
 *
 * A function to minimize, without its type: so that the optimizers are compiled
 * once and not for every model.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_ANY_FUNCTION_HPP
#define DASGD_BINDINGS_TRAINING_ANY_FUNCTION_HPP

#include <armadillo>

#include <cstddef>
#include <functional>

namespace dasgd {
namespace cli {

/**
 * A separable function of any kind.  What is called is not virtual: ensmallen
 * derives a class from this one whose functions of the same names would hide
 * virtual ones.
 */
template<typename MatType>
class AnyFunctionFor
{
 public:
  using ElemType = typename MatType::elem_type;

  virtual ~AnyFunctionFor() = default;

  size_t NumFunctions() const { return DoNumFunctions(); }

  void Shuffle() { DoShuffle(); }

  ElemType Evaluate(const MatType& iterate,
                    const size_t begin,
                    const size_t size)
  { return DoEvaluate(iterate, begin, size); }

  ElemType EvaluateWithGradient(const MatType& iterate,
                                const size_t begin,
                                MatType& gradient,
                                const size_t size)
  { return DoEvaluateWithGradient(iterate, begin, gradient, size); }

  void Gradient(const MatType& iterate,
                const size_t begin,
                MatType& gradient,
                const size_t size)
  { (void) DoEvaluateWithGradient(iterate, begin, gradient, size); }

  //! What a network keeps beside its parameters.
  void VisitStatistics(const std::function<void(arma::mat&)>& action)
  { DoVisitStatistics(action); }

  //! An epoch is over.
  //! @param objective The mean, over the points of all ranks.
  void EpochEnded(const MatType& iterate,
                  const size_t epoch,
                  const double objective)
  { DoEpochEnded(iterate, epoch, objective); }

 private:
  virtual size_t DoNumFunctions() const = 0;
  virtual void DoShuffle() = 0;
  virtual ElemType DoEvaluate(const MatType& iterate,
                              size_t begin,
                              size_t size) = 0;
  virtual ElemType DoEvaluateWithGradient(const MatType& iterate,
                                          size_t begin,
                                          MatType& gradient,
                                          size_t size) = 0;
  virtual void DoVisitStatistics(const std::function<void(arma::mat&)>&) { }
  virtual void DoEpochEnded(const MatType&, size_t, double) { }
};

using AnyFunction = AnyFunctionFor<arma::mat>;

} // namespace cli
} // namespace dasgd

#endif
