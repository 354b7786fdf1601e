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

#include <ensmallen.hpp>

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
};

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
