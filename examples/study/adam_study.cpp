/**
 * @file adam_study.cpp
 *
 * Adam on many ranks: how long should each rank's averages of gradients be?
 * Gradients of a network on Fashion-MNIST are real, seconds are virtual.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>
#include <dasgd/optimizer/simulate.hpp>

#include <CLI/CLI.hpp>

#include <fashion_mnist.hpp>

#include <cmath>
#include <iostream>
#include <memory>

namespace {

using example::FashionMnist;

/**
 * A network with 784 inputs, 32 hidden units and 10 classes.  All ranks share
 * the images, and each has an order of its own.
 */
class Network
{
 public:
  explicit Network(std::shared_ptr<const FashionMnist> dataIn) :
      data(std::move(dataIn)),
      order(arma::regspace<arma::uvec>(0, data->images.n_cols - 1))
  { }

  static arma::mat Start()
  {
    dasgd::Random random(3);
    arma::mat model(Second() + classes * (hidden + 1), 1, arma::fill::zeros);
    for (size_t i = 0; i < hidden * inputs; ++i)
      model[i] = random.Uniform(-0.05, 0.05);
    for (size_t i = 0; i < classes * hidden; ++i)
      model[Second() + i] = random.Uniform(-0.3, 0.3);
    return model;
  }

  size_t NumFunctions() const { return order.n_elem; }
  void Shuffle() { order = arma::shuffle(order); }

  double Evaluate(const arma::mat& model, const size_t begin, const size_t size)
  { return Visit(model, begin, size, nullptr); }

  double EvaluateWithGradient(const arma::mat& model,
                              const size_t begin,
                              arma::mat& gradient,
                              const size_t size)
  { return Visit(model, begin, size, &gradient); }

  //! The mean over the first so many points.
  double Loss(const arma::mat& model, const size_t points)
  { return Visit(model, 0, points, nullptr) / double(points); }

 private:
  static constexpr size_t inputs = 784, hidden = 32, classes = 10;

  //! Where the second layer begins; each has weights and then biases.
  static constexpr size_t Second() { return hidden * (inputs + 1); }

  static arma::mat Part(const arma::mat& model,
                        const size_t begin,
                        const size_t rows,
                        const size_t cols)
  {
    return arma::mat(const_cast<double*>(model.memptr()) + begin, rows, cols,
        false, true);
  }

  double Visit(const arma::mat& model,
               const size_t begin,
               const size_t size,
               arma::mat* gradient) const
  {
    const arma::uvec which = order.subvec(begin, begin + size - 1);
    const arma::mat points = data->images.cols(which);
    const arma::mat second = Part(model, Second(), classes, hidden);
    arma::mat middle = Part(model, 0, hidden, inputs) * points;
    middle.each_col() += Part(model, hidden * inputs, hidden, 1);
    middle.clamp(0, arma::datum::inf);
    // Probabilities, and then what they are off.
    arma::mat off = second * middle;
    off.each_col() += Part(model, Second() + classes * hidden, classes, 1);
    double sum = 0;
    for (size_t i = 0; i < size; ++i)
    {
      off.col(i) = arma::exp(off.col(i) - off.col(i).max());
      off.col(i) /= arma::accu(off.col(i));
      double& right = off(data->labels[which[i]], i);
      sum -= std::log(std::max(right, 1e-300));
      right -= 1;
    }
    if (gradient)
    {
      gradient->set_size(model.n_rows, 1);
      arma::mat back = second.t() * off;
      back.elem(arma::find(middle <= 0)).zeros();
      Part(*gradient, 0, hidden, inputs) = back * points.t();
      Part(*gradient, hidden * inputs, hidden, 1) = arma::sum(back, 1);
      Part(*gradient, Second(), classes, hidden) = off * middle.t();
      Part(*gradient, Second() + classes * hidden, classes, 1) =
          arma::sum(off, 1);
    }
    return sum;
  }

  std::shared_ptr<const FashionMnist> data;
  arma::uvec order;
};

struct Options
{
  double target = 0.35;
  std::vector<size_t> ranks{ 1, 4, 16 };
  size_t seeds = 2;
  size_t points = 12000;
  size_t batchSize = 32;
  double gradientSeconds = 5e-3;
};

//! Ends a run when the last rank has the loss, or its time is over.
struct Watch
{
  Network* judge;
  double target;
  const double* clock;
  double* reachedAt;
  double budget;
  bool watches;
  double next = 0;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType& model)
  {
    if (*clock >= budget)
      return true;
    if (!watches || *clock < next)
      return false;
    next = *clock * 1.01;
    const double loss = judge->Loss(model, 4000);
    if (!(loss <= target))
      return !std::isfinite(loss);
    *reachedAt = *clock;
    return true;
  }
};

