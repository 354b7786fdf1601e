/**
 * @file emulation_test.cpp
 *
 * The synchronous optimizers do what a plain program does that plays all ranks
 * one after the other.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "baselines.hpp"

#include "catch.hpp"

using namespace tests;

namespace {

//! What is trained, and how.
struct Task
{
  size_t points = 48;
  size_t batchSize = 4;
  size_t maxIterations = 480;
  double stepSize = 0.03;
  double momentum = 0;

  std::string Text() const
  {
    return std::to_string(points) + " points, batch " +
        std::to_string(batchSize) + ", maximum " +
        std::to_string(maxIterations);
  }
};

constexpr size_t elements = 5;

//! Complete rounds to the end, and rounds in which some ranks have no work.
std::vector<Task> Tasks()
{
  std::vector<Task> all(5);
  all[1].points = 43; // A short batch in every epoch.
  all[2].maxIterations = 150;
  all[3].points = 43;
  all[3].maxIterations = 201;
  all[4].maxIterations = 3; // Less than one batch.
  return all;
}

//! One rank of the plain program.
struct Player
{
  dasgd::Work work;
  arma::mat model = arma::mat(elements, 1, arma::fill::zeros);
  arma::mat velocity = arma::mat(elements, 1, arma::fill::zeros);
  arma::mat gradient = arma::mat(elements, 1, arma::fill::zeros);
  size_t batch = 0;

  Player(const Task& task, const size_t ranks, const size_t rank) :
      work(std::vector<size_t>(ranks, task.points), rank,
          dasgd::Data::Replicated, dasgd::Sharing::Static, task.batchSize,
          task.maxIterations)
  { }

  //! The gradient of the next batch, if there is one.
  bool Compute(Probe& probe)
  {
    batch = 0;
    if (!work.Left(0))
      return false;
    const dasgd::Batch next = work.Next(0);
    batch = next.size;
    probe.EvaluateWithGradient(model, next.begin, gradient, batch);
    return true;
  }

  //! A step along a gradient of so many points.
  void Step(const Task& task, const arma::mat& along, const double size)
  {
    velocity = task.momentum * velocity -
        dasgd::ensmallen::Step(task.stepSize, size) * along;
    model += velocity;
  }
};

std::vector<Player> Players(const Task& task)
{
  std::vector<Player> all;
  for (size_t i = 0; i < Ranks(); ++i)
    all.emplace_back(task, Ranks(), i);
  return all;
}

arma::mat Mean(const std::vector<Player>& players)
{
  arma::mat mean(elements, 1, arma::fill::zeros);
  for (const Player& player : players)
    mean += player.model / double(players.size());
  return mean;
}

//! In each round one step along the mean gradient of those that have work.
arma::mat PlayAllreduce(const Task& task)
{
  Probe probe(task.points, elements);
  std::vector<Player> players = Players(task);
  while (true)
  {
    arma::mat sum(elements, 1, arma::fill::zeros);
    double computing = 0, points = 0;
    for (Player& player : players)
    {
      if (!player.Compute(probe))
        continue;
      sum += player.gradient;
      computing += 1;
      points += double(player.batch);
    }
    if (computing == 0)
      return players[0].model;
    for (Player& player : players)
      player.Step(task, sum / computing, points / computing);
  }
}

//! In each round some steps of one's own, and then a step of all towards the
//! mean of all models: in the plainest case, to that mean.
arma::mat PlayLocal(const Task& task,
                    const size_t period,
                    const double outerStep = 1,
                    const double outerMomentum = 0)
{
  Probe probe(task.points, elements);
  std::vector<Player> players = Players(task);
  arma::mat model = players[0].model;
  arma::mat velocity(arma::size(model), arma::fill::zeros);
  for (bool more = true; more;)
  {
    more = false;
    for (Player& player : players)
    {
      for (size_t i = 0; i < period && player.Compute(probe); ++i)
      {
        player.Step(task, player.gradient, double(player.batch));
        more = true;
      }
    }
    if (!more)
      break;
    const arma::mat change = Mean(players) - model;
    velocity = outerMomentum * velocity + change;
    model += outerStep * (change + outerMomentum * velocity);
    for (Player& player : players)
      player.model = model;
  }
  return model;
}

//! In each round the weighted mean of one's neighbours, and a step along the
//! gradient at the model from before; in the end the mean of all.
arma::mat PlayDpsgd(const Task& task, const dasgd::Topology& topology)
{
  Probe probe(task.points, elements);
  std::vector<Player> players = Players(task);
  for (bool more = true; more;)
  {
    more = false;
    std::vector<arma::mat> before;
    for (const Player& player : players)
      before.push_back(player.model);
    for (size_t i = 0; i < players.size(); ++i)
    {
      Player& player = players[i];
      const bool computes = player.Compute(probe);
      const dasgd::Mixing mixing(topology, players.size(), i);
      player.model = mixing.Own() * before[i];
      for (size_t k = 0; k < mixing.Neighbours().size(); ++k)
        player.model += mixing.Weights()[k] * before[mixing.Neighbours()[k]];
      if (computes)
        player.Step(task, player.gradient, double(player.batch));
      more = more || computes;
    }
  }
  return Mean(players);
}

//! The optimizer, set to the task.
template<typename OptimizerType>
void Set(OptimizerType& optimizer, const Task& task)
{
  optimizer.StepSize() = task.stepSize;
  optimizer.BatchSize() = task.batchSize;
  optimizer.MaxIterations() = task.maxIterations;
  optimizer.Tolerance() = -1;
  optimizer.Shuffle() = false;
}

//! What it comes to.
template<typename OptimizerType>
arma::mat Result(OptimizerType& optimizer, const Task& task)
{
  Set(optimizer, task);
  Probe probe(task.points, elements);
  arma::mat iterate(elements, 1, arma::fill::zeros);
  Optimize(optimizer, probe, iterate);
  CHECK(Same(iterate));
  return iterate;
}

double Apart(const arma::mat& one, const arma::mat& other)
{ return arma::abs(one - other).max(); }

} // namespace

TEST_CASE("AllreduceSGD steps along the mean gradient of all that compute",
    "[emulation]")
{
  for (const Task& task : Tasks())
  {
    INFO(task.Text());
    dasgd::AllreduceSGD<> optimizer;
    const arma::mat expected = PlayAllreduce(task);
    CHECK(Apart(Result(optimizer, task), expected) < 1e-12);
    // It did go somewhere.
    CHECK(arma::abs(expected).max() > 1e-3);
  }
}

TEST_CASE("AllreduceSGD with momentum does so, too", "[emulation]")
{
  for (Task task : Tasks())
  {
    INFO(task.Text());
    task.momentum = 0.6;
    dasgd::AllreduceSGD<ens::MomentumUpdate> optimizer;
    optimizer.UpdatePolicy() = ens::MomentumUpdate(0.6);
    CHECK(Apart(Result(optimizer, task), PlayAllreduce(task)) < 1e-12);
  }
}

TEST_CASE("LocalSGD averages models after Period() steps of each rank",
    "[emulation]")
{
  for (Task task : Tasks())
  {
    for (const size_t period : { 1, 3, 8, 1000 })
    {
      INFO(task.Text() << ", period " << period);
      task.momentum = 0;
      dasgd::LocalSGD<> optimizer;
      optimizer.Period() = period;
      CHECK(Apart(Result(optimizer, task), PlayLocal(task, period)) < 1e-12);

      task.momentum = 0.6;
      dasgd::LocalSGD<ens::MomentumUpdate> momentum;
      momentum.UpdatePolicy() = ens::MomentumUpdate(0.6);
      momentum.Period() = period;
      CHECK(Apart(Result(momentum, task), PlayLocal(task, period)) < 1e-12);
    }
  }
}

TEST_CASE("DiLoCo steps with momentum after Period() steps of each rank",
    "[emulation]")
{
  if (Ranks() == 1)
    return;
  for (const Task& task : Tasks())
  {
    for (const size_t period : { 1, 3, 8, 1000 })
    {
      INFO(task.Text() << ", period " << period);
      dasgd::DiLoCo<> optimizer;
      optimizer.Period() = period;
      CHECK(Apart(Result(optimizer, task), PlayLocal(task, period, 0.7, 0.9)) <
          1e-12);
      optimizer.OuterStepSize() = 0.3;
      optimizer.OuterMomentum() = 0.5;
      CHECK(Apart(Result(optimizer, task), PlayLocal(task, period, 0.3, 0.5)) <
          1e-12);
      // Without an outer step it is local SGD.
      optimizer.OuterStepSize() = 1;
      optimizer.OuterMomentum() = 0;
      CHECK(Apart(Result(optimizer, task), PlayLocal(task, period)) < 1e-12);
    }
  }
}

TEST_CASE("DPSGD averages with its neighbours and steps, round by round",
    "[emulation]")
{
  for (const Task& task : Tasks())
  {
    for (const dasgd::Topology& topology : Topologies(Ranks()))
    {
      INFO(task.Text() << ", " << topology.Name());
      dasgd::DPSGD<> optimizer;
      optimizer.Topology() = topology;
      CHECK(Apart(Result(optimizer, task), PlayDpsgd(task, topology)) < 1e-12);
    }
  }
}

TEST_CASE("LocalSGD that averages after every step is AllreduceSGD",
    "[emulation]")
{
  // As long as all ranks have work for the same number of batches of the same
  // size.
  Task task;
  task.maxIterations = 480;
  dasgd::AllreduceSGD<> together;
  dasgd::LocalSGD<> local;
  local.Period() = 1;
  const arma::mat expected = Result(together, task);
  CHECK(Apart(Result(local, task), expected) < 1e-12);
  // With a period of more it is not: what was compared can be different.
  local.Period() = 4;
  if (Ranks() > 1)
    CHECK(Apart(Result(local, task), expected) > 1e-9);
}

TEST_CASE("A server with one worker does what that worker would do alone",
    "[emulation]")
{
  if (Ranks() != 2)
    return;
  for (const Task& task : Tasks())
  {
    INFO(task.Text());
    dasgd::ParameterServerSGD<> optimizer;
    const arma::mat iterate = Result(optimizer, task);
    Probe probe(task.points, elements);
    Player alone(task, 1, 0);
    while (alone.Compute(probe))
      alone.Step(task, alone.gradient, double(alone.batch));
    CHECK(Apart(iterate, alone.model) < 1e-12);
  }
}
