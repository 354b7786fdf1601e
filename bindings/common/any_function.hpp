/**
 * @file any_function.hpp
 *
 * A function to minimize, without its type: so that the optimizers are compiled
 * once and not for every model.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_ANY_FUNCTION_HPP
#define DASGD_BINDINGS_COMMON_ANY_FUNCTION_HPP

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
class AnyFunction
{
 public:
  virtual ~AnyFunction() = default;

  size_t NumFunctions() const { return DoNumFunctions(); }

  void Shuffle() { DoShuffle(); }

  double Evaluate(const arma::mat& iterate,
                  const size_t begin,
                  const size_t size)
  { return DoEvaluate(iterate, begin, size); }

  double EvaluateWithGradient(const arma::mat& iterate,
                              const size_t begin,
                              arma::mat& gradient,
                              const size_t size)
  { return DoEvaluateWithGradient(iterate, begin, gradient, size); }

  void Gradient(const arma::mat& iterate,
                const size_t begin,
                arma::mat& gradient,
                const size_t size)
  { (void) DoEvaluateWithGradient(iterate, begin, gradient, size); }

  //! What a network keeps beside its parameters.
  void VisitStatistics(const std::function<void(arma::mat&)>& action)
  { DoVisitStatistics(action); }

 private:
  virtual size_t DoNumFunctions() const = 0;
  virtual void DoShuffle() = 0;
  virtual double DoEvaluate(const arma::mat& iterate,
                            size_t begin,
                            size_t size) = 0;
  virtual double DoEvaluateWithGradient(const arma::mat& iterate,
                                        size_t begin,
                                        arma::mat& gradient,
                                        size_t size) = 0;
  virtual void DoVisitStatistics(const std::function<void(arma::mat&)>&) { }
};

} // namespace cli
} // namespace dasgd

#endif
