/**
 * @file double_iterate.hpp
 *
 * A model that is computed in single precision, for an optimizer that works in
 * double precision.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_ONNX_DOUBLE_ITERATE_HPP
#define DASGD_BINDINGS_ONNX_DOUBLE_ITERATE_HPP

#include <dasgd_onnx.hpp>

#include <functional>

namespace dasgd {
namespace onnx_program {

/**
 * The optimizers of the programs are compiled once, for arma::mat.  To convert
 * weights and gradient takes little time beside computing the gradient, and
 * small steps are not rounded away.
 */
class DoubleIterate
{
 public:
  explicit DoubleIterate(OnnxFunction<arma::fmat>& function) :
      function(function) { }

  size_t NumFunctions() const { return function.NumFunctions(); }
  void Shuffle() { function.Shuffle(); }

  double Evaluate(const arma::mat& iterate,
                  const size_t begin,
                  const size_t batchSize)
  {
    Convert(iterate, weights);
    return function.Evaluate(weights, begin, batchSize);
  }

  double EvaluateWithGradient(const arma::mat& iterate,
                              const size_t begin,
                              arma::mat& result,
                              const size_t batchSize)
  {
    Convert(iterate, weights);
    const double loss = function.EvaluateWithGradient(weights, begin, gradient,
        batchSize);
    Convert(gradient, result);
    return loss;
  }

  void Gradient(const arma::mat& iterate,
                const size_t begin,
                arma::mat& result,
                const size_t batchSize)
  { EvaluateWithGradient(iterate, begin, result, batchSize); }

  void VisitStatistics(const std::function<void(arma::mat&)>& action)
  { function.VisitStatistics(action); }

  //! Numbers of one precision as those of the other.
  template<typename FromType, typename ToType>
  static void Convert(const FromType& from, ToType& to)
  {
    to.set_size(from.n_rows, from.n_cols);
    const auto* first = from.memptr();
    auto* const target = to.memptr();
    for (size_t i = 0; i < from.n_elem; ++i)
      target[i] = typename ToType::elem_type(first[i]);
  }

 private:
  OnnxFunction<arma::fmat>& function;
  arma::fmat weights, gradient;
};

} // namespace onnx_program
} // namespace dasgd

#endif
