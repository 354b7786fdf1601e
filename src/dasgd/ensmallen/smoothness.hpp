/**
 * @file smoothness.hpp
 *
 * Estimates how smooth a function is: the L of the paper's step limits.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_SMOOTHNESS_HPP
#define DASGD_ENSMALLEN_SMOOTHNESS_HPP

#include "../core/random.hpp"
#include "../core/vector_ops.hpp"
#include "ensmallen.hpp"
#include "../training/training_source.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace dasgd {

namespace detail {

/**
 * The Hessian of the mean over some of the data, as far as it can be multiplied
 * by vectors.  Moves the point in place, since a network reads its parameters
 * from that very memory and ignores what is passed, and puts it back when it
 * goes out of scope.
 */
template<typename FunctionType, typename MatType>
class MeanHessian
{
 public:
  using ElemType = typename MatType::elem_type;

  MeanHessian(FunctionType& function,
                MatType& point,
                const size_t points) :
      function(function),
      point(point),
      original(point.memptr(), point.memptr() + point.n_elem),
      gradient(point.n_rows, point.n_cols, arma::fill::zeros),
      held(function.NumFunctions())
  {
    if (held == 0 || points == 0 || point.n_elem == 0)
    {
      throw std::invalid_argument("EstimateSmoothness(): a point of " +
          std::to_string(point.n_elem) + " elements, " + std::to_string(held) +
          " points of data and " + std::to_string(points) + " of them to use "
          "were given; each must be at least 1");
    }
    // Data may be sorted: cut it into slices, and use a batch of each.
    const bool all = (points >= held);
    const size_t wanted = std::min(points, held);
    batchSize = std::min<size_t>((wanted + 31) / 32, 64);
    batches = (wanted + (all ? batchSize - 1 : 0)) / batchSize;
    used = all ? held : batches * batchSize;
  }

  MeanHessian(const MeanHessian&) = delete;
  MeanHessian& operator=(const MeanHessian&) = delete;

  ~MeanHessian()
  {
    std::copy(original.begin(), original.end(), point.memptr());
  }

  //! product = H * direction, from the gradients on either side.
  void Multiply(const std::vector<double>& direction,
                const double distance,
                std::vector<double>& product)
  {
    // Two sums, formed alike: what does not change cancels to the bit.
    SumGradients(direction, distance, product);
    SumGradients(direction, -distance, behind);
    for (size_t i = 0; i < product.size(); ++i)
      product[i] = (product[i] - behind[i]) / (2 * distance * double(used));
  }

 private:
  size_t Slice(const size_t k) const
  { return held / batches * k + std::min(k, held % batches); }

  //! In double, so that adding up the points does not cost digits.
  void SumGradients(const std::vector<double>& direction,
                    const double distance,
                    std::vector<double>& sum)
  {
    ElemType* x = point.memptr();
    for (size_t i = 0; i < direction.size(); ++i)
      x[i] = ElemType(double(original[i]) + distance * direction[i]);

    sum.assign(direction.size(), 0.0);
    for (size_t k = 0; k < batches; ++k)
    {
      const size_t begin = Slice(k);
      const size_t size = std::min(batchSize, Slice(k + 1) - begin);
      function.EvaluateWithGradient(point, begin, gradient, size);
      const ElemType* g = gradient.memptr();
      if (!AllFinite(g, sum.size()))
      {
        throw std::runtime_error("EstimateSmoothness(): the gradient of points "
            + std::to_string(begin) + " to " + std::to_string(begin + size - 1)
            + " is not finite; begin elsewhere, or look for points that are "
            "not finite");
      }
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += double(g[i]);
    }
  }

  FunctionType& function;
  MatType& point;
  const std::vector<ElemType> original;
  MatType gradient;
  std::vector<double> behind;
  const size_t held;
  size_t used;
  size_t batchSize;
  size_t batches;
};

