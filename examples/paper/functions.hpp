/**
 * @file functions.hpp
 *
 * The two functions of the paper's first experiments.  Their gradients have no
 * noise: every point is the whole function, and there is no end of points.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_PAPER_FUNCTIONS_HPP
#define DASGD_EXAMPLES_PAPER_FUNCTIONS_HPP

#include <dasgd/core/random.hpp>

#include <armadillo>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace example {

//! A normal deviate; the same seed gives the same ones on every machine.
inline double Normal(dasgd::Random& random)
{
  // Box and Muller.
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
  return radius * std::cos(2 * arma::datum::pi * random.Uniform());
}

/**
 * What both have in common: the interface of a separable function, and the time
 * that a gradient is made to take when it is not computed on virtual time.
 */
template<typename FunctionType>
class NoiselessFunction
{
 public:
  size_t NumFunctions() const { return size_t(1) << 40; }
  void Shuffle() { }

  double EvaluateWithGradient(const arma::mat& x,
                              const size_t /* begin */,
                              arma::mat& gradient,
                              const size_t batchSize)
  {
    const Clock::time_point end = Clock::now() + delay;
    const double value = Self().Value(x, gradient);
    if (batchSize != 1)
      gradient *= double(batchSize);
    // A sleep would be far longer than the shortest of these delays.
    while (delay != Clock::duration::zero() && Clock::now() < end) { }
    return value * double(batchSize);
  }

  double Evaluate(const arma::mat& x, const size_t, const size_t batchSize)
  {
    arma::mat gradient;
    return Self().Value(x, gradient) * double(batchSize);
  }

  //! Each gradient takes so many seconds.
  void Delay(const double seconds)
  {
    delay = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(seconds));
  }

 private:
  using Clock = std::chrono::steady_clock;

  FunctionType& Self() { return static_cast<FunctionType&>(*this); }

  Clock::duration delay = Clock::duration::zero();
};

//! f(x) = 1/2 ||A x - b||^2, d = 10, eigenvalues of A from 1 to 2.
class Quadratic : public NoiselessFunction<Quadratic>
{
 public:
  static const char* Name() { return "quadratic"; }

  explicit Quadratic(const size_t seed)
  {
    dasgd::Random random(seed);
    const size_t d = 10;
    arma::mat normal(d, d), basis, triangle;
    normal.imbue([&]() { return Normal(random); });
    arma::qr(basis, triangle, normal);
    arma::vec eigenvalues(d);
    eigenvalues.imbue([&]() { return random.Uniform(1, 2); });
    eigenvalues[0] = 1;
    eigenvalues[d - 1] = 2;
    A = basis * arma::diagmat(eigenvalues) * basis.t();
    b.set_size(d);
    b.imbue([&]() { return Normal(random); });
  }

  size_t Dimension() const { return A.n_cols; }
  //! The largest eigenvalue of A^T A.
  double Smoothness() const { return 4; }

  double Value(const arma::mat& x, arma::mat& gradient)
  {
    residual = A * x - b;
    gradient = A.t() * residual;
    return arma::dot(residual, residual) / 2;
  }

 private:
  arma::mat A;
  arma::vec b;
  arma::vec residual;
};

//! f(x) = 1/m sum over j of log(1 + exp(-b_j a_j^T x)), m = 100, d = 20.
class Logistic : public NoiselessFunction<Logistic>
{
 public:
  static const char* Name() { return "logistic"; }

  explicit Logistic(const size_t seed)
  {
    dasgd::Random random(seed);
    // The columns are b_j a_j.
    signedData.set_size(20, 100);
    signedData.imbue([&]() { return Normal(random); });
    for (size_t j = 0; j < signedData.n_cols; ++j)
      if (random.Chance(0.5))
        signedData.col(j) *= -1;
    rows = signedData.t();
  }

  size_t Dimension() const { return signedData.n_rows; }
  //! A bound for all x: the logistic function curves by at most 1/4.
  double Smoothness() const
  {
    return arma::eig_sym(arma::mat(signedData * rows)).max() /
        (4 * double(rows.n_rows));
  }

  double Value(const arma::mat& x, arma::mat& gradient)
  {
    margins = rows * x;
    double value = 0, product = 1;
    const double m = double(margins.n_elem);
    for (double& z : margins)
    {
      // exp() of what is not positive never overflows, nor do a hundred factors
      // of at most 2; one logarithm does for all.
      const double e = std::exp(-std::abs(z));
      product *= 1 + e;
      value += std::max(-z, 0.0);
      z = -((z >= 0) ? e : 1) / ((1 + e) * m);
    }
    gradient = signedData * margins;
    return (value + std::log(product)) / m;
  }

 private:
  arma::mat signedData;
  arma::mat rows;
  arma::vec margins;
};

} // namespace example

#endif
