/**
 * @file proof.hpp
 *
 * Time to test accuracies: DASGD, an all-reduce and ensmallen alone, on any
 * model.  Takes a file of runs, one in each line, and appends a row for each to
 * a table; see proof.py.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_BENCHMARKS_PROOF_HPP
#define DASGD_TESTS_BENCHMARKS_PROOF_HPP

#include <dasgd.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <malloc.h>
#include <sched.h>

namespace proof {

using Clock = std::chrono::steady_clock;

//! Targets that a row has room for.
constexpr size_t columns = 5;

//! How closely a model's way is followed: what times between two copies of it
//! grow by, and the accuracies to look for.  Tests take long where gradients
//! do.
struct Care
{
  double growth;
  std::vector<double> targets;
};

inline int rankOf = 0;
inline int ranks = 1;
//! Hosts that are network namespaces see the same memory.  Ranks that are alone
//! on theirs must not use it.
inline bool sharesMemory = true;

//! What a line of the file asks for.
struct Run
{
  std::string problem, way, policy;
  double step = 0;
  size_t batch = 32;
  size_t seed = 0;
  //! How long it lasts.
  double seconds = 0;
  //! How many times longer the last rank takes for a gradient.
  size_t slow = 1;
  //! It is slow in every second period of so many seconds; 0: always.
  double period = 0;
};

//! A model, when it was copied, and how many gradients were in it.
template<typename MatType>
struct Copy
{
  double seconds = 0;
  double gradients = 0;
  MatType iterate;
};

inline double Seconds(const Clock::time_point& begin)
{ return std::chrono::duration<double>(Clock::now() - begin).count(); }

//! Applied gradients, where an optimizer tells.
template<typename OptimizerType>
auto Applied(OptimizerType& optimizer, const size_t, int)
    -> decltype(optimizer.Live(), double())
{ return optimizer.Live() ? double(optimizer.Live()->applied) : 0.0; }

template<typename OptimizerType>
double Applied(OptimizerType&, const size_t steps, long)
{ return double(steps); }

/**
 * Copies the model of rank 0 whenever the time has grown by a factor, and stops
 * the run when its time is over.  The memory is there before.
 */
template<typename ModelType>
class Watch
{
 public:
  Watch(const ModelType& start, const double budget, const double growth) :
      budget(budget), growth(growth)
  {
    size_t count = 2;
    for (double time = first; time < budget; time *= growth)
      ++count;
    if (rankOf == 0)
      copies.assign(count, Copy<ModelType>{ 0, 0, start });
  }

  void Start() { begin = Clock::now(); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType& optimizer, FunctionType&, MatType& iterate)
  {
    ++steps;
    const double now = Seconds(begin);
    if (rankOf == 0 && now >= next && used < copies.size())
    {
      Copy<ModelType>& copy = copies[used++];
      copy.seconds = now;
      copy.gradients = Applied(optimizer, steps, 0);
      std::copy(iterate.begin(), iterate.end(), copy.iterate.begin());
      while (next <= now)
        next *= growth;
    }
    return rankOf == 0 && now >= budget;
  }

  std::vector<Copy<ModelType>> copies;
  size_t used = 1;
  size_t steps = 0;
  Clock::time_point begin;

 private:
  static constexpr double first = 0.05;
  double budget;
  double growth;
  double next = first;
};

//! A function whose gradients take several times as long, as if its rank had a
//! slower processor.
template<typename FunctionType>
class Slowed
{
 public:
  Slowed(FunctionType& function, const Run& run) :
      function(function), run(run) { }

  size_t NumFunctions() const { return function.NumFunctions(); }
  void Shuffle() { function.Shuffle(); }

  template<typename MatType>
  auto Evaluate(const MatType& x, const size_t begin, const size_t size)
  { return function.Evaluate(x, begin, size); }

  template<typename MatType>
  void Gradient(const MatType& x, const size_t begin, MatType& gradient,
                const size_t size)
  { EvaluateWithGradient(x, begin, gradient, size); }

  template<typename MatType>
  auto EvaluateWithGradient(const MatType& x, const size_t begin,
                            MatType& gradient, const size_t size)
  {
    const bool isSlow = rankOf == ranks - 1 && (run.period == 0 ||
        size_t(Seconds(start) / run.period) % 2 == 1);
    for (size_t i = 1; i < (isSlow ? run.slow : 1); ++i)
      (void) function.EvaluateWithGradient(x, begin, gradient, size);
    return function.EvaluateWithGradient(x, begin, gradient, size);
  }

 private:
  FunctionType& function;
  Run run;
  Clock::time_point start = Clock::now();
};

//! What a run said of itself.
struct Outcome
{
  double seconds = 0, gradients = 0, staleness = 0, idle = 0;
};

