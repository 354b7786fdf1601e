/**
 * @file run.cpp
 *
 * One run: the optimizers, and what is measured.  Knows nothing of mlpack.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "run.hpp"
#include "curve.hpp"
#include "plan.hpp"
#include "slowed.hpp"
#include "watch.hpp"

#include <problems/simulated.hpp>

#include <dasgd.hpp>
#include <dasgd/optimizer/simulate.hpp>
#include <ranks/ranks.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace dasgd {
namespace study {

namespace {

//! Ranks on virtual time, all in this process.
struct Simulated
{
  double clock = 0;
  SimCluster machine;
  std::vector<SharedFunction> shared;
  //! What ranks minimize: of the type that is minimized on real time, too, so
  //! that each optimizer is compiled once.
  std::vector<Slowed> functions;
  std::vector<Watch> watches;
};

//! What a run is about, and what is known of it in the end.
struct Context
{
  const Entries& run;
  const DataSet& data;
  Task& task;
  Entries result;
  //! Of this process.
  size_t rank = 0;
  size_t ranks = 1;
  //! Null on real time.
  std::unique_ptr<Simulated> simulated;
};

//! Sum of losses and number of right answers over some points.
struct Score
{
  double loss = 0;
  double right = 0;
};

Score ScoreOf(Task& task,
              const arma::mat& iterate,
              const LabelledSet& set,
              const size_t begin,
              const size_t end)
{
  Score score;
  // In pieces, so that no layer's output for all points is needed at once.
  constexpr size_t piece = 250;
  arma::mat output;
  for (size_t i = begin; i < end; i += piece)
  {
    const size_t size = std::min(piece, end - i);
    const arma::mat points(const_cast<double*>(set.points.colptr(i)),
        set.points.n_rows, size, false, true);
    task.LogProbabilities(iterate, points, output);
    for (size_t j = 0; j < size; ++j)
    {
      score.loss -= output(set.labels[i + j], j);
      score.right += (output.col(j).index_max() == set.labels[i + j]);
    }
  }
  return score;
}

void SumOverRanks(double* values, const size_t count)
{
  if (cli::Ranks() > 1)
  {
    mpi::Check(MPI_Allreduce(MPI_IN_PLACE, values, int(count), MPI_DOUBLE,
        MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  }
}

/**
 * Losses and accuracies of the copies, all ranks together.
 *
 * @param root The rank that has them.
 */
std::vector<Score> Judge(const Context& context,
                         Watch& watch,
                         const size_t root,
                         const LabelledSet& set,
                         const arma::mat& shape)
{
  double count = (context.rank == root) ? double(watch.Taken()) : 0;
  SumOverRanks(&count, 1);
  std::vector<Score> scores((size_t(count)));
  const size_t points = set.labels.n_elem;
  const size_t begin = points * context.rank / context.ranks;
  const size_t end = points * (context.rank + 1) / context.ranks;
  arma::mat iterate(arma::size(shape));
  for (size_t i = 0; i < scores.size(); ++i)
  {
    if (context.rank == root)
      iterate = watch.Copies()[i].iterate;
    if (context.ranks > 1)
    {
      mpi::Check(MPI_Bcast(iterate.memptr(), int(iterate.n_elem), MPI_DOUBLE,
          int(root), MPI_COMM_WORLD), "MPI_Bcast");
    }
    scores[i] = ScoreOf(context.task, iterate, set, begin, end);
    double values[2] = { scores[i].loss, scores[i].right };
    SumOverRanks(values, 2);
    scores[i].loss = values[0] / double(points);
    scores[i].right = values[1] / double(points);
  }
  return scores;
}

