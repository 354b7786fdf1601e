/**
 * @file probe.hpp
 *
 * What the tests of the optimizer share: a function that keeps account of its
 * visits and misbehaves on request, callbacks made of lambdas, and comparisons
 * across ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_OPTIMIZER_PROBE_HPP
#define DASGD_TESTS_OPTIMIZER_PROBE_HPP

#include <dasgd.hpp>

#include <functional>
#include <string>
#include <vector>

namespace tests {

//! This rank, and how many there are.
size_t Rank(MPI_Comm comm = MPI_COMM_WORLD);
size_t Ranks(MPI_Comm comm = MPI_COMM_WORLD);

//! Everybody's number, by rank.  All comparisons are collective.
std::vector<double> Gather(double mine, MPI_Comm comm = MPI_COMM_WORLD);
//! The sum over all ranks.
double Sum(double mine, MPI_Comm comm = MPI_COMM_WORLD);
//! Counts become their sums over all ranks.
void SumUp(std::vector<size_t>& counts, MPI_Comm comm = MPI_COMM_WORLD);
//! Is this so on all ranks?
bool All(bool mine, MPI_Comm comm = MPI_COMM_WORLD);
//! Do all ranks hold the same bytes?
bool Same(const void* bytes, size_t size, MPI_Comm comm = MPI_COMM_WORLD);

inline bool Same(const double value, const MPI_Comm comm = MPI_COMM_WORLD)
{ return Same(&value, sizeof(value), comm); }

inline bool Same(const std::string& text,
                 const MPI_Comm comm = MPI_COMM_WORLD)
{ return Same(text.data(), text.size(), comm); }

template<typename ElemType>
bool Same(const arma::Mat<ElemType>& values,
          const MPI_Comm comm = MPI_COMM_WORLD)
{ return Same(values.memptr(), values.n_elem * sizeof(ElemType), comm); }

/**
 * A separable function over points that know their names, so that it can be
 * told which were visited, however they were shuffled.  Two kinds:
 *
 *  - least squares, f_i(x) = (a_i'x - y_i)^2 / 2, with a known solution at
 *    which all terms are 0: there is no noise at the optimum;
 *  - linear, f_i(x) = a_i'x, with integers a_i: sums are exact in floating
 *    point, in whatever order they are formed.
 */
template<typename MatType>
class ProbeType
{
 public:
  using ElemType = typename MatType::elem_type;

  enum Kind { LeastSquares, Linear };

  /**
   * @param points Number of points.
   * @param elements Elements of the iterate, of whatever shape.
   * @param seed The same seed makes the same points; the solution is the same
   *     for all seeds.
   */
  ProbeType(const size_t points,
            const size_t elements,
            const Kind kind = LeastSquares,
            const std::uint64_t seed = 1) :
      kind(kind),
      visits(points, 0),
      a(elements, points),
      y(1, points),
      solution(elements, 1)
  {
    dasgd::Random random(0);
    for (ElemType& value : solution)
      value = ElemType(random.Uniform(-1, 1));
    random = dasgd::Random(seed);
    for (size_t i = 0; i < points; ++i)
    {
      for (size_t k = 0; k < elements; ++k)
      {
        // Uniform on [-sqrt(3), sqrt(3)] has variance 1.
        a(k, i) = (kind == Linear) ? ElemType(random.Below(1000)) :
            ElemType(random.Uniform(-1.7320508, 1.7320508));
      }
      y(0, i) = arma::dot(a.col(i), solution);
      names.push_back(i);
    }
  }

  size_t NumFunctions() const
  {
    if (onCount)
      onCount();
    return names.size();
  }

  void Shuffle()
  {
    ++shuffles;
    if (onShuffle)
      onShuffle();
    const arma::uvec order = arma::shuffle(arma::regspace<arma::uvec>(0,
        names.size() - 1));
    const std::vector<size_t> before = names;
    const MatType oldA = a;
    const MatType oldY = y;
    for (size_t i = 0; i < order.n_elem; ++i)
    {
      names[i] = before[order[i]];
      a.col(i) = oldA.col(order[i]);
      y.col(i) = oldY.col(order[i]);
    }
  }

  ElemType Evaluate(const MatType& iterate,
                    const size_t begin,
                    const size_t batchSize)
  {
    if (onEvaluate)
      onEvaluate();
    return Visit(iterate, begin, nullptr, batchSize) +
        (noise ? ElemType(noise()) : ElemType(0));
  }

  ElemType EvaluateWithGradient(const MatType& iterate,
                                const size_t begin,
                                MatType& gradient,
                                const size_t batchSize)
  {
    ++calls;
    if (onGradient)
      onGradient();
    for (size_t i = begin; i < begin + batchSize; ++i)
    {
      ++visits[names[i]];
      if (keepOrder)
        order.push_back(names[i]);
    }
    gradient.zeros(iterate.n_rows, iterate.n_cols);
    ElemType objective = Visit(iterate, begin, gradient.memptr(), batchSize);
    if (spoil)
      spoil(objective, gradient);
    return objective;
  }

  //! The objective over all points, counted nowhere.
  ElemType Objective(const MatType& iterate) const
  { return Visit(iterate, 0, nullptr, names.size()); }

