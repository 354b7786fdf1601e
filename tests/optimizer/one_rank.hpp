/**
 * @file one_rank.hpp
 *
 * Runs ens::SGD and dasgd::DASGD side by side and compares all that a program
 * can see of them, bit for bit.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_OPTIMIZER_ONE_RANK_HPP
#define DASGD_TESTS_OPTIMIZER_ONE_RANK_HPP

#include "probe.hpp"

#include "catch.hpp"

#include <cstdio>

namespace tests {

//! A number such that only equal bits give equal text.
inline std::string Exact(const double value)
{
  char text[48];
  std::snprintf(text, sizeof(text), " %a", value);
  return text;
}

template<typename ElemType>
std::string Exact(const arma::Mat<ElemType>& values)
{
  std::string text;
  for (const ElemType value : values)
    text += Exact(double(value));
  return text;
}

//! Writes down every call with all its arguments; asks to stop when told to.
class Recorder
{
 public:
  //! @param stopAt Ask to stop at the given call of this name, counted from 1.
  Recorder(const std::string& stopAt = "", const size_t stopCall = 0) :
      stopAt(stopAt), stopCall(stopCall) { }

  std::vector<std::string> events;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void BeginOptimization(OptimizerType& optimizer, FunctionType&, MatType& x)
  { Note("BeginOptimization", Exact(optimizer.StepSize()) + Exact(x)); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void EndOptimization(OptimizerType&, FunctionType&, MatType& x)
  { Note("EndOptimization", Exact(x)); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool Evaluate(OptimizerType&,
                FunctionType&,
                const MatType& x,
                const double objective)
  { return Note("Evaluate", Exact(objective) + Exact(x)); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool Gradient(OptimizerType&,
                FunctionType&,
                const MatType& x,
                const MatType& gradient)
  { return Note("Gradient", Exact(x) + Exact(gradient)); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType& optimizer, FunctionType&, const MatType& x)
  { return Note("StepTaken", Exact(optimizer.StepSize()) + Exact(x)); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool BeginEpoch(OptimizerType&,
                  FunctionType&,
                  const MatType& x,
                  const size_t epoch,
                  const double objective)
  { return Note("BeginEpoch", Exact(epoch) + Exact(objective) + Exact(x)); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType&,
                FunctionType&,
                const MatType& x,
                const size_t epoch,
                const double objective)
  { return Note("EndEpoch", Exact(epoch) + Exact(objective) + Exact(x)); }

 private:
  bool Note(const std::string& name, const std::string& arguments)
  {
    events.push_back(name + arguments);
    return name == stopAt && ++calls == stopCall;
  }

  std::string stopAt;
  size_t stopCall;
  size_t calls = 0;
};

//! One way to call the optimizers.
struct Call
{
  size_t batchSize = 8;
  size_t maxIterations = 180;
  double tolerance = -1;
  bool shuffle = true;
  bool exactObjective = false;
  std::string stopAt = "";
  size_t stopCall = 0;
  double stepSize = 0.03;
  bool resetPolicy = true;
  //! How often to call Optimize().
  size_t times = 1;

  std::string Text() const
  {
    return "batch " + std::to_string(batchSize) + ", iterations " +
        std::to_string(maxIterations) + ", tolerance " +
        std::to_string(tolerance) + (shuffle ? ", shuffled" : "") +
        (exactObjective ? ", exact" : "") + (resetPolicy ? "" : ", kept") +
        (stopAt.empty() ? "" : ", stop at " + stopAt + " " +
        std::to_string(stopCall)) + ", " + std::to_string(times) + " times";
  }
};

//! All that can be seen of an optimizer: calls, return value, iterate, and the
//! random number that the program draws next.
template<typename MatType, typename OptimizerType, typename FunctionType>
std::vector<std::string> Record(OptimizerType& optimizer,
                                FunctionType function,
                                const MatType& start,
                                const Call& call)
{
  arma::arma_rng::set_seed(7);
  MatType iterate = start;
  std::vector<std::string> all;
  for (size_t i = 0; i < call.times; ++i)
  {
    Recorder recorder(call.stopAt, call.stopCall);
    const auto result = optimizer.Optimize(function, iterate, recorder);
    static_assert(std::is_same<decltype(result),
        const typename MatType::elem_type>::value, "");
    all.insert(all.end(), recorder.events.begin(), recorder.events.end());
    all.push_back("returned" + Exact(result));
    all.push_back("iterate" + Exact(iterate));
  }
  all.push_back("random" + Exact(arma::randu()));
  return all;
}

/**
 * Compare both optimizers.  With several ranks, the last does this alone: it
 * shows that a communicator of one rank is all that counts.
 *
 * @param function Copied for each.
 */
template<typename UpdateType,
         typename DecayType,
         typename MatType,
         typename FunctionType>
void CompareWithSGD(const Call& call,
                    const FunctionType& function,
                    const MatType& start,
                    const UpdateType& update,
                    const DecayType& decay)
{
  if (Rank() + 1 != Ranks())
    return;
  ens::SGD<UpdateType, DecayType> theirs(call.stepSize, call.batchSize,
      call.maxIterations, call.tolerance, call.shuffle, update, decay,
      call.resetPolicy, call.exactObjective);
  dasgd::DASGD<UpdateType, DecayType> ours(call.stepSize, call.batchSize,
      call.maxIterations, call.tolerance, call.shuffle, update, decay,
      call.resetPolicy, call.exactObjective);
  ours.Communicator() = MPI_COMM_SELF;

  const std::vector<std::string> expected = Record(theirs, function, start,
      call);
  const std::vector<std::string> got = Record(ours, function, start, call);

  INFO(call.Text());
  CHECK(got.size() == expected.size());
  size_t first = 0;
  while (first < std::min(got.size(), expected.size()) &&
      got[first] == expected[first])
    ++first;
  INFO("events before the first difference: " << first);
  if (first < std::min(got.size(), expected.size()))
    CHECK(got[first] == expected[first]);
}

//! Sixty points, and an iterate of the given type.
template<typename MatType>
struct SixtyPoints
{
  using BaseType = arma::Mat<typename MatType::elem_type>;

  ProbeType<BaseType> function{60, 6};
  MatType start;

  SixtyPoints()
  {
    if (arma::is_Col<MatType>::value)
      start.set_size(6);
    else
      start.set_size(3, 2);
    for (size_t i = 0; i < start.n_elem; ++i)
      start[i] = typename MatType::elem_type(0.1 * double(i) - 0.3);
  }
};

template<typename MatType, typename UpdateType>
void CompareWithSGD(const Call& call, const UpdateType& update)
{
  const SixtyPoints<MatType> problem;
  CompareWithSGD(call, problem.function, problem.start, update,
      ens::NoDecay());
}

} // namespace tests

#endif