//! What the report of a run says, in the columns of the table.
void Account(Entries& result, const Report& report, const Watch& watch)
{
  double idle = 0, bytes = 0, measured = 0, sum = 0, largest = 0;
  std::vector<double> histogram(StalenessMeter::Buckets, 0.0);
  for (const RankReport& rank : report.ranks)
  {
    idle += rank.secondsIdle;
    bytes += double(rank.bytesSent);
    measured += double(rank.staleness.Measured());
    sum += double(rank.staleness.Sum());
    largest = std::max(largest, double(rank.staleness.Max()));
    for (size_t i = 0; i < histogram.size(); ++i)
      histogram[i] += double(rank.staleness.Histogram()[i]);
  }
  while (histogram.size() > 1 && histogram.back() == 0)
    histogram.pop_back();
  std::vector<std::string> buckets;
  for (const double count : histogram)
    buckets.push_back(NumberText(count, 15));

  const double gradients = double(report.Gradients());
  result.Set("gradients", gradients);
  // By the clock of serial SGD: without handshake and last agreement.
  result.Set("gradients_per_second", gradients / watch.Last());
  result.Set("idle_share", std::min(1.0, idle / (double(report.ranks.size()) *
      report.seconds)));
  result.Set("bytes_per_gradient", (gradients > 0) ? bytes / gradients :
      Unknown);
  result.Set("staleness_mean", (measured > 0) ? sum / measured : Unknown);
  result.Set("staleness_max", (measured > 0) ? largest : Unknown);
  result.Set("staleness_histogram", (measured > 0) ? Join(buckets, ";") : "");
  if (report.reason == StopReason::NonFinite)
  {
    result.Set("status", "diverged");
    result.Set("reason", report.Reason());
  }
}

//! The columns of the table for one process.
void SetSerial(Entries& result, const double gradients, const Watch& watch)
{
  result.Set("gradients", gradients);
  result.Set("gradients_per_second", gradients / watch.Last());
  result.Set("idle_share", 0.0);
  result.Set("bytes_per_gradient", 0.0);
}

#if defined(_OPENMP)

//! A function as ens::ParallelSGD wants it: one point at a time, with sparse
//! gradients, in several threads at once.
class PointFunction
{
 public:
  explicit PointFunction(Slowed& inner) : inner(inner) { }

  size_t NumFunctions() const { return inner.NumFunctions(); }

  double Evaluate(const arma::mat& iterate)
  { return inner.Evaluate(iterate, 0, NumFunctions()); }

  double Evaluate(const arma::mat& iterate,
                  const size_t begin,
                  const size_t size)
  { return inner.Evaluate(iterate, begin, size); }

  void Gradient(const arma::mat& iterate,
                const size_t begin,
                arma::sp_mat& gradient,
                const size_t size)
  {
    arma::mat dense(iterate.n_rows, iterate.n_cols);
    inner.Gradient(iterate, begin, dense, size);
    gradient = arma::sp_mat(dense);
  }

 private:
  Slowed& inner;
};

//! Watches what the first thread does; its points count as parts of a batch.
class ThreadWatch
{
 public:
  ThreadWatch(Watch& watch, const size_t batch) :
      watch(watch), batch(double(batch)) { }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, MatType& iterate)
  {
    return omp_get_thread_num() == 0 &&
        watch.Step(iterate, std::uint64_t(Batches(watch.Steps() + 1)));
  }

  //! What all threads have visited, if they are equally fast.
  double Batches(const std::uint64_t steps) const
  { return double(steps) * omp_get_max_threads() / batch; }

 private:
  Watch& watch;
  double batch;
};

//! ens::ParallelSGD; all points are visited once between two evaluations of
//! all.
void TrainInThreads(Context& context,
                    Slowed& function,
                    arma::mat& iterate,
                    Watch& watch)
{
  const size_t threads = size_t(omp_get_max_threads());
  PointFunction points(function);
  ens::ParallelSGD<ens::ConstantStep> optimizer(0,
      (points.NumFunctions() + threads - 1) / threads, -1, true,
      ens::ConstantStep(context.run.Number("step_size")));
  ThreadWatch watching(watch, context.run.Count("batch_size"));
  optimizer.Optimize<PointFunction, arma::mat, arma::sp_mat>(points, iterate,
      watching);
  SetSerial(context.result, watching.Batches(watch.Steps()), watch);
}

#else

void TrainInThreads(Context&, Slowed&, arma::mat&, Watch&)
{
  throw std::runtime_error("ens::ParallelSGD needs OpenMP, with which this "
      "program was not built; leave 'parallel' out of '--algorithms'!");
}

