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

#include <set>

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

TEST_CASE("Private random numbers stay private", "[work]")
{
  const auto draw = [](const bool shuffle)
  {
    arma::arma_rng::set_seed(1000 + Rank());
    Probe probe(43, 2);
    dasgd::DASGD<> settings;
    settings.Shuffle() = shuffle;
    Visit(probe, 4, 43 * 3 * Ranks(), settings);
    return arma::randu();
  };

  // Ranks that seeded differently draw different numbers afterwards, although
  // they all shuffled alike.
  const std::vector<double> drawn = Gather(draw(true));
  CHECK(std::set<double>(drawn.begin(), drawn.end()).size() == Ranks());
  // A program that seeds gets the same numbers in each run.
  CHECK(draw(true) == drawn[Rank()]);

  // Without shuffling nobody touches them.
  const double after = draw(false);
  arma::arma_rng::set_seed(1000 + Rank());
  CHECK(arma::randu() == after);
}