//! What came of a run.
struct Result
{
  double seconds = -1;
  size_t gradients = 0;
  double staleness = 0;
};

template<typename OptimizerType>
Result Play(const Options& options,
            const std::shared_ptr<const FashionMnist>& data,
            OptimizerType optimizer,
            const size_t ranks,
            const size_t seed,
            const double budget)
{
  optimizer.BatchSize() = options.batchSize;
  optimizer.MaxIterations() = 0;
  optimizer.Tolerance() = -1;
  optimizer.Seed() = seed;
  double clock = 0;
  dasgd::SimMachine machine;
  machine.seed = seed;
  machine.clock = &clock;
  machine.computeSeconds.assign(ranks, options.gradientSeconds);
  machine.computeSpread = 0.1;
  machine.machineBytesPerSecond = 1.25e9;
  machine.link = [](size_t, size_t)
  {
    dasgd::SimLink link;
    link.latency = 50e-6;
    return link;
  };

  Result result;
  Network judge(data);
  std::vector<Network> functions(ranks, judge);
  std::vector<Watch> watches;
  for (size_t i = 0; i < ranks; ++i)
  {
    watches.push_back({ &judge, options.target, &clock, &result.seconds, budget,
        i + 1 == ranks });
  }
  arma::mat model = Network::Start();
  dasgd::Simulate(optimizer, functions, model, machine, watches);
  result.gradients = size_t(optimizer.Report().Gradients());
  std::uint64_t stale = 0, measured = 0;
  for (const dasgd::RankReport& rank : optimizer.Report().ranks)
  {
    stale += rank.staleness.Sum();
    measured += rank.staleness.Measured();
  }
  if (measured > 0)
    result.staleness = double(stale) / double(measured);
  return result;
}

Result Play(const Options& options,
            const std::shared_ptr<const FashionMnist>& data,
            const std::string& variant,
            const size_t ranks,
            const double step,
            const size_t seed,
            const double budget)
{
  // The gradient is a sum, whose scale Adam ignores: the step is Adam's.
  const double scaled = step * (dasgd::ensmallen::dividesStep ?
      double(options.batchSize) : 1);
  if (variant == "allreduce")
  {
    return Play(options, data,
        dasgd::AllreduceSGD<ens::AdamUpdate>(scaled), ranks, seed, budget);
  }
  // DASGD takes the n-th power of the first.
  dasgd::Adam adam(scaled);
  if (variant == "long")
    adam.Beta1() = std::pow(0.9, 1 / double(ranks));
  if (variant == "both short")
    adam.Beta2() = std::pow(0.999, double(ranks));
  if (variant == "no mean")
    adam.Beta1() = 0;
  adam.Topology() = "exponential";
  return Play(options, data, adam, ranks, seed, budget);
}

} // namespace

int main(int argc, char** argv)
{
  Options options;
  CLI::App app{ "Virtual seconds to a loss with Adam on n ranks.  The averages "
      "of a rank are as long as on one rank, counted in its own gradients "
      "('long'); or the mean is, or both are, counted in those of all ranks "
      "('mean short', as dasgd does it, 'both short'); or there is no mean ('no "
      "mean').  And all-reduce.  Each with the best of its steps." };
  app.add_option("--target", options.target, "Loss")->capture_default_str();
  app.add_option("--ranks", options.ranks, "Numbers of ranks");
  app.add_option("--seeds", options.seeds, "Runs with the best step")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  auto data = std::make_shared<FashionMnist>("train", options.points);
  const arma::vec mean = arma::mean(data->images, 1);
  data->images.each_col() -= mean;

  std::cout << "ranks,averages,step,seed,seconds,gradients,staleness\n";
  for (const size_t ranks : options.ranks)
  {
    for (const std::string variant : { "long", "mean short", "both short",
        "no mean", "allreduce" })
    {
      if (ranks == 1 && variant != "long")
        continue;
      // Nothing that takes longer than what is known can be the best.
      double best = 40 / std::sqrt(double(ranks)), bestStep = 0;
      for (double step = 2e-4, worse = 0; step < 0.06 && worse < 2; step *= 2)
      {
        const Result result = Play(options, data, variant, ranks, step, 1,
            best);
        if (result.seconds > 0 && result.seconds < best)
        {
          best = result.seconds;
          bestStep = step;
          worse = 0;
        }
        else if (bestStep > 0)
          ++worse;
      }
      for (size_t seed = 2; seed < 2 + options.seeds && bestStep > 0; ++seed)
      {
        const Result result = Play(options, data, variant, ranks, bestStep,
            seed, 3 * best);
        std::cout << ranks << ',' << variant << ',' << bestStep << ',' << seed
            << ',' << result.seconds << ',' << result.gradients << ','
            << result.staleness << std::endl;
      }
    }
  }
}
