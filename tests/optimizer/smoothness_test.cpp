/**
 * @file smoothness_test.cpp
 *
 * The estimate of the smoothness L, where it is known.  Every rank estimates
 * for itself.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/ensmallen/smoothness.hpp>

#include "catch.hpp"

#include <cstring>
#include <functional>
#include <limits>
#include <vector>

using dasgd::EstimateSmoothness;
using dasgd::SmoothnessOptions;

namespace {

double Normal(dasgd::Random& random)
{
  return std::sqrt(-2 * std::log(1 - random.Uniform())) *
      std::cos(2 * arma::datum::pi * random.Uniform());
}

template<typename MatType>
MatType NormalPoint(const size_t elements,
                    const double scale,
                    const std::uint64_t seed)
{
  dasgd::Random random(seed);
  MatType point(elements, 1);
  for (auto& value : point)
    value = typename MatType::elem_type(scale * Normal(random));
  return point;
}

/**
 * f_i(x) = weight_i (x'Hx / 2 - b'x), where H has the given eigenvalues, and a
 * reflection I - 2uu' as its eigenvectors.  All weights are 1 at first.
 */
template<typename MatType>
class Quadratic
{
 public:
  using ElemType = typename MatType::elem_type;

  Quadratic(const std::vector<double>& eigenvalues,
            const size_t points = 1) :
      weights(points, 1.0),
      visits(points, 0),
      eigenvalues(eigenvalues)
  {
    dasgd::Random random(7);
    double length = 0;
    for (size_t i = 0; i < eigenvalues.size(); ++i)
    {
      u.push_back(Normal(random));
      b.push_back(Normal(random));
      length += u[i] * u[i];
    }
    for (double& value : u)
      value /= std::sqrt(length);
  }

  size_t NumFunctions() const { return weights.size(); }
  void Shuffle() { FAIL("there is no reason to shuffle"); }

  ElemType Evaluate(const MatType&, const size_t, const size_t)
  {
    FAIL("gradients are enough");
    return 0;
  }

  ElemType EvaluateWithGradient(const MatType& x,
                                const size_t begin,
                                MatType& gradient,
                                const size_t batchSize)
  {
    ++calls;
    if (onGradient)
      onGradient();
    double weight = 0;
    for (size_t i = begin; i < begin + batchSize; ++i)
    {
      weight += weights.at(i);
      ++visits[i];
    }

    const ElemType* values = memory ? memory : x.memptr();
    std::vector<ElemType> y = Reflected(values);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] *= ElemType(eigenvalues[i]);
    y = Reflected(y.data());
    gradient.set_size(x.n_rows, x.n_cols);
    for (size_t i = 0; i < y.size(); ++i)
      gradient[i] = ElemType(weight) * (y[i] - ElemType(b[i]));
    if (spoil)
      gradient[0] = std::numeric_limits<ElemType>::quiet_NaN();
    return 0; // Nobody asks for it.
  }

  std::vector<double> weights;
  std::vector<size_t> visits;
  size_t calls = 0;
  std::function<void()> onGradient;
  bool spoil = false;
  //! As in a network: where the parameters are, whatever is passed.
  const ElemType* memory = nullptr;

 private:
  std::vector<ElemType> Reflected(const ElemType* x) const
  {
    ElemType product = 0;
    for (size_t i = 0; i < u.size(); ++i)
      product += ElemType(u[i]) * x[i];
    std::vector<ElemType> result(x, x + u.size());
    for (size_t i = 0; i < u.size(); ++i)
      result[i] -= 2 * product * ElemType(u[i]);
    return result;
  }

  std::vector<double> eigenvalues;
  std::vector<double> u;
  std::vector<double> b;
};

//! f_j(x) = log(1 + exp(-b_j a_j'x)), the paper's second experiment; given to
//! ensmallen as Evaluate() and Gradient() apart.
class Logistic
{
 public:
  Logistic(const size_t points, const size_t elements) :
      a(elements, points),
      b(1, points)
  {
    dasgd::Random random(3);
    for (double& value : a)
      value = Normal(random);
    for (double& value : b)
      value = random.Chance(0.5) ? 1 : -1;
  }

  size_t NumFunctions() const { return a.n_cols; }
  void Shuffle() { }

  double Evaluate(const arma::mat& x, const size_t begin, const size_t size)
  {
    double sum = 0;
    for (size_t j = begin; j < begin + size; ++j)
      sum += std::log1p(std::exp(-b[j] * arma::dot(a.col(j), x)));
    return sum;
  }

