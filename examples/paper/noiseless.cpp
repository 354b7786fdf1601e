/**
 * @file noiseless.cpp
 *
 * The paper's first two experiments: two workers, one of them slower, gradients
 * without noise.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "functions.hpp"
#include "paper.hpp"
#include "replay.hpp"

#include <dasgd.hpp>
#include <dasgd/optimizer/simulate.hpp>

#include <deque>
#include <iomanip>
#include <iostream>

namespace example {

namespace {

//! Stops a run when the gradients of its rank have become small enough.
class SmallGradients
{
 public:
  explicit SmallGradients(const double epsilon) : epsilon(epsilon) { }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool Gradient(OptimizerType&,
                FunctionType&,
                const MatType&,
                const MatType& gradient)
  {
    last.push_back(arma::norm(gradient));
    if (last.size() > 30)
      last.pop_front();
    double sum = 0;
    for (const double norm : last)
      sum += norm;
    return last.size() == 30 && sum <= 30 * epsilon;
  }

 private:
  double epsilon;
  std::deque<double> last;
};

//! One run: two workers, of which the second is x times slower (0: one alone).
template<typename FunctionType>
class Experiment
{
 public:
  static const char* Head()
  {
    return "mode,x,run,window,iterations,seconds,loose_max,loose_avg,s_max,"
        "s_avg,step,step_limit,smoothness,psi,bound,bounded_bound";
  }

  Experiment(const Options& options, const size_t x, const size_t run) :
      options(options), x(x), run(run),
      ranks(x == 0 ? 1 : 2),
      // Functions that never get there end all the same.
      optimizer(options.step, 1, 20000000, -1, false)
  {
    optimizer.Window() = options.window;
    optimizer.Sharing() = dasgd::Sharing::Dynamic;
    // The paper's steps have one size.
    optimizer.StalenessDamping() = 0;
    optimizer.RecordHistory() = true;
    optimizer.Seed() = run;
  }

  std::string Mode() const { return options.mpi ? "mpi" : "simulated"; }
  std::string Key() const { return Row(Mode(), x, run, options.window); }

  /**
   * Run it and judge it.
   *
   * @return Its row; empty on ranks other than 0.
   */
  std::string Go()
  {
    FunctionType function(run);
    optimizer.Smoothness() = function.Smoothness();
    arma::mat start(function.Dimension(), 1, arma::fill::zeros);
    arma::mat x0 = start;
    // A rank sees its own gradients only.  What counts is judged afterwards, on
    // all iterations; so go on a little longer.
    SmallGradients callback(0.9 * options.error);
    if (options.mpi)
    {
      const bool slow = (dasgd::MpiCommunicator(MPI_COMM_WORLD).Rank() == 1);
      FunctionType delayed(function);
      delayed.Delay(options.seconds * double(slow ? x : 1));
      optimizer.Optimize(delayed, start, callback);
      if (optimizer.History().empty())
        return "";
    }
    else
    {
      dasgd::SimCluster machine;
      machine.seed = run;
      machine.computeSeconds.assign(ranks, options.seconds);
      if (ranks > 1)
        machine.computeSeconds[1] *= double(x);
      // No two gradients take equally long, and no two machines run in step.
      machine.computeSpread = 0.01;
      machine.applySeconds = 1e-6;
      machine.link = [](size_t, size_t)
      {
        dasgd::SimLink link;
        link.latency = 1e-5;
        link.bytesPerSecond = 1e9;
        return link;
      };
      std::vector<FunctionType> functions(ranks, function);
      std::vector<SmallGradients> callbacks(ranks, callback);
      dasgd::Simulate(optimizer, functions, start, machine, callbacks);
    }
    return Judge(function, x0);
  }

  std::string Name() const
  {
    return std::string(FunctionType::Name()) + ", " + Mode() + ", x = " +
        std::to_string(x) + ", run " + std::to_string(run);
  }

  //! What came of it, for people.
  std::string Result() const
  {
    return std::to_string(iterations) + " iterations, largest loose staleness "
        + std::to_string(optimizer.Report().LooseMax());
  }

 private:
  std::string Judge(FunctionType& function, const arma::mat& x0)
  {
    const dasgd::Report& report = optimizer.Report();
    const Replay replay(optimizer.History(), function, x0, options.step);
    const std::optional<size_t> reached = replay.Reached(0, options.error);
    if (!reached)
    {
      throw std::runtime_error(Name() + " did not reach the error in " +
          std::to_string(report.Gradients()) + " iterations; take a larger "
          "--error, or another --step");
    }

    // Theorem 1 asks for a step, and promises an error in return.
    dasgd::theory::Problem problem;
    problem.smoothness = function.Smoothness();
    problem.noise = 0;
    problem.gap = replay.First(0) - replay.Last(0);
    problem.gradientBound = replay.LargestNorm();
    const std::uint64_t T = report.Gradients();
    const double psi = replay.MeanSquare();
    const double bound = dasgd::theory::FixedStep(problem, options.step)(T);
    const double boundedBound = dasgd::theory::BoundedFixedStep(problem,
        report.StalenessAverage(), options.step)(T);
    const double limit = report.LooseStepLimit();
    const std::string above = Name() + ": step " + Row(options.step) +
        " is above Theorem 1's limit " + Row(limit) + ", so that it promises "
        "nothing";
    // Real time has its own mind: who loses a core becomes stale.
    if (options.step > limit && !options.mpi)
      throw std::runtime_error(above);
    if (options.step > limit)
      std::cerr << above << " (staleness " << report.LooseMax() << ")"
          << std::endl;
    else if (psi > bound || psi > boundedBound)
    {
      throw std::runtime_error(Name() + ": the mean squared gradient norm " +
          Row(psi) + " is above Theorem 1's bounds " + Row(bound) + " and " +
          Row(boundedBound));
    }
    iterations = *reached;
    return Row(Key(), iterations, report.seconds, report.LooseMax(),
        report.LooseAverage(), report.StalenessMax(),
        report.StalenessAverage(), options.step, limit,
        function.Smoothness(), psi, bound, boundedBound);
  }

  const Options& options;
  size_t x;
  size_t run;
  size_t ranks;
  size_t iterations = 0;
  dasgd::DASGD<> optimizer;
};

template<typename FunctionType>
int RunAll(const Options& options)
{
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  if (comm.Size() != (options.mpi ? 2 : 1))
  {
    throw std::runtime_error("this is a run of " + std::to_string(comm.Size()) +
        " processes; start \"mpirun -n 2\" with --mpi, or one process without");
  }
  Table table(options.out, Experiment<FunctionType>::Head(), 4);
  for (size_t run = options.firstRun; run < options.firstRun + options.runs;
      ++run)
  {
    for (const size_t x : options.slower)
    {
      Experiment<FunctionType> experiment(options, x, run);
      // Rank 0 knows which rows there are.
      std::uint8_t skip = table.Has(experiment.Key());
      comm.Broadcast(&skip, 1);
      if (skip)
        continue;
      const std::string row = experiment.Go();
      if (comm.Rank() != 0)
        continue;
      table.Add(row);
      std::cerr << experiment.Name() << ": " << experiment.Result()
          << std::endl;
    }
  }
  return 0;
}

} // namespace

int RunQuadratic(const Options& options) { return RunAll<Quadratic>(options); }
int RunLogistic(const Options& options) { return RunAll<Logistic>(options); }

} // namespace example