#endif

//! Trains with the algorithm that a run asks for.
class Trainer
{
 public:
  Trainer(Context& context,
          Slowed& function,
          arma::mat& iterate,
          Watch& watch) :
      context(context), function(function), iterate(iterate), watch(watch)
  {
    const std::string written = context.run.Text("algorithm");
    const size_t colon = written.find(':');
    name = written.substr(0, colon);
    if (colon != std::string::npos)
      number = NumberOf(written.substr(colon + 1));
  }

  void Run()
  {
    const Algorithm* const known = FindAlgorithm(
        (name == "independent") ? "sgd" : name);
    if (!known)
      Refuse();
    base = known->base;
    // On virtual time, what is serial is one rank of DASGD: it takes the same
    // steps.
    if (context.simulated && std::string(base->name) == "sgd")
      base = FindAlgorithm("dasgd")->base;
    const double step = context.run.Number("step_size");
    const double batch = context.run.Number("batch_size");
    const double alongMean = StepAlongMean(context.task, step, batch);
    // Of steps that do not depend on how long the gradient is.
    const double normed = ensmallen::dividesStep ? step * batch : step;
    if (known->policy == "momentum")
      With<1>(ens::MomentumUpdate(0.9), alongMean);
    else if (known->policy == "nesterov")
      With<2>(ens::NesterovMomentumUpdate(0.9), alongMean);
    else if (known->policy == "adam")
      With<3>(ens::AdamUpdate(), normed);
    else if (known->policy == "rmsprop")
      With<4>(ens::RMSPropUpdate(), normed);
    else
      With<0>(ens::VanillaUpdate(), alongMean);
  }

 private:
  [[noreturn]] void Refuse() const
  {
    throw std::invalid_argument("There is no algorithm '" + name + "' in this "
        "program; leave it out of '--algorithms'!");
  }

  //! Is this the optimizer that is asked for?
  bool Is(const char* optimizer) const
  { return HasOptimizer(*base, optimizer); }

  /**
   * Train with an update policy.
   *
   * @tparam Policy Which one; 0 is none.  To compile an algorithm takes long,
   *     so it is only for the policies that it can be had with.
   */
  template<size_t Policy, typename PolicyType>
  void With(const PolicyType& policy, const double step)
  {
    if (Is("serial SGD"))
      return TrainSerially(Make<ens::SGD>(policy, step));
    if (Policy == 0 && Is("ens::ParallelSGD"))
      return TrainInThreads(context, function, iterate, watch);
    bool trained = TrainAs<Policy, DASGD>(policy, step);
#define DASGD_TRAIN(OPTIMIZER, ALGORITHM) \
    trained = trained || TrainAs<Policy, OPTIMIZER>(policy, step);
    DASGD_EACH_BASELINE(DASGD_TRAIN)
#undef DASGD_TRAIN
    if (!trained)
      Refuse();
  }

  //! The same, if this is the optimizer that is asked for.
  template<size_t Policy,
           template<typename, typename> class OptimizerType,
           typename PolicyType>
  bool TrainAs(const PolicyType& policy, const double step)
  {
    using Type = OptimizerType<PolicyType, ens::NoDecay>;
    if constexpr (Policy <= PoliciesOf(Type::Algorithm::Name()))
    {
      if (!Is(Type::Algorithm::Name()))
        return false;
      Type optimizer = Make<OptimizerType>(policy, step);
      Configure(optimizer);
      Train(optimizer);
      return true;
    }
    else
      return false;
  }

  template<template<typename, typename> class OptimizerType,
           typename PolicyType>
  OptimizerType<PolicyType, ens::NoDecay> Make(const PolicyType& policy,
                                               const double step) const
  {
    return OptimizerType<PolicyType, ens::NoDecay>(step,
        context.run.Count("batch_size"), 0, -1, true, policy);
  }