inline double Norm(const std::vector<double>& values)
{
  double sum = 0;
  for (const double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

//! target -= factor * source.
inline void Subtract(std::vector<double>& target,
                     const double factor,
                     const std::vector<double>& source)
{
  for (size_t i = 0; i < target.size(); ++i)
    target[i] -= factor * source[i];
}

/**
 * The largest absolute eigenvalue that combinations of the directions H^k v of
 * a random v show.
 *
 * @param distance How far to go for differences of gradients.
 */
template<typename HessianType>
double LargestCurvature(HessianType& hessian,
                        const size_t elements,
                        const double distance,
                        const SmoothnessOptions& options)
{
  Random random(options.seed);
  std::vector<double> direction(elements), product, last;
  for (double& value : direction)
    value = random.Uniform(-1, 1);
  double length = Norm(direction);

  // H v_k = T(k-1,k) v_(k-1) + T(k,k) v_k + T(k+1,k) v_(k+1), with orthogonal
  // v_k of length 1.  So ||Hv|| = ||Ty|| for v = sum of y_k v_k, and the
  // largest is the norm of T.  In time v_k lose their orthogonality to those
  // long past; that makes large values of T appear twice, but not larger.
  arma::mat T;
  double estimate = 0;
  size_t settled = 0;
  for (size_t k = 0; k < options.iterations && settled < 3 && length > 0; ++k)
  {
    for (double& value : direction)
      value /= length;
    hessian.Multiply(direction, distance, product);
    T.resize(k + 2, k + 1);
    if (k > 0)
    {
      T(k - 1, k) = length;
      Subtract(product, length, last);
    }
    T(k, k) = std::inner_product(product.begin(), product.end(),
        direction.begin(), 0.0);
    Subtract(product, T(k, k), direction);
    T(k + 1, k) = length = Norm(product);

    const double before = estimate;
    estimate = std::sqrt(arma::eig_sym(arma::mat(T.t() * T)).max());
    settled = (std::abs(estimate - before) < options.tolerance * estimate) ?
        settled + 1 : 0;
    last.swap(direction);
    direction.swap(product);
  }
  return estimate;
}

} // namespace detail

/**
 * The largest curvature of a separable function at a point: the largest
 * absolute eigenvalue of the Hessian of (1/N) sum f_i.  This is the L of
 * Assumption 3 as far as this point tells; elsewhere it may be larger.
 *
 * Power iteration, v, Hv, HHv and so on, with products of Hessian and vector
 * from differences of gradients.  Where plain power iteration takes ||Hv|| of
 * the last direction for its estimate, this takes the largest one of all
 * combinations of directions so far (Lanczos), which costs no more gradients:
 * the last direction alone gets stuck where two curvatures are close.
 *
 * The estimate comes from below: but for rounding it is never above the
 * curvature of the points used, and it grows with the iterations.  It is local
 * to this rank, takes no random numbers of the program's, and holds six vectors
 * of the point's size.  Randomness inside the function, such as dropout, must
 * be switched off: gradients with and without a unit cannot be compared.
 *
 * @param functionIn Anything that ens::SGD can optimize.
 * @param pointIn Where; moved in the meantime and put back to the bit, also if
 *     something is thrown.  For a network this is its Parameters().
 * @throws std::invalid_argument if there is no data, no element, no iteration.
 * @throws std::runtime_error if the point or a gradient is not finite.
 */
template<typename SeparableFunctionType, typename MatType>
double EstimateSmoothness(
    SeparableFunctionType& functionIn,
    MatType& pointIn,
    const SmoothnessOptions& options = SmoothnessOptions())
{
  using ElemType = typename MatType::elem_type;
  using BaseMatType = typename ens::MatTypeTraits<MatType>::BaseMatType;
  static_assert(std::is_same<BaseMatType, arma::Mat<ElemType>>::value,
      "dasgd: the point must be a dense arma::mat or arma::fmat (or a vector "
      "of either).");
  using FunctionType = ens::Function<SeparableFunctionType, BaseMatType,
      BaseMatType>;
  ens::traits::CheckSeparableFunctionTypeAPI<FunctionType, BaseMatType,
      BaseMatType>();
  ens::RequireFloatingPointType<BaseMatType>();

  FunctionType& function = static_cast<FunctionType&>(functionIn);
  BaseMatType& point = static_cast<BaseMatType&>(pointIn);
  if (options.iterations == 0 || !(options.tolerance >= 0))
  {
    throw std::invalid_argument("EstimateSmoothness(): " +
        std::to_string(options.iterations) + " iterations and a tolerance of " +
        std::to_string(options.tolerance) + " were given; there must be at "
        "least 1 iteration, and a tolerance of at least 0");
  }
  if (!AllFinite(point.memptr(), point.n_elem))
  {
    throw std::runtime_error("EstimateSmoothness(): the point is not finite; "
        "give one at which the function has a gradient");
  }

  // Central differences: their error falls with the square of the distance h,
  // that of rounding is like epsilon / h, so the cube root of epsilon balances
  // them, at 4e-11 (double) or 2e-5 (float) of the scale of the function.
  // One-sided ones take half the gradients but leave 3e-4 in float, before it
  // is multiplied by what the dimension and large gradients bring.
  const double distance = (1 + detail::Norm(std::vector<double>(
      point.memptr(), point.memptr() + point.n_elem))) *
      std::cbrt(double(std::numeric_limits<ElemType>::epsilon()));

  detail::MeanHessian<FunctionType, BaseMatType> hessian(function, point,
      options.points);
  const double estimate = detail::LargestCurvature(hessian, point.n_elem,
      distance, options);
  if (!std::isfinite(estimate))
  {
    throw std::runtime_error("EstimateSmoothness(): the curvature is not "
        "finite; begin elsewhere, or look for points that are far too large");
  }
  return estimate;
}

} // namespace dasgd

#endif