  void Gradient(const arma::mat& x,
                const size_t begin,
                arma::mat& gradient,
                const size_t size)
  {
    gradient.zeros(x.n_rows, x.n_cols);
    for (size_t j = begin; j < begin + size; ++j)
    {
      gradient -= b[j] / (1 + std::exp(b[j] * arma::dot(a.col(j), x))) *
          a.col(j);
    }
  }

  //! lambda_max(A'A) / (4 m): no sigmoid is steeper than 1/4.
  double Bound() const
  {
    return arma::eig_sym(arma::mat(a * a.t())).max() / (4 * a.n_cols);
  }

 private:
  arma::mat a;
  arma::mat b;
};

std::vector<double> Spread(const double from,
                           const double to,
                           const size_t count)
{
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(from + (to - from) * double(i) / double(count - 1));
  return values;
}

double LargestOf(const std::vector<double>& eigenvalues)
{
  double largest = 0;
  for (const double value : eigenvalues)
    largest = std::max(largest, std::abs(value));
  return largest;
}

//! Spectra of all kinds.
std::vector<std::vector<double>> Spectra()
{
  std::vector<std::vector<double>> spectra = {
      { 3 }, { -3 }, { 1e-4 }, { 1e5 },
      { 2, 1 }, { 2, 1.99 }, { 2, 2 }, { 1e4, 1e-4 }, { -5, 4.9 }, { 3, -3 },
      { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
      { 5, 4.9, 1, 1, 1, 1, 1, 1, 1, -4.95 },
      Spread(1, 2, 10), Spread(-3, 2.9, 10), Spread(9.9, 10, 10),
      Spread(0, 1, 100), Spread(-1, 1, 100), Spread(99, 100, 100) };
  std::vector<double> outlier = Spread(0, 1, 100);
  outlier[50] = -1.2;
  spectra.push_back(outlier);
  std::vector<double> geometric;
  for (size_t i = 0; i < 100; ++i)
    geometric.push_back(std::pow(0.9, double(i)));
  spectra.push_back(geometric);
  return spectra;
}

/**
 * All spectra, from several points and directions, within 1 %.  What rounding
 * may add is the cube root of epsilon squared, some 2e-5 in float, times the
 * norm of the gradient relative to curvature and distance: not above 1e-3 here.
 */
template<typename MatType>
void CheckSpectra(const double rounding)
{
  for (const std::vector<double>& eigenvalues : Spectra())
  {
    const size_t d = eigenvalues.size();
    const double largest = LargestOf(eigenvalues);
    // The gradient is made of Hx and b; b is of size 1, whatever H is.
    if (std::is_same<MatType, arma::fmat>::value && largest < 1e-3)
      continue;
    for (const double scale : { 0.0, 1.0, 100.0 })
    {
      for (std::uint64_t seed = 0; seed < 5; ++seed)
      {
        INFO(d << " elements, largest eigenvalue " << largest << ", scale "
            << scale << ", seed " << seed);
        Quadratic<MatType> function(eigenvalues);
        MatType point = NormalPoint<MatType>(d, scale, 11 + seed);
        SmoothnessOptions options;
        options.seed = seed;
        const double estimate = EstimateSmoothness(function, point, options);
        CHECK(estimate > 0.99 * largest);
        CHECK(estimate < (1 + rounding) * largest);
        CHECK(function.calls <= 2 * options.iterations);
      }
    }
  }
}

template<typename MatType>
bool SameBits(const MatType& a, const MatType& b)
{
  return a.n_elem == b.n_elem && std::memcmp(a.memptr(), b.memptr(),
      a.n_elem * sizeof(*a.memptr())) == 0;
}

//! A point with values that arithmetic might not bring back.
arma::mat AwkwardPoint()
{
  arma::mat point = NormalPoint<arma::mat>(10, 1, 5);
  point[0] = -0.0;
  point[1] = std::numeric_limits<double>::denorm_min();
  point[2] = 1e-200;
  point[3] = 1e6;
  return point;
}

} // namespace

TEST_CASE("Smoothness: quadratics with a known spectrum, in double",
    "[smoothness]")
{
  CheckSpectra<arma::mat>(1e-6);
}

TEST_CASE("Smoothness: quadratics with a known spectrum, in float",
    "[smoothness]")
{
  CheckSpectra<arma::fmat>(1e-3);
}