  //! What the rest of the algorithm's name says, and the number after it.
  template<typename OptimizerType>
  void Configure(OptimizerType& optimizer) const
  {
    using Options = typename OptimizerType::Algorithm::Options;
    const std::string row = base->name;
    if constexpr (IsDasgd<typename OptimizerType::Algorithm>)
    {
      if (row != "dasgd")
        optimizer.WireFormat() = row.substr(6);
    }
    else if constexpr (std::is_same<Options, ServerOptions>::value)
    {
      optimizer.DelayAdaptive() = (row == "ps_adaptive");
      if (number > 0)
        optimizer.MaxDistance() = number;
    }
    else if constexpr (HasPeriod<Options>::value)
    {
      if (number > 0)
        optimizer.Period() = size_t(number);
    }
  }

  template<typename OptionsType, typename = void>
  struct HasPeriod : std::false_type { };
  template<typename OptionsType>
  struct HasPeriod<OptionsType, std::void_t<decltype(
      std::declval<OptionsType&>().Period())>> : std::true_type { };

  //! Train with one of dasgd's optimizers.
  template<typename OptimizerType>
  void Train(OptimizerType& optimizer)
  {
    const std::string topology = context.run.Text("topology");
    optimizer.Topology() = topology.empty() ? "complete" : topology;
    // Whoever is faster visits more points.
    optimizer.Sharing() = Sharing::Dynamic;
    optimizer.Seed() = context.run.Count("seed") + 1;
    if (Simulated* simulated = context.simulated.get())
    {
      Simulate(optimizer, simulated->functions, iterate, simulated->machine,
          simulated->watches);
    }
    else
      optimizer.Optimize(function, iterate, watch);
    Account(context.result, optimizer.Report(), watch);
  }

  //! Train with one of ensmallen's optimizers on this rank alone.
  template<typename OptimizerType>
  void TrainSerially(OptimizerType&& optimizer)
  {
    optimizer.Optimize(function, iterate, watch);
    SetSerial(context.result, double(watch.Steps()), watch);
    context.result.Set("staleness_mean", 0.0);
    context.result.Set("staleness_max", 0.0);
    context.result.Set("staleness_histogram", NumberText(double(watch.Steps()),
        15));
  }

  Context& context;
  Slowed& function;
  arma::mat& iterate;
  Watch& watch;
  //! As it is given, without its number, which is 0 if there is none.
  std::string name;
  double number = 0;
  //! Without its update policy.
  const AlgorithmRow* base = nullptr;
};

//! The curve of the copies.
Curve CurveOf(const Context& context,
              Watch& watch,
              const std::vector<Score>& scores)
{
  // Algorithms whose ranks do not apply everybody's gradients still compute
  // them: count those of all ranks.
  const double total = context.result.Number("gradients");
  const double seen = double(std::max<std::uint64_t>(watch.Applied(), 1));
  const double scale = (total > 1.1 * seen) ? total / seen : 1;
  Curve curve;
  for (size_t i = 0; i < scores.size(); ++i)
  {
    const Watch::Copy& copy = watch.Copies()[i];
    // The last is the model that was made of all.
    const bool last = (i + 1 == scores.size());
    curve.Add(copy.seconds, last ? total : std::min(total, scale *
        double(copy.gradients)), scores[i].loss, scores[i].right);
  }
  return curve;
}

//! The losses from which a target is made, in one column of the table.
std::string ReferenceText(const Curve& curve, const double budget)
{
  std::vector<std::string> parts;
  for (const double loss : curve.Reference(budget))
    parts.push_back(NumberText(loss));
  return Join(parts, ";");
}

//! Is the target a part of wrong answers, and not a loss?
bool ByErrors(const Entries& run)
{ return run.Text("target_measure") == "error"; }

