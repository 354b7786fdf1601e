/**
 * @file work_test.cpp
 *
 * The work of one ens::SGD is divided over the ranks: who visits which points,
 * in which order, and how many.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <chrono>
#include <set>
#include <thread>

using namespace tests;

namespace {

//! Fewest and most visits of any point, by all ranks together.
struct Visits
{
  size_t fewest, most, all;

  explicit Visits(const Probe& probe)
  {
    std::vector<size_t> sums = probe.visits;
    SumUp(sums);
    fewest = *std::min_element(sums.begin(), sums.end());
    most = *std::max_element(sums.begin(), sums.end());
    all = std::accumulate(sums.begin(), sums.end(), size_t(0));
  }
};

//! A cheap run on a fresh probe: what counts is which points it visits.
dasgd::DASGD<> Visit(Probe& probe,
                     const size_t batchSize,
                     const size_t maxIterations,
                     const dasgd::DASGD<>& settings = dasgd::DASGD<>())
{
  dasgd::DASGD<> optimizer(settings);
  optimizer.StepSize() = 1e-6;
  optimizer.BatchSize() = batchSize;
  optimizer.MaxIterations() = maxIterations;
  optimizer.Tolerance() = -1;
  arma::mat iterate(2, 1, arma::fill::zeros);
  Optimize(optimizer, probe, iterate);
  return optimizer;
}

} // namespace

TEST_CASE("Replicated data: every point once in each epoch", "[work]")
{
  const size_t epochs[] = { 1, 2, Ranks(), Ranks() + 1, 2 * Ranks() + 1 };
  for (const bool shuffle : { false, true })
  {
    for (const size_t batchSize : { 1, 5, 1000 })
    {
      for (const size_t count : epochs)
      {
        INFO(count << " epochs, batch " << batchSize << ", shuffle "
            << shuffle);
        Probe probe(43, 2); // Divisible by none of the numbers of ranks.
        dasgd::DASGD<> settings;
        settings.Shuffle() = shuffle;
        const dasgd::DASGD<> optimizer = Visit(probe, batchSize, 43 * count,
            settings);
        const Visits visits(probe);
        CHECK(visits.fewest == count);
        CHECK(visits.most == count);
        CHECK(optimizer.Report().Points() == 43 * count);
      }
    }
  }
}

TEST_CASE("MaxIterations counts points over all ranks, exactly", "[work]")
{
  for (const size_t maxIterations : { 1, 7, 42, 44, 100, 43 * 9 + 1 })
  {
    INFO(maxIterations << " iterations");
    Probe probe(43, 2);
    const dasgd::DASGD<> optimizer = Visit(probe, 4, maxIterations);
    const Visits visits(probe);
    CHECK(visits.all == maxIterations);
    // An epoch that is cut short visits no point twice.
    CHECK(visits.fewest == maxIterations / 43);
    CHECK(visits.most == (maxIterations + 42) / 43);
    CHECK(optimizer.Report().Points() == maxIterations);
    CHECK(optimizer.Report().Overrun() == 0);
    CHECK(optimizer.Report().epochPoints == 43);
  }
}

TEST_CASE("Sharded data: every rank visits its own points once in each epoch",
    "[work]")
{
  const size_t mine = 5 + 3 * Rank();
  const size_t total = size_t(Sum(double(mine)));
  dasgd::DASGD<> settings;
  settings.Data() = dasgd::Data::Sharded;
  for (const size_t epochs : { 1, 2, 5 })
  {
    Probe probe(mine, 2);
    const dasgd::DASGD<> optimizer = Visit(probe, 4, epochs * total, settings);
    for (const size_t visits : probe.visits)
      CHECK(visits == epochs);
    CHECK(optimizer.Report().epochPoints == total);
    CHECK(optimizer.Report().Points() == epochs * total);
    CHECK(optimizer.Report().ranks[Rank()].points == epochs * mine);
  }

  // A last epoch that is cut short.
  Probe probe(mine, 2);
  Visit(probe, 4, 2 * total + 4, settings);
  const size_t visited = std::accumulate(probe.visits.begin(),
      probe.visits.end(), size_t(0));
  CHECK(Sum(double(visited)) == double(2 * total + 4));
  CHECK(visited >= 2 * mine);
  CHECK(visited <= 3 * mine);
}

TEST_CASE("Dynamic sharing visits at least MaxIterations points", "[work]")
{
  for (const dasgd::Data data : { dasgd::Data::Replicated,
      dasgd::Data::Sharded })
  {
    for (const size_t maxIterations : { 1, 50, 2000 })
    {
      INFO(maxIterations << " iterations, " << dasgd::ToString(data));
      Probe probe(43, 2);
      dasgd::DASGD<> settings;
      settings.Sharing() = dasgd::Sharing::Dynamic;
      settings.Data() = data;
      const dasgd::DASGD<> optimizer = Visit(probe, 4, maxIterations,
          settings);
      const Visits visits(probe);
      const dasgd::Report& report = optimizer.Report();
      CHECK(visits.all >= maxIterations);
      CHECK(report.Points() == visits.all);
      CHECK(report.Overrun() == visits.all - maxIterations);
      CHECK(report.ranks[Rank()].points == std::accumulate(
          probe.visits.begin(), probe.visits.end(), size_t(0)));
      CHECK(report.reason == dasgd::StopReason::Budget);
    }
  }
}

TEST_CASE("A batch larger than the data is as large as a rank's share",
    "[work]")
{
  Probe probe(43, 2);
  const dasgd::DASGD<> optimizer = Visit(probe, 1000, 43);
  CHECK(Visits(probe).all == 43);
  CHECK(optimizer.Report().Gradients() == Ranks());
}

TEST_CASE("Seed() makes the visiting order reproducible", "[work]")
{
  const auto order = [](const size_t seed, const dasgd::Data data)
  {
    // Whatever the program has drawn so far.
    static size_t drawn = 0;
    arma::arma_rng::set_seed(++drawn * 1000 + Rank());
    Probe probe(43, 2);
    probe.keepOrder = true;
    dasgd::DASGD<> settings;
    settings.Seed() = seed;
    settings.Data() = data;
    Visit(probe, 4, 43 * 2 * Ranks(), settings);
    return probe.order;
  };
  for (const dasgd::Data data : { dasgd::Data::Replicated,
      dasgd::Data::Sharded })
  {
    CHECK(order(5, data) == order(5, data));
    CHECK(order(5, data) != order(6, data));
    if (Ranks() > 1)
    {
      // Nobody has set a seed: another order each time.
      CHECK(order(0, data) != order(0, data));
    }
  }
}

TEST_CASE("Without Seed() the order follows rank 0's random numbers", "[work]")
{
  const auto order = [](const size_t root, const size_t others)
  {
    arma::arma_rng::set_seed(Rank() == 0 ? root : others + Rank());
    Probe probe(43, 2);
    probe.keepOrder = true;
    Visit(probe, 4, 43 * 5);
    return probe.order;
  };
  CHECK(order(3, 50) == order(3, 90));
}

TEST_CASE("Data that comes sorted is shuffled before the first epoch",
    "[work]")
{
  // Otherwise every rank would get points of another kind.  One rank visits
  // them all anyway and begins as ens::SGD does.
  Probe probe(400, 2);
  probe.keepOrder = true;
  Visit(probe, 4, 400);
  CHECK(std::is_sorted(probe.order.begin(), probe.order.end()) ==
      (Ranks() == 1));
}

TEST_CASE("Random numbers go on as if there had been no training", "[work]")
{
  if (Ranks() == 1)
    return;
  // However often each rank shuffled, whatever it drew, and however it ended.
  enum End { Budget, NoShuffle, Dynamic, Tolerance, Callback, Throw, Shuffle };
  const auto draw = [](const size_t seed, const End end)
  {
    arma::arma_rng::set_seed(seed);
    Probe probe(43, 2);
    arma::mat iterate(2, 1, arma::fill::ones);
    dasgd::DASGD<> optimizer(1e-4, 4, 43 * 7 * Ranks(), -1);
    Hooks hooks;
    optimizer.Shuffle() = (end != NoShuffle);
    if (end == Dynamic)
      optimizer.Sharing() = dasgd::Sharing::Dynamic;
    if (end == Tolerance)
      optimizer.Tolerance() = 1e10;
    const bool mine = (Rank() == Ranks() - 1);
    double drawn = 0;
    hooks.step = [&]()
    {
      if (mine)
        drawn += arma::randu(); // As dropout does.
      return end == Callback && mine && hooks.steps == 9;
    };
    probe.onGradient = [&]()
    {
      if (end == Throw && mine && probe.calls == 9)
        throw OwnError{ 7 };
    };
    probe.onShuffle = [&]()
    {
      if (end == Shuffle && mine && probe.shuffles == 2)
        throw OwnError{ 7 };
    };
    Try([&]() { return Optimize(optimizer, probe, iterate, hooks); });
    return arma::randu();
  };
  // The same everywhere, and a function of what was before alone.
  const double drawn = draw(1000, Budget);
  CHECK(Same(drawn));
  for (const End end : { NoShuffle, Dynamic, Tolerance, Callback, Throw,
      Shuffle })
  {
    INFO("end " << int(end));
    CHECK(draw(1000, end) == drawn);
  }
  CHECK(draw(1001, Budget) != drawn);

  // Ranks that seeded differently draw different numbers afterwards.
  const std::vector<double> each = Gather(draw(1000 + Rank(), Budget));
  CHECK(std::set<double>(each.begin(), each.end()).size() == Ranks());
}

TEST_CASE("At one rank only shuffles draw random numbers", "[work]")
{
  if (Ranks() > 1)
    return;
  arma::arma_rng::set_seed(1000);
  Probe probe(43, 2);
  dasgd::DASGD<> settings;
  settings.Shuffle() = false;
  Visit(probe, 4, 43 * 3, settings);
  const double after = arma::randu();
  arma::arma_rng::set_seed(1000);
  CHECK(arma::randu() == after);
}

TEST_CASE("After a training all ranks have their points in one order",
    "[work]")
{
  // Else the parts of the next training would overlap.
  Probe probe(43, 2);
  arma::mat iterate(2, 1, arma::fill::ones);
  dasgd::DASGD<> optimizer(1e-4, 4, 0, -1);
  Hooks hooks;
  hooks.step = [&]() { return Rank() == 0 && hooks.steps == 500; };
  // Others do not come as far as rank 0, and shuffle less often.
  probe.onGradient = [&]()
  {
    if (Rank() > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  Optimize(optimizer, probe, iterate, hooks);
  probe.onGradient = nullptr;
  CHECK(Same(probe.Point(0), 43 * 2 * sizeof(double)));
  // And it is carried out.
  optimizer.MaxIterations() = 43;
  optimizer.Shuffle() = false;
  probe.visits.assign(43, 0);
  Optimize(optimizer, probe, iterate);
  SumUp(probe.visits);
  CHECK(probe.visits == std::vector<size_t>(43, 1));
}

TEST_CASE("With fewer points than ranks, some ranks only follow", "[work]")
{
  for (const size_t points : { size_t(1), std::max<size_t>(1, Ranks() - 1) })
  {
    for (const dasgd::Sharing sharing : { dasgd::Sharing::Static,
        dasgd::Sharing::Dynamic })
    {
      Probe probe(points, 3);
      arma::mat iterate(3, 1, arma::fill::zeros);
      dasgd::DASGD<> optimizer(1e-3, 32, points * 100, -1);
      optimizer.Sharing() = sharing;
      Optimize(optimizer, probe, iterate);
      INFO(points << " points, " << dasgd::ToString(sharing));
      CHECK((probe.calls > 0) == (Rank() < points));
      CHECK(Same(iterate));
      std::vector<size_t> visits = probe.visits;
      SumUp(visits);
      if (sharing == dasgd::Sharing::Static)
        CHECK(visits == std::vector<size_t>(points, 100));
    }
  }
}