TEST_CASE("Smoothness: it is that of the mean over the points",
    "[smoothness]")
{
  for (const size_t points : { 1, 2, 7, 31, 32, 33, 100, 1024, 3001 })
  {
    INFO(points << " points");
    Quadratic<arma::mat> function({ 3, 1 }, points);
    // 1, 2, ..., N have the mean (N + 1) / 2.
    for (size_t i = 0; i < points; ++i)
      function.weights[i] = double(i + 1);
    arma::mat point = NormalPoint<arma::mat>(2, 1, 1);
    SmoothnessOptions options;
    options.points = 5000;
    options.iterations = 2; // As many as there are curvatures.
    CHECK(EstimateSmoothness(function, point, options) ==
        Approx(3 * double(points + 1) / 2).epsilon(0.01));
    // All of them, each once on either side.
    CHECK(function.visits == std::vector<size_t>(points, 4));
  }
}

TEST_CASE("Smoothness: a sample comes from all over the data, which may be "
    "sorted", "[smoothness]")
{
  for (const size_t wanted : { 10, 33, 64, 1000, 1024, 4095 })
  {
    INFO(wanted << " of 4096 points");
    Quadratic<arma::mat> function({ 3, 1 }, 4096);
    for (size_t i = 0; i < 4096; ++i)
      function.weights[i] = double(i) / 4096;
    arma::mat point = NormalPoint<arma::mat>(2, 1, 1);
    SmoothnessOptions options;
    options.points = wanted;
    options.iterations = 2;
    const double estimate = EstimateSmoothness(function, point, options);
    // Batches begin where slices do, so half a slice is missing: 1/20 of all
    // with 10 slices.
    CHECK(estimate == Approx(1.5).epsilon(0.12));

    size_t visited = 0;
    for (const size_t visits : function.visits)
    {
      if (visits != 0 && visits != 4)
        FAIL("a point was visited " << visits << " times");
      visited += (visits != 0);
    }
    CHECK(visited <= wanted);
    CHECK(visited >= wanted - wanted / 10);
  }
}

TEST_CASE("Smoothness: the point is put back to the bit", "[smoothness]")
{
  const arma::mat before = AwkwardPoint();
  arma::mat point = before;
  Quadratic<arma::mat> function(Spread(1, 2, 10));
  // ... although it was elsewhere in between.
  bool moved = false;
  function.onGradient = [&]() { moved = moved || !SameBits(point, before); };
  EstimateSmoothness(function, point);
  CHECK(moved);
  CHECK(SameBits(point, before));
}

TEST_CASE("Smoothness: the point is put back if the function throws",
    "[smoothness]")
{
  const arma::mat before = AwkwardPoint();
  for (const size_t last : { 1, 2, 5 })
  {
    INFO("throws at call " << last);
    arma::mat point = before;
    Quadratic<arma::mat> function(Spread(1, 2, 10));
    function.onGradient = [&]()
    {
      if (function.calls == last)
        throw std::logic_error("enough");
    };
    CHECK_THROWS_AS(EstimateSmoothness(function, point), std::logic_error);
    CHECK(SameBits(point, before));
  }
}

TEST_CASE("Smoothness: a gradient that is not finite is an error",
    "[smoothness]")
{
  const arma::mat before = AwkwardPoint();
  arma::mat point = before;
  Quadratic<arma::mat> function(Spread(1, 2, 10), 3);
  function.spoil = true;
  CHECK_THROWS_WITH(EstimateSmoothness(function, point),
      Catch::Matchers::ContainsSubstring("gradient") &&
      Catch::Matchers::ContainsSubstring("not finite"));
  CHECK_THROWS_AS(EstimateSmoothness(function, point), std::runtime_error);
  CHECK(SameBits(point, before));

  function.spoil = false;
  point[4] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(EstimateSmoothness(function, point), std::runtime_error);
}

TEST_CASE("Smoothness: arguments without a meaning are refused",
    "[smoothness]")
{
  Quadratic<arma::mat> function({ 1, 2 });
  arma::mat point(2, 1, arma::fill::zeros);
  SmoothnessOptions options;
  options.points = 0;
  CHECK_THROWS_AS(EstimateSmoothness(function, point, options),
      std::invalid_argument);
  options = SmoothnessOptions();
  options.iterations = 0;
  CHECK_THROWS_AS(EstimateSmoothness(function, point, options),
      std::invalid_argument);
  options = SmoothnessOptions();
  options.tolerance = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(EstimateSmoothness(function, point, options),
      std::invalid_argument);
  options.tolerance = -1;
  CHECK_THROWS_AS(EstimateSmoothness(function, point, options),
      std::invalid_argument);

  Quadratic<arma::mat> none({ 1, 2 }, 0);
  CHECK_THROWS_AS(EstimateSmoothness(none, point), std::invalid_argument);
  arma::mat empty;
  CHECK_THROWS_AS(EstimateSmoothness(function, empty), std::invalid_argument);
}