template<typename OptimizerType, typename FunctionType, typename MatType>
void Optimize(OptimizerType& optimizer, FunctionType& function,
              MatType& iterate, const Run& run, Watch<MatType>& watch)
{
  Slowed<FunctionType> slowed(function, run);
  watch.Start();
  if (run.slow > 1)
    optimizer.Optimize(slowed, iterate, watch);
  else
    optimizer.Optimize(function, iterate, watch);
}

//! Trains by one of dasgd's optimizers, with its defaults and no end but time.
template<typename OptimizerType, typename FunctionType, typename MatType>
Outcome TrainTogether(OptimizerType&& optimizer, FunctionType& function,
                      MatType& iterate, const Run& run, Watch<MatType>& watch)
{
  optimizer.Seed() = run.seed;
  optimizer.SharedMemory() = sharesMemory;
  Optimize(optimizer, function, iterate, run, watch);
  const dasgd::Report& report = optimizer.Report();
  double idle = 0;
  for (const dasgd::RankReport& rank : report.ranks)
    idle += rank.secondsIdle;
  return { report.seconds, double(report.Gradients()),
      report.StalenessAverage(), idle / (report.seconds *
      double(std::max<size_t>(report.ranks.size(), 1))) };
}

template<typename PolicyType, typename FunctionType, typename MatType>
Outcome With(const PolicyType& policy, FunctionType& function,
             MatType& iterate, const Run& run, Watch<MatType>& watch)
{
  // Adam's step does not depend on how long the gradient is, so nothing is to
  // be divided by the batch size.
  const bool isAdam = std::is_same<PolicyType, ens::AdamUpdate>::value;
  const double step = run.step * (isAdam && dasgd::ensmallen::dividesStep ?
      double(run.batch) : 1);
  if (run.way == "serial" || run.way == "threads")
  {
    ens::SGD<PolicyType> optimizer(step, run.batch, 0, -1, true, policy);
    Optimize(optimizer, function, iterate, run, watch);
    return { Seconds(watch.begin), double(watch.steps), 0, 0 };
  }
  if (run.way == "allreduce")
  {
    return TrainTogether(dasgd::AllreduceSGD<PolicyType, ens::NoDecay>(step,
        run.batch, 0, -1, true, policy), function, iterate, run, watch);
  }
  // Its name may be followed by how updates are written, or by "thread": then
  // they are exchanged while gradients are computed.
  if (run.way.compare(0, 5, "dasgd") == 0)
  {
    dasgd::DASGD<PolicyType, ens::NoDecay> optimizer(step, run.batch, 0, -1,
        true, policy);
    if (run.way == "dasgd_thread")
      optimizer.Overlap() = dasgd::Overlap::Always;
    else if (run.way.size() > 5)
      optimizer.WireFormat() = run.way.substr(6);
    return TrainTogether(optimizer, function, iterate, run, watch);
  }
  throw std::invalid_argument("way '" + run.way + "'?");
}

//! The part of right answers of rank 0's iterate on the first so many points to
//! test with, which all ranks judge together.
template<typename ModelType, typename MatType>
double Accuracy(ModelType& model, const MatType* iterate, const size_t count)
{
  MatType& judged = model.Judged();
  if (rankOf == 0)
    std::copy(iterate->begin(), iterate->end(), judged.begin());
  if (ranks > 1)
  {
    MPI_Bcast(judged.memptr(),
        int(judged.n_elem * sizeof(typename MatType::elem_type)), MPI_BYTE, 0,
        MPI_COMM_WORLD);
  }
  const size_t begin = count * size_t(rankOf) / size_t(ranks);
  const size_t end = count * size_t(rankOf + 1) / size_t(ranks);
  double right = 0;
  for (size_t i = begin; i < end; i += 250)
    right += double(model.Right(i, std::min<size_t>(250, end - i)));
  if (ranks > 1)
  {
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_DOUBLE, MPI_SUM,
        MPI_COMM_WORLD);
  }
  return right / double(count);
}

//! When each target was first reached, on a straight line between two copies;
//! not a number if it was not.
struct Crossings
{
  std::vector<double> seconds, gradients;
  double best = 0;
};

