/**
 * @file record.cpp
 *
 * Trains for a moment with its history recorded, writes that to the file that
 * is its argument, and prints the report as JSON to compare with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

#include <iostream>

namespace {

//! f_i(x) = |x - i / n|^2 / 2 for n points.
class Quadratic
{
 public:
  explicit Quadratic(const size_t points) : points(points) { }

  size_t NumFunctions() const { return points; }
  void Shuffle() { }

  double Evaluate(const arma::mat& x,
                  const size_t begin,
                  const size_t batchSize)
  {
    double sum = 0;
    for (size_t i = begin; i < begin + batchSize; ++i)
      sum += 0.5 * arma::accu(arma::square(x - Center(i)));
    return sum;
  }

  void Gradient(const arma::mat& x,
                const size_t begin,
                arma::mat& gradient,
                const size_t batchSize)
  {
    gradient.zeros(arma::size(x));
    for (size_t i = begin; i < begin + batchSize; ++i)
      gradient += x - Center(i);
  }

 private:
  double Center(const size_t i) const { return double(i) / double(points); }

  size_t points;
};

} // namespace

int main(int argc, char** argv)
{
  if (argc != 2)
  {
    std::cerr << "Usage: " << argv[0] << " <file to write>\n";
    return 2;
  }
  // 200 gradients of one point each, over all ranks.
  Quadratic function(200);
  arma::mat x(100, 1, arma::fill::ones);
  dasgd::DASGD<> optimizer(1e-3, 1, 200, -1);
  // So that rank 0 relays.
  optimizer.Topology() = "tree";
  optimizer.RecordHistory() = true;
  optimizer.Optimize(function, x);

  dasgd::SaveHistory(optimizer.History(), argv[1]);
  if (!optimizer.History().empty())
    std::cout << optimizer.Report().Json();
  return 0;
}
