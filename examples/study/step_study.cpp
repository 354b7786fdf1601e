/**
 * @file step_study.cpp
 *
 * How fast n ranks reach a held-out loss with a given algorithm, update policy
 * and step size, so that a script can look for the best steps.  Gradients are
 * real, seconds are virtual.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>
#include <dasgd/optimizer/simulate.hpp>

#include <CLI/CLI.hpp>

#include "study_problems.hpp"

#include <iostream>
#include <random>

namespace {

constexpr size_t batchSize = 32;

//! What the user chooses; where something is below 0, the default is taken.
struct Options
{
  std::string problem = "softmax";
  std::string method = "sgd";
  std::string algorithm = "dasgd";
  std::string topology = "auto";
  size_t ranks = 1;
  double slow = 1;
  double spread = 0.05;
  std::vector<double> steps;
  std::vector<size_t> seeds{ 1 };
  double target = -1;
  double accuracy = -1;
  size_t maxGradients = 40000;
  size_t points = 0;
  double lookAhead = -1;
  double damping = -1;
};

//! The loss that one rank with a good step reaches after some thousand
//! gradients.
double DefaultTarget(const std::string& problem)
{
  return (problem == "softmax") ? 0.45 : (problem == "mlp") ? 0.37 :
      (problem == "cnn") ? 1.2 : (problem == "factorization") ? 0.5 : 0.57;
}

std::shared_ptr<study::Problem> Load(const Options& options)
{
  const size_t points = (options.points > 0) ? options.points :
      (options.problem == "language") ? 200000 : 60000;
  const size_t tests = (options.accuracy >= 0) ? 2000 : 1000;
  if (options.problem == "softmax")
    return std::make_shared<study::Fashion>(0, points, tests);
  if (options.problem == "mlp")
    return std::make_shared<study::Fashion>(64, points, tests);
  if (options.problem == "cnn")
    return std::make_shared<study::Cifar>(points, tests);
  if (options.problem == "factorization")
    return std::make_shared<study::Factorization>(points);
  return std::make_shared<study::Words>(points, tests);
}

//! What a rank minimizes: the problem that all share, in an order of its own.
class Function
{
 public:
  //! By the seed, since the first epoch of one rank is not shuffled, and words
  //! come language by language.
  Function(std::shared_ptr<study::Problem> problemIn, const size_t seed) :
      problem(std::move(problemIn)), order(problem->TrainPoints())
  {
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  }

  size_t NumFunctions() const { return order.size(); }

  //! By one of Armadillo's random numbers, which dasgd seeds.
  void Shuffle()
  {
    std::mt19937_64 random(arma::randi<arma::uvec>(1,
        arma::distr_param(0, std::numeric_limits<int>::max()))[0]);
    std::shuffle(order.begin(), order.end(), random);
  }

  float Evaluate(const arma::fmat& model, const size_t begin, const size_t size)
  { return Visit(model, begin, nullptr, size); }

  float EvaluateWithGradient(const arma::fmat& model,
                             const size_t begin,
                             arma::fmat& gradient,
                             const size_t size)
  {
    gradient.set_size(arma::size(model));
    return Visit(model, begin, gradient.memptr(), size);
  }

 private:
  float Visit(const arma::fmat& model,
              const size_t begin,
              float* gradient,
              const size_t size)
  {
    size_t right = 0;
    return float(problem->Visit(model.memptr(), order.data() + begin, size,
        gradient, right));
  }

  std::shared_ptr<study::Problem> problem;
  std::vector<std::uint32_t> order;
};

//! What the callbacks of all ranks know of a run.
struct Course
{
  const Options& options;
  study::Problem& problem;
  double clock;
  size_t gradients;
  study::Score last;
  //! When the target was reached; below 0: it was not.
  double reachedAt;

  //! Judge rank 0's model; is that the end?
  bool Judge(const arma::fmat& model)
  {
    const bool byAccuracy = (options.accuracy >= 0);
    last = problem.Judge(model, byAccuracy ? 2000 : 1000);
    if (!(last.loss <= 20))
    {
      last = { std::nan(""), std::nan("") };
      return true;
    }
    const double target = (options.target >= 0) ? options.target :
        DefaultTarget(options.problem);
    if (byAccuracy ? !(last.accuracy >= options.accuracy) :
        !(last.loss <= target))
      return false;
    reachedAt = clock;
    return true;
  }
};

//! Ends a run when rank 0 has reached the target, or never will.
struct Watch
{
  Course* course;
  bool judges;
  size_t next = 128;

  template<typename OptimizerType, typename FunctionType>
  bool StepTaken(OptimizerType&, FunctionType&, const arma::fmat& model)
  {
    ++course->gradients;
    if (!judges || course->gradients < next)
      return false;
    next = course->gradients + 128;
    return course->Judge(model) ||
        course->gradients >= course->options.maxGradients;
  }
};

//! All settings but those of ens::SGD.
template<typename OptimizerType>
void Configure(OptimizerType& optimizer,
               const Options& options,
               const size_t seed)
{
  optimizer.Seed() = seed;
  if (options.algorithm != "allreduce")
  {
    optimizer.Topology() = options.topology;
    // What is below 0 stays as the optimizer has it.
    if (options.lookAhead >= 0)
      optimizer.LookAhead() = options.lookAhead;
    if (options.damping >= 0)
      optimizer.StalenessDamping() = options.damping;
  }
}

//! As CSV has it: nothing for what is not known.
std::string Cell(const double value, const std::string& unknown = "")
{
  std::ostringstream text;
  text << value;
  return value >= 0 ? text.str() : unknown;
}

template<typename OptimizerType>
void Play(OptimizerType optimizer,
          const Options& options,
          const std::shared_ptr<study::Problem>& problem,
          const double step,
          const size_t seed)
{
  Configure(optimizer, options, seed);
  Course course{ options, *problem, 0, 0, { }, -1 };
  dasgd::SimCluster machine;
  machine.seed = seed;
  machine.clock = &course.clock;
  machine.computeSeconds.assign(options.ranks, 0.01);
  machine.computeSeconds.back() *= options.slow;
  machine.computeSpread = options.spread;
  machine.link = [](size_t, size_t)
  {
    dasgd::SimLink link;
    link.latency = 50e-6;
    link.bytesPerSecond = 1.25e9;
    return link;
  };
  std::vector<Function> functions(options.ranks, Function(problem, seed));
  std::vector<Watch> watches;
  for (size_t i = 0; i < options.ranks; ++i)
    watches.push_back({ &course, i == 0 });
  arma::fmat model = problem->Start(seed);
  dasgd::Simulate(optimizer, functions, model, machine, watches);

  const dasgd::Report& report = optimizer.Report();
  double stale = 0, measured = 0;
  for (const dasgd::RankReport& rank : report.ranks)
  {
    stale += double(rank.staleness.Sum());
    measured += double(rank.staleness.Measured());
  }
  if (report.reason == dasgd::StopReason::NonFinite)
    course.last = { std::nan(""), std::nan("") };
  std::cout << options.problem << ',' << options.algorithm << ','
      << options.method << ',' << options.ranks << ',' << options.slow << ','
      << Cell(options.lookAhead, "auto") << ',' << Cell(options.damping, "auto")
      << ',' << step << ',' << seed << ',' << Cell(course.reachedAt) << ','
      << report.Gradients() << ',' << (measured > 0 ? stale / measured : 0)
      << ',' << report.StepFactor() << ',' << Cell(course.last.loss, "nan")
      << ',' << Cell(course.last.accuracy) << std::endl;
}

//! All steps and seeds with a policy.
template<typename PolicyType>
void Play(const PolicyType& policy, const Options& options)
{
  const std::shared_ptr<study::Problem> problem = Load(options);
  std::cout << "problem,algorithm,method,ranks,slow,look_ahead,damping,step,"
      "seed,seconds,gradients,staleness,step_factor,loss,accuracy" << std::endl;
  for (const double step : options.steps)
  {
    // Steps are along the mean over the batch, as ensmallen has them since it
    // divides by its size; Adam's own are batchSize times smaller, then.
    const double own = dasgd::ensmallen::dividesStep ? step :
        step / double(batchSize);
    for (const size_t seed : options.seeds)
    {
      if (options.algorithm == "allreduce")
      {
        Play(dasgd::AllreduceSGD<PolicyType>(own, batchSize, 0, -1, true,
            policy), options, problem, step, seed);
      }
      else
      {
        Play(dasgd::DASGD<PolicyType>(own, batchSize, 0, -1, true, policy),
            options, problem, step, seed);
      }
    }
  }
}

//! Numbers are taken as they are, and "auto" as -1.
void AddAuto(CLI::App& app,
             const std::string& name,
             double& value,
             const std::string& what)
{
  app.add_option_function<std::string>(name, [&value](const std::string& text)
  {
    if (text != "auto" && !(CLI::detail::lexical_cast(text, value) &&
        value >= 0))
      throw CLI::ValidationError(text + " is neither auto nor 0 or more");
  }, what + ", or auto");
}

} // namespace

int main(int argc, char** argv)
{
  Options options;
  CLI::App app{ "Virtual seconds until rank 0 of n has a loss on points that "
      "it has not seen, for each step size and seed; as CSV." };
  const auto add = [&app](const char* name, auto& value, const char* what)
  { return app.add_option(name, value, what)->capture_default_str(); };
  add("--problem", options.problem, "What to train")->check(CLI::IsMember(
      { "softmax", "mlp", "cnn", "factorization", "language" }));
  add("--method", options.method, "Update policy")->check(CLI::IsMember(
      { "sgd", "momentum", "nesterov", "adam", "rmsprop" }));
  add("--algorithm", options.algorithm, "serial is dasgd on one rank")->check(
      CLI::IsMember({ "dasgd", "allreduce", "serial" }));
  add("--ranks", options.ranks, "Number of ranks")->check(CLI::PositiveNumber);
  add("--slow", options.slow, "How many times slower the last rank is");
  add("--spread", options.spread, "Part of its time by which a gradient takes "
      "more or less");
  add("--topology", options.topology, "Of dasgd");
  app.add_option("--steps", options.steps, "Step sizes, as StepSize() takes "
      "them for batches of 32")->delimiter(',')->required();
  app.add_option("--seeds", options.seeds, "Of orders, models and machines")
      ->delimiter(',');
  app.add_option("--target", options.target, "Loss to reach; by default one "
      "that takes one rank some thousand gradients");
  app.add_option("--accuracy", options.accuracy, "Share of right answers to "
      "reach instead")->check(CLI::Range(0.0, 1.0));
  add("--max_gradients", options.maxGradients, "Of all ranks; a run is given up"
      " after so many");
  add("--points", options.points, "Points to train with; 0: all, or 200,000 "
      "words");
  AddAuto(app, "--look_ahead", options.lookAhead, "LookAhead()");
  AddAuto(app, "--damping", options.damping, "StalenessDamping()");
  CLI11_PARSE(app, argc, argv);
  if (options.algorithm == "serial")
    options.ranks = 1;
  try
  {
    if (options.method == "sgd")
      Play(ens::VanillaUpdate(), options);
    else if (options.method == "momentum")
      Play(ens::MomentumUpdate(0.9), options);
    else if (options.method == "nesterov")
      Play(ens::NesterovMomentumUpdate(0.9), options);
    else if (options.method == "adam")
      Play(ens::AdamUpdate(1e-8, 0.9, 0.999), options);
    else
      Play(ens::RMSPropUpdate(1e-8, 0.99), options);
  }
  catch (const std::exception& e)
  {
    std::cerr << "dasgd_step_study: " << e.what() << std::endl;
    return 1;
  }
}