template<typename ModelType, typename MatType>
Crossings Judge(ModelType& model, const Watch<MatType>& watch)
{
  const std::vector<double> targets = model.Care().targets;
  const size_t points = model.TestPoints();
  Crossings result;
  result.seconds.assign(targets.size(), std::nan(""));
  result.gradients = result.seconds;
  unsigned long count = watch.used;
  if (ranks > 1)
    MPI_Bcast(&count, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  const auto judge = [&](const size_t i, const size_t first)
  {
    return Accuracy(model, rankOf == 0 ? &watch.copies[i].iterate : nullptr,
        first);
  };
  size_t target = 0;
  double before = 0;
  bool isWhole = false;
  for (size_t i = 1; i < count && target < targets.size(); ++i)
  {
    // A fifth of the points is enough for a model that is far away.
    const double part = judge(i, points / 5);
    const bool isFar = part < targets[target] - 0.025;
    if (!isFar && !isWhole && i > 1)
      before = judge(i - 1, points);
    const double now = isFar ? part : judge(i, points);
    isWhole = !isFar;
    if (isWhole)
      result.best = std::max(result.best, now);
    for (; target < targets.size() && isWhole && now >= targets[target];
         ++target)
    {
      if (rankOf != 0)
        continue;
      const double share = (now > before) ? std::max(0.0,
          (targets[target] - before) / (now - before)) : 1;
      const Copy<MatType>& from = watch.copies[i - 1];
      const Copy<MatType>& to = watch.copies[i];
      result.seconds[target] = from.seconds + share * (to.seconds -
          from.seconds);
      result.gradients[target] = from.gradients + share * (to.gradients -
          from.gradients);
    }
    before = now;
  }
  return result;
}

/**
 * @param model Has `Function()`, to be minimized from `Start()`, which it
 *     changes; `Care()`; and `Right(first, count)`, how many of those
 *     `TestPoints()` the iterate `Judged()` is right about.
 */
template<typename ModelType>
void Train(const Run& run, ModelType& model, std::ostream& table)
{
  auto& iterate = model.Start();
  using MatType = std::decay_t<decltype(iterate)>;
  {
    // Memory, caches and the processor's clock are warm when it counts.
    MatType gradient(iterate.n_rows, iterate.n_cols);
    for (size_t i = 0; i < 3; ++i)
      model.Function().EvaluateWithGradient(iterate, 0, gradient, 32);
  }
  Watch<MatType> watch(iterate, run.seconds, model.Care().growth);
  if (ranks > 1)
    MPI_Barrier(MPI_COMM_WORLD);
  const auto with = [&](const auto& policy)
  { return With(policy, model.Function(), iterate, run, watch); };
  const Outcome outcome = (run.policy == "sgd") ? with(ens::VanillaUpdate()) :
      (run.policy == "momentum") ? with(ens::MomentumUpdate(0.9)) :
      (run.policy == "adam") ? with(ens::AdamUpdate()) :
      throw std::invalid_argument("policy '" + run.policy + "'?");

  const Crossings crossings = Judge(model, watch);
  if (rankOf != 0)
    return;
  std::ostringstream row;
  row.precision(6);
  row << run.problem << ',' << run.way << ',' << run.policy << ','
      << (sizeof(typename MatType::elem_type) == 4 ? "single," : "double,")
      << ranks << ',' << run.slow << ',' << run.period << ','
      << run.step << ',' << run.batch << ',' << run.seed << ','
      << outcome.seconds << ',' << outcome.gradients << ','
      << outcome.gradients / outcome.seconds << ',' << outcome.staleness << ','
      << outcome.idle << ',' << crossings.best;
  for (const auto& values : { crossings.seconds, crossings.gradients })
  {
    for (size_t i = 0; i < columns; ++i)
    {
      row << ',';
      if (i < values.size() && std::isfinite(values[i]))
        row << values[i];
    }
  }
  table << row.str() << std::endl;
}

//! Ranks on the same machine get a core each, from this one on.
inline void Pin(const int first)
{
  const char* rank = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(size_t(first + (rank ? std::atoi(rank) : 0)), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::runtime_error("a rank cannot be pinned to its core");
}

/**
 * Trains a model for each run.
 *
 * @param make Makes the model of a run, which `Train()` takes.
 */
template<typename MakeType>
int Main(int argc, char** argv, const MakeType& make)
try
{
  if (argc != 4)
    throw std::invalid_argument("usage: proof RUNS TABLE FIRST_CORE|-1");
  const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  sharesMemory = std::atoi(argv[3]) >= 0 || (here && std::atoi(here) > 1);
  if (std::atoi(argv[3]) >= 0)
    Pin(std::atoi(argv[3]));
  // As in throughput.cpp: memory is kept.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  dasgd::mpi::Initialize();
  MPI_Comm_rank(MPI_COMM_WORLD, &rankOf);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::ifstream file(argv[1]);
  std::ofstream table(rankOf == 0 ? argv[2] : "/dev/null", std::ios::app);
  for (Run run; file >> run.problem >> run.way >> run.policy >> run.step
       >> run.batch >> run.seed >> run.seconds >> run.slow >> run.period; )
  {
    auto model = make(run);
    Train(run, *model, table);
  }
  return 0;
}
catch (const std::exception& e)
{
  std::cerr << "proof: " << e.what() << std::endl;
  return 1;
}

} // namespace proof

#endif