//! Write the curve, and say when the target was reached.
void Describe(Context& context,
              Watch& watch,
              const std::vector<Score>& scores)
{
  const Curve curve = CurveOf(context, watch, scores);
  curve.Save(context.run.Text("curve_file"));

  const double target = context.run.Number("target");
  const double budget = context.run.Number("budget");
  Entries& result = context.result;
  result.Set("loss", scores.back().loss);
  result.Set("accuracy", scores.back().right);
  if (context.run.Has("gives_target"))
    result.Set("reference_losses", ReferenceText(curve, budget));
  result.Set("probe_share", watch.ProbeSeconds() / std::max(watch.Last(),
      1e-9));
  if (std::isfinite(target))
  {
    const std::vector<double> values = ByErrors(context.run) ? curve.Errors() :
        curve.losses;
    result.Set("time_to_target", Curve::Crossing(values, curve.seconds,
        target));
    result.Set("gradients_to_target", Curve::Crossing(values, curve.gradients,
        target));
  }
  if (result.Has("status"))
    return;
  const double loss = scores.back().loss;
  if (watch.Diverged() || !std::isfinite(loss) ||
      loss > 100 * std::max(1e-3, scores.front().loss))
  {
    result.Set("status", "diverged");
    result.Set("reason", std::isfinite(loss) ? "the loss grew from " +
        NumberText(scores.front().loss, 3) + " to " + NumberText(loss, 3) :
        "the model is not finite");
    return;
  }
  result.Set("status", std::isfinite(result.Number("time_to_target")) ?
      "target" : "ok");
}

/**
 * The rank whose model is looked at: where models differ, that of a slow rank
 * is not what the others have.  A server has no steps of its own.
 */
size_t Observer(const std::string& algorithm,
                const std::vector<double>& factors)
{
  const Algorithm* const known = FindAlgorithm(algorithm.substr(0,
      algorithm.find(':')));
  const size_t first = (known && known->HasServer()) ? 1 : 0;
  for (size_t i = first; i < factors.size(); ++i)
  {
    if (factors[i] == 1)
      return i;
  }
  return first;
}

//! The ranks that a run on virtual time asks for.
std::unique_ptr<Simulated> MakeRanks(const Entries& run,
                                     const std::vector<double>& factors,
                                     const bool sums,
                                     Separable& separable,
                                     arma::mat& iterate)
{
  auto simulated = std::make_unique<Simulated>();
  const size_t ranks = factors.size();
  PlanModel model;
  model.elements = iterate.n_elem;
  model.batchSize = run.Count("batch_size");
  model.gradientSeconds = run.Number("gradient_seconds");
  model.gradientSpread = SimulatedSpread;
  model.applySeconds = SimulatedSecondsPerParameter * double(iterate.n_elem);
  // A pass over a shared model writes twice as much.
  model.passSeconds = 2 * model.applySeconds;
  model.messageSeconds = SimulatedMessageSeconds;
  PlanCluster cluster;
  cluster.ranksPerMachine = run.Count("ranks_per_machine");
  cluster.latency = run.Number("latency");
  cluster.bytesPerSecond = 1e6 / 8 * run.Number("bandwidth");
  simulated->machine = SimulatedMachine(model, cluster, ranks,
      run.Text("topology"));
  simulated->machine.seed = run.Count("seed") + 1;
  simulated->machine.clock = &simulated->clock;
  for (size_t i = 0; i < ranks; ++i)
    simulated->machine.computeSeconds[i] *= factors[i];
  separable.Shuffle();
  simulated->shared.assign(ranks, SharedFunction(separable, iterate, sums,
      model.batchSize, ranks));
  for (SharedFunction& function : simulated->shared)
    simulated->functions.emplace_back(function, 1);
  simulated->watches.assign(ranks, Watch(run.Number("budget"),
      &simulated->clock));
  return simulated;
}

//! Watch the loss of the model while it is trained, on other points each time:
//! some are easier than all are.
void Observe(const Context& context,
             Watch& watch,
             const LabelledSet& judged,
             const arma::mat& iterate)
{
  const Entries& run = context.run;
  const double bytes = double(std::max<size_t>(1, iterate.n_elem)) * 8;
  // The closer copies are, the less chance there is in when the target was
  // reached; but their losses take long with a 'cnn'.  At most a quarter of a
  // gigabyte.
  const double wanted = (run.Text("problem") == "cnn" ||
      run.Text("problem") == "onnx") ? 36 : 72;
  const size_t count = size_t(std::max(8.0, std::min(wanted, 256e6 / bytes)));
  watch.Observe(iterate, count, run.Number("target"),
      [&run, &judged, &task = context.task, next = size_t(0)](
      const arma::mat& model, const bool all) mutable
      {
        const size_t most = judged.labels.n_elem;
        const size_t begin = all ? 0 : next;
        const size_t end = all ? most : std::min(begin + 200, most);
        if (!all)
          next = (end < most) ? end : 0;
        const Score score = ScoreOf(task, model, judged, begin, end);
        const double points = double(end - begin);
        // What is not finite is wrong, but must be seen as such.
        return (ByErrors(run) && std::isfinite(score.loss)) ?
            1 - score.right / points : score.loss / points;
      });
}