TEST_CASE("Smoothness: a linear function has none", "[smoothness]")
{
  for (const size_t points : { 1, 100, 5000 })
  {
    INFO(points << " points");
    Quadratic<arma::mat> function({ 0, 0, 0 }, points);
    for (size_t i = 0; i < points; ++i)
      function.weights[i] = 1.0 / double(i + 3);
    arma::mat point = NormalPoint<arma::mat>(3, 10, 2);
    CHECK(EstimateSmoothness(function, point) == 0);
    CHECK(function.calls <= 2 * 80);

    Quadratic<arma::fmat> single({ 0 }, points);
    arma::fmat place = NormalPoint<arma::fmat>(1, 10, 2);
    CHECK(EstimateSmoothness(single, place) == 0);
  }
}

TEST_CASE("Smoothness: it works on the memory that a network reads",
    "[smoothness]")
{
  Quadratic<arma::mat> function(Spread(-4, 3, 10));
  arma::mat point = NormalPoint<arma::mat>(10, 1, 4);
  function.memory = point.memptr();
  CHECK(EstimateSmoothness(function, point) == Approx(4).epsilon(0.01));
  CHECK(point.memptr() == function.memory);
}

TEST_CASE("Smoothness: points may have any shape", "[smoothness]")
{
  Quadratic<arma::mat> function({ 5, 1, 1, 1, 1, 1 });
  arma::mat wide(2, 3, arma::fill::ones);
  CHECK(EstimateSmoothness(function, wide) == Approx(5).epsilon(0.01));
  arma::vec column(6, arma::fill::ones);
  CHECK(EstimateSmoothness(function, column) == Approx(5).epsilon(0.01));
}

TEST_CASE("Smoothness: random numbers of the program go on untouched, and the "
    "seed alone decides", "[smoothness]")
{
  const auto estimate = [](const std::uint64_t seed)
  {
    Quadratic<arma::mat> function(Spread(0, 1, 10));
    arma::mat point = NormalPoint<arma::mat>(10, 1, 4);
    SmoothnessOptions options;
    options.seed = seed;
    options.iterations = 3;
    return EstimateSmoothness(function, point, options);
  };
  arma::arma_rng::set_seed(5);
  const double expected = arma::randu();
  arma::arma_rng::set_seed(5);
  const double first = estimate(1);
  CHECK(arma::randu() == expected);
  CHECK(estimate(1) == first);
  CHECK(estimate(2) != first);
}

TEST_CASE("Smoothness: the estimate grows, and stops once it has settled",
    "[smoothness]")
{
  Quadratic<arma::mat> function(Spread(0, 1, 100));
  arma::mat point = NormalPoint<arma::mat>(100, 1, 4);
  SmoothnessOptions options;
  options.tolerance = 0;
  double last = 0;
  for (const size_t iterations : { 1, 2, 3, 5, 10, 15, 20, 25 })
  {
    options.iterations = iterations;
    function.calls = 0;
    const double estimate = EstimateSmoothness(function, point, options);
    CHECK(function.calls == 2 * iterations);
    CHECK(estimate > last);
    CHECK(estimate < 1 + 1e-6);
    last = estimate;
  }

  // One curvature only: known at once, and seen not to change three times.
  Quadratic<arma::mat> round({ 2, 2, 2 });
  arma::mat place = NormalPoint<arma::mat>(3, 1, 4);
  CHECK(EstimateSmoothness(round, place) == Approx(2).epsilon(1e-6));
  CHECK(round.calls <= 2 * 4);
}

TEST_CASE("Smoothness: logistic regression, against lambda_max(A'A) / (4 m)",
    "[smoothness]")
{
  Logistic function(100, 20);
  const double bound = function.Bound();

  // All sigmoids are steepest at 0, where the bound is exact.
  arma::mat point(20, 1, arma::fill::zeros);
  CHECK(EstimateSmoothness(function, point) == Approx(bound).epsilon(0.01));

  for (const double scale : { 0.1, 0.5, 1.0, 3.0 })
  {
    INFO("scale " << scale);
    point = NormalPoint<arma::mat>(20, scale, 9);
    const double estimate = EstimateSmoothness(function, point);
    CHECK(estimate > 0);
    CHECK(estimate < bound);
  }
}
