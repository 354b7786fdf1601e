/**
 * @file train.cpp
 *
 * Trains; includes dasgd as main.cpp does, so that a function which dasgd
 * defines without saying inline is found twice by the linker.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

#include "train.hpp"

#ifdef DASGD_COMPILED
static_assert(EXPECT_COMPILED, "dasgd::dasgd must be headers only here");
#else
static_assert(!EXPECT_COMPILED, "the compiled library must be used here");
#endif

namespace {

/**
 * The sum over 30 points p of |x - p|^2 / 2.  All points are the same, so every
 * order of steps, on any number of ranks, ends in the minimum without noise.
 */
class Quadratic
{
 public:
  Quadratic() : points(arma::repmat(Minimum(), 1, 30)) { }

  size_t NumFunctions() const { return points.n_cols; }

  void Shuffle() { points = arma::shuffle(points, 1); }

  double Evaluate(const arma::mat& x, const size_t begin, const size_t count)
  {
    arma::mat d = points.cols(begin, begin + count - 1);
    d.each_col() -= x.col(0);
    return 0.5 * arma::accu(d % d);
  }

  void Gradient(const arma::mat& x,
                const size_t begin,
                arma::mat& gradient,
                const size_t count)
  {
    gradient = count * x - arma::sum(points.cols(begin, begin + count - 1), 1);
  }

 private:
  arma::mat points;
};

} // namespace

arma::vec Minimum() { return { 1.0, -2.0, 3.0 }; }

void Train(arma::mat& coordinates)
{
  Quadratic function;
  // Each of the 3000 batches takes off at least a hundredth of the distance.
  dasgd::DASGD optimizer(0.01, 2, 30 * 200, 0.0);
  optimizer.Optimize(function, coordinates);
}