//! Memory, caches and the processor's clock are warm when time counts.
void WarmUp(const Context& context,
            Separable& separable,
            const arma::mat& iterate)
{
  arma::mat gradient(iterate.n_rows, iterate.n_cols);
  const size_t batch = std::min(context.run.Count("batch_size"),
      separable.NumFunctions());
  for (size_t i = 0; i < 3; ++i)
    separable.EvaluateWithGradient(iterate, 0, gradient, batch);
}

//! What separate processes computed together.  Each has its own clock: they
//! need not end together.
void SetLimit(Entries& result, const Watch& watch)
{
  double rate = double(watch.Steps()) / watch.Last();
  double gradients = double(watch.Steps());
  SumOverRanks(&rate, 1);
  SumOverRanks(&gradients, 1);
  result.Set("gradients_per_second", rate);
  result.Set("gradients", gradients);
  result.Set("staleness_histogram", "");
  result.Set("status", "ok");
}

//! What the observed rank's copies of the model are worth.
void JudgeAll(Context& context,
              Watch& watch,
              const size_t root,
              const LabelledSet& judged,
              const arma::mat& iterate)
{
  const std::vector<Score> scores = Judge(context, watch, root, judged,
      iterate);
  if (context.rank == root)
    Describe(context, watch, scores);
  if (!context.run.Has("gives_target"))
    return;
  // Steps are chosen on the validation points, runs judged on the test points:
  // each has a target of its own.
  const std::vector<Score> test = Judge(context, watch, root,
      context.data.test, iterate);
  if (context.rank == root)
  {
    context.result.Set("reference_test_losses", ReferenceText(CurveOf(context,
        watch, test), context.run.Number("budget")));
  }
}

} // namespace

void Run(const Entries& run, const DataSet& data, Task& task)
{
  Context context{ run, data, task, Entries(), cli::Rank(), cli::Ranks(),
      nullptr };
  const std::string name = run.Text("algorithm");
  const bool limit = (name == "independent");
  const double budget = run.Number("budget");
  const std::vector<double> factors = SlowFactors(run.Text("slow"),
      run.Count("ranks"));
  const size_t root = (context.ranks > 1) ? Observer(name, factors) : 0;
  const LabelledSet& judged = (run.Text("judged_on") == "validation") ?
      data.validation : data.test;

  task.Train([&](Separable& separable, arma::mat& iterate)
  {
    Slowed function(separable, factors[context.rank]);
    // The rank that is looked at ends the run, so that it takes its last copy;
    // the others only if it is late.
    Watch real((limit || context.rank == root) ? budget : 1.05 * budget + 0.1);
    if (run.Has("gradient_seconds"))
    {
      context.simulated = MakeRanks(run, factors, task.Sums(), separable,
          iterate);
    }
    Watch& watch = context.simulated ? context.simulated->watches[
        Observer(name, factors)] : real;
    if (!limit && context.rank == root)
      Observe(context, watch, judged, iterate);
    WarmUp(context, separable, iterate);
    if (context.ranks > 1)
      mpi::Check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    watch.Start();
    Trainer(context, function, iterate, watch).Run();
    const double seconds = watch.Elapsed();
    context.result.Set("seconds", limit ? watch.Last() : seconds);
    if (!limit && context.rank == root)
      watch.Finish(iterate, seconds);
    if (limit)
      SetLimit(context.result, watch);
    else
      JudgeAll(context, watch, root, judged, iterate);
    if (context.rank == root)
      context.result.Save(run.Text("result_file"));
  });
}

} // namespace study
} // namespace dasgd