  //! The sum of the gradients of all points, counted nowhere.
  MatType FullGradient(const MatType& iterate) const
  {
    MatType gradient(iterate.n_rows, iterate.n_cols, arma::fill::zeros);
    Visit(iterate, 0, gradient.memptr(), names.size());
    return gradient;
  }

  Kind kind;
  //! How often each point was visited, by name.
  std::vector<size_t> visits;
  //! The names in the order of visits, if asked for.
  bool keepOrder = false;
  std::vector<size_t> order;
  size_t calls = 0;
  size_t shuffles = 0;

  //! Called where the function is; they may throw.
  std::function<void()> onGradient, onEvaluate, onShuffle, onCount;
  //! Added to what Evaluate() answers.
  std::function<double()> noise;
  //! May change what EvaluateWithGradient() answers.
  std::function<void(ElemType&, MatType&)> spoil;

  //! The point at this place of the present order.
  const ElemType* Point(const size_t place) const { return a.colptr(place); }

  //! Where all terms are 0 (least squares).
  const MatType& Solution() const { return solution; }

 private:
  // Plain loops: quick for small sizes, and no BLAS threads.
  ElemType Visit(const MatType& iterate,
                 const size_t begin,
                 ElemType* gradient,
                 const size_t batchSize) const
  {
    const ElemType* x = iterate.memptr();
    ElemType sum = 0;
    for (size_t i = begin; i < begin + batchSize; ++i)
    {
      const ElemType* point = a.colptr(i);
      ElemType product = 0;
      for (size_t k = 0; k < a.n_rows; ++k)
        product += point[k] * x[k];
      const ElemType residual = product - y(0, i);
      sum += (kind == Linear) ? product : residual * residual / 2;
      const ElemType factor = (kind == Linear) ? ElemType(1) : residual;
      for (size_t k = 0; gradient && k < a.n_rows; ++k)
        gradient[k] += factor * point[k];
    }
    return sum;
  }

  std::vector<size_t> names;
  MatType a;
  MatType y;
  MatType solution;
};

using Probe = ProbeType<arma::mat>;

//! All of ensmallen's callbacks, as lambdas; counts how often each was called.
struct Hooks
{
  std::function<void()> begin, end;
  std::function<bool()> evaluate, gradient, step;
  std::function<bool(size_t epoch, double objective)> beginEpoch, endEpoch;

  size_t begins = 0, ends = 0, evaluates = 0, gradients = 0, steps = 0;
  size_t beginEpochs = 0, endEpochs = 0;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void BeginOptimization(OptimizerType&, FunctionType&, MatType&)
  {
    ++begins;
    if (begin)
      begin();
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void EndOptimization(OptimizerType&, FunctionType&, MatType&)
  {
    ++ends;
    if (end)
      end();
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool Evaluate(OptimizerType&, FunctionType&, const MatType&, const double)
  {
    ++evaluates;
    return evaluate && evaluate();
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool Gradient(OptimizerType&, FunctionType&, const MatType&, const MatType&)
  {
    ++gradients;
    return gradient && gradient();
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType&)
  {
    ++steps;
    return step && step();
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool BeginEpoch(OptimizerType&,
                  FunctionType&,
                  const MatType&,
                  const size_t epoch,
                  const double objective)
  {
    ++beginEpochs;
    return beginEpoch && beginEpoch(epoch, objective);
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType&,
                FunctionType&,
                const MatType&,
                const size_t epoch,
                const double objective)
  {
    ++endEpochs;
    return endEpoch && endEpoch(epoch, objective);
  }
};

/**
 * DASGD whose steps do not follow staleness, so that it is known exactly what
 * they do.
 */
class FixedDASGD : public dasgd::DASGD<>
{
 public:
  FixedDASGD() { StalenessDamping() = 0; }
  template<typename... ArgumentTypes>
  explicit FixedDASGD(const double stepSize,
                      const ArgumentTypes&... arguments) :
      dasgd::DASGD<>(stepSize, arguments...)
  { StalenessDamping() = 0; }
};

//! optimizer.Optimize(), compiled once for most of the tests.
double Optimize(dasgd::DASGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks);

inline double Optimize(dasgd::DASGD<>& optimizer,
                       Probe& probe,
                       arma::mat& iterate)
{
  Hooks hooks;
  return Optimize(optimizer, probe, iterate, hooks);
}

/**
 * The step size that makes the installed ensmallen step with `step` times the
 * mean gradient of a batch.
 */
inline double MeanStep(const double step, const size_t batchSize)
{
  return dasgd::ensmallen::dividesStep ? step : step / double(batchSize);
}

//! An error of the user's own, derived from nothing that this library knows.
struct OwnError
{
  int code;
};

//! How a call ended.
struct Ending
{
  enum Kind { Returned, Own, InvalidArgument, RuntimeError, Other };

  Kind kind = Returned;
  double value = 0;
  std::string text;

  bool Says(const std::string& part) const
  { return text.find(part) != std::string::npos; }
};

std::ostream& operator<<(std::ostream& stream, const Ending& ending);

//! Call something that returns a number, and keep what comes of it.
Ending Try(const std::function<double()>& action);

//! One topology of each sort that fits this many ranks, and a random graph.
std::vector<dasgd::Topology> Topologies(size_t ranks);

/**
 * Can all ranks still train together?  An error that left messages behind, or
 * a rank out of step, would show up here.
 */
bool StillWorks();

} // namespace tests

#endif
