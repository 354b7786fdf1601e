/**
 * @file statistics_test.cpp
 *
 * What a function learns beside its parameters is the same on all ranks, and
 * belongs to the model that they end with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

using namespace tests;

namespace {

//! Every gradient is 1, and there is a running mean of the models that they
//! were computed at, as BatchNormalization has one of its inputs.
struct Remembering
{
  size_t NumFunctions() const { return 400; }
  void Shuffle() { }

  double Evaluate(const arma::mat& iterate, size_t, const size_t size)
  { return iterate[0] * double(size); }

  double EvaluateWithGradient(const arma::mat& iterate,
                              const size_t begin,
                              arma::mat& gradient,
                              const size_t size)
  {
    gradient.set_size(1, 1);
    gradient[0] = double(size);
    mean = 0.9 * mean + 0.1 * iterate;
    ++batches;
    return Evaluate(iterate, begin, size);
  }

  void Gradient(const arma::mat& iterate,
                const size_t begin,
                arma::mat& gradient,
                const size_t size)
  { EvaluateWithGradient(iterate, begin, gradient, size); }

  void VisitStatistics(const std::function<void(arma::mat&)>& action)
  { action(mean); }

  arma::mat mean{ 1, 1, arma::fill::zeros };
  size_t batches = 0;
};

} // namespace

TEST_CASE("Running statistics follow the model that all ranks end with",
    "[statistics]")
{
  Remembering function;
  arma::mat iterate(1, 1, arma::fill::zeros);
  // The model moves by 1 with each gradient of any rank.
  dasgd::DASGD<> optimizer(1, 1, 4000, -1);
  optimizer.StalenessDamping() = 0;
  optimizer.LookAhead() = 0;
  optimizer.Optimize(function, iterate);
  CHECK(Same(iterate));
  CHECK(Same(function.mean));
  CHECK(iterate[0] == -4000);
  // The mean of one rank is 10 gradients behind.  One of n that computes every
  // n-th would be 10 n behind, and thousands if it was done early; of that,
  // half a percent may be left.
  CHECK(std::abs(function.mean[0] - iterate[0]) < 31);
  if (Ranks() == 1)
    CHECK(function.batches == 4000);
}
