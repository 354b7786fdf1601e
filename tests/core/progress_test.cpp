/**
 * @file progress_test.cpp
 *
 * Stop rules, manifests, staleness and reports.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/run/progress.hpp>
#include <dasgd/core/random.hpp>
#include <dasgd/report/report.hpp>
#include <dasgd/core/vector_ops.hpp>

#include <sstream>

using namespace dasgd;

namespace {

ManifestEntry Entry(const size_t origin,
                    const std::uint64_t points,
                    const std::uint64_t epoch,
                    const std::uint64_t epochPoints,
                    const double objective)
{
  ManifestEntry entry;
  entry.origin = std::uint32_t(origin);
  entry.points = points;
  entry.epoch = epoch;
  entry.epochPoints = epochPoints;
  entry.epochObjective = objective;
  return entry;
}

} // namespace

TEST_CASE("an epoch ends when every rank's part of it is known", "[core]")
{
  Progress progress(2, 10, Sharing::Static);
  double objective = 0;
  CHECK(progress.Note(Entry(0, 3, 1, 3, 1.0)) == 1.0);
  CHECK(progress.Note(Entry(0, 5, 1, 5, 1.5)) == 0.5);
  // Rank 0 runs ahead into the next epoch.
  progress.Note(Entry(0, 10, 2, 5, 0.25));
  CHECK(!progress.CloseEpoch(objective));
  progress.Note(Entry(1, 5, 1, 5, 2.0));
  CHECK(progress.Points() == 15);
  CHECK(progress.CloseEpoch(objective));
  CHECK(objective == 3.5);
  CHECK(!progress.CloseEpoch(objective));
  CHECK(progress.CurrentObjective() == 0.25);
  CHECK(progress.CurrentEpoch() == 2);
}

TEST_CASE("all ranks get the same objective however gradients were bundled",
    "[core]")
{
  // The same sums, told one by one, in one go, and in another order of ranks.
  Random random(1);
  for (size_t trial = 0; trial < 100; ++trial)
  {
    std::vector<std::vector<ManifestEntry>> told(3);
    for (size_t o = 0; o < 3; ++o)
    {
      double sum = 0;
      for (size_t k = 1; k <= 5; ++k)
      {
        sum += random.Uniform() * 1e-3;
        told[o].push_back(Entry(o, k, 1, k, sum));
      }
    }
    double objectives[3] = { 0, 0, 0 };
    for (size_t view = 0; view < 3; ++view)
    {
      Progress progress(3, 15, Sharing::Static);
      for (size_t i = 0; i < 3; ++i)
      {
        const size_t o = (view + i) % 3;
        for (size_t k = (view == 1) ? 4 : 0; k < 5; ++k)
          progress.Note(told[o][k]);
      }
      REQUIRE(progress.CloseEpoch(objectives[view]));
    }
    CHECK(objectives[0] == objectives[1]);
    CHECK(objectives[0] == objectives[2]);
  }
}

TEST_CASE("dynamic epochs are scaled to the points of one epoch", "[core]")
{
  Progress progress(2, 10, Sharing::Dynamic);
  progress.Note(Entry(0, 8, 1, 8, 8.0));
  progress.Note(Entry(1, 4, 1, 4, 4.0));
  double objective = 0;
  CHECK(progress.CloseEpoch(objective));
  CHECK(objective == Approx(10.0));
  // What comes in late for a judged epoch counts as points, no more.
  progress.Note(Entry(1, 6, 1, 6, 6.0));
  CHECK(progress.Points() == 14);
  CHECK(!progress.CloseEpoch(objective));
}

TEST_CASE("a lost epoch total does not hold up later epochs", "[core]")
{
  Progress progress(2, 10, Sharing::Static);
  progress.Note(Entry(0, 5, 1, 5, 1));
  progress.Note(Entry(0, 10, 2, 5, 1));
  // Rank 1's entries of epochs 1 and 2 were folded into one.
  progress.Note(Entry(1, 10, 2, 5, 2));
  double objective = 0;
  CHECK(progress.CloseEpoch(objective));
  CHECK(objective == 3);
  CHECK(progress.CurrentEpoch() == 3);
}

TEST_CASE("a rank far ahead does not keep the others' epochs from ending",
    "[core]")
{
  // Rank 0 is thousands of epochs ahead; rank 1's next epochs still end, one by
  // one, and what is kept stays bounded.
  Progress progress(2, 10, Sharing::Static);
  for (std::uint64_t e = 1; e <= 5000; ++e)
    progress.Note(Entry(0, 5 * e, e, 5, 1));
  double objective = 0;
  size_t closed = 0;
  for (std::uint64_t e = 1; e <= 5100; ++e)
  {
    progress.Note(Entry(1, 5 * e, e, 5, 2));
    if (e > 5000)
      progress.Note(Entry(0, 5 * e, e, 5, 1));
    while (progress.CloseEpoch(objective))
    {
      CHECK(objective == 3);
      ++closed;
    }
  }
  CHECK(closed >= 1024 + 100);
  CHECK(progress.CurrentEpoch() == 5101);
}

TEST_CASE("the tolerance rule is ensmallen's", "[core]")
{
  ToleranceRule<double> rule(0.1);
  CHECK(!rule.Reached(5.0));
  CHECK(!rule.Reached(4.0));
  CHECK(rule.Reached(3.95));
  ToleranceRule<float> single(1e30);
  CHECK(!single.Reached(5.0f)); // Never after the first epoch.
  CHECK(single.Reached(4.0f));
  ToleranceRule<double> none(0);
  none.Reached(1);
  CHECK(!none.Reached(1)); // Less than, not at most.
}

TEST_CASE("a manifest folds only beyond its limit, and loses no count",
    "[core]")
{
  const size_t ranks = 3;
  Manifest manifest(ranks);
  const std::uint64_t version[] = { 1, 2, 3 };
  std::uint64_t next[] = { 1, 1, 1 };
  Random random(2);
  const size_t total = 5000;
  for (size_t i = 0; i < total; ++i)
  {
    ManifestEntry entry = Entry(random.Below(ranks), i + 1, 1 + i / 1000, i, 0);
    entry.first = next[entry.origin]++;
    manifest.Add(entry, version);
    if (i < Manifest::Limit(ranks))
      CHECK(manifest.Entries().size() == i + 1);
  }
  CHECK(manifest.Gradients() == total);
  CHECK(manifest.Entries().size() <= Manifest::MaxEntries(ranks));
  std::uint64_t due[] = { 1, 1, 1 };
  for (const ManifestEntry& entry : manifest.Entries())
  {
    CHECK(entry.first == due[entry.origin]);
    due[entry.origin] += entry.count;
    CHECK((entry.count == 1 || !entry.versioned));
  }
  for (size_t o = 0; o < ranks; ++o)
    CHECK(due[o] == next[o]);

  manifest.Clear();
  CHECK(manifest.Empty());
  CHECK(manifest.Last(0) == nullptr);
}

TEST_CASE("a full manifest keeps the totals of the oldest epochs", "[core]")
{
  // One gradient for each epoch: there is no room for all totals.
  Manifest manifest(2);
  const std::uint64_t version[] = { 0, 0 };
  const std::uint64_t epochs = 3 * Manifest::MaxEntries(2);
  for (std::uint64_t e = 1; e <= epochs; ++e)
  {
    ManifestEntry entry = Entry(1, e, e, 1, double(e));
    entry.first = e;
    manifest.Add(entry, version);
  }
  const std::vector<ManifestEntry>& entries = manifest.Entries();
  CHECK(manifest.Gradients() == epochs);
  for (size_t i = 0; i < entries.size(); ++i)
  {
    CHECK(entries[i].epoch == i + 1);
    CHECK(entries[i].epochObjective == double(i + 1));
  }
  CHECK(entries.back().points == epochs);
}

TEST_CASE("staleness is the size of the symmetric difference", "[core]")
{
  const std::uint64_t a[] = { 3, 0, 7 }, b[] = { 1, 4, 7 };
  CHECK(Staleness(a, b, 3) == 6);
  CHECK(Staleness(b, a, 3) == 6);
  CHECK(Staleness(a, a, 3) == 0);

  StalenessMeter meter;
  for (const std::uint64_t size : { 0, 1, 2, 3, 4, 100 })
    meter.Add(size);
  meter.Skip(7);
  CHECK(meter.Measured() == 6);
  CHECK(meter.Skipped() == 7);
  CHECK(meter.Max() == 100);
  CHECK(meter.Mean() == Approx(110.0 / 6));
  CHECK(meter.Histogram()[0] == 1);
  CHECK(meter.Histogram()[1] == 1);
  CHECK(meter.Histogram()[2] == 2);
  CHECK(meter.Histogram()[3] == 1);
  CHECK(meter.Histogram()[7] == 1);
}

TEMPLATE_TEST_CASE("numbers that are not finite are found anywhere", "[core]",
    double, float)
{
  using Limits = std::numeric_limits<TestType>;
  for (const size_t size : { 1, 2, 7, 64, 1001 })
  {
    std::vector<TestType> values(size, Limits::max());
    values[0] = Limits::denorm_min();
    CHECK(AllFinite(values.data(), size));
    for (const TestType bad : { Limits::infinity(), -Limits::infinity(),
        Limits::quiet_NaN() })
    {
      for (const size_t at : { size_t(0), size / 2, size - 1 })
      {
        std::vector<TestType> spoilt = values;
        spoilt[at] = bad;
        CHECK(!AllFinite(spoilt.data(), size));
      }
    }
  }
}

TEMPLATE_TEST_CASE("a gradient that is not finite leaves model and sum as they "
    "were", "[core]", double, float)
{
  // Whole numbers: what is undone is undone to the bit.
  const size_t size = 5000;
  std::vector<TestType> gradient(size), model(size), sum(size);
  for (size_t i = 0; i < size; ++i)
  {
    gradient[i] = TestType(i % 7) - 3;
    model[i] = TestType(i % 11);
    sum[i] = TestType(i % 5);
  }
  for (const size_t at : { size, size_t(0), size_t(1023), size_t(1024),
      size_t(4096), size - 1 })
  {
    INFO("not finite at " << at);
    std::vector<TestType> bad = gradient;
    if (at < size)
      bad[at] = std::numeric_limits<TestType>::infinity();

    std::vector<TestType> applied = model, added = sum;
    CHECK(FormAndApply<true>(applied.data(), bad.data(), added.data(),
        TestType(2), size) == (at == size));
    std::vector<TestType> expected = model, total = sum, update = sum;
    for (size_t i = 0; i < size && at == size; ++i)
    {
      update[i] = 2 * gradient[i];
      expected[i] -= update[i];
      total[i] += update[i];
    }
    CHECK(applied == expected);
    CHECK(added == total);

    // Formed elsewhere, and in the place of the gradient.
    std::vector<TestType> formed = sum;
    applied = model;
    CHECK(FormAndApply(applied.data(), bad.data(), formed.data(), TestType(2),
        size) == (at == size));
    CHECK(applied == expected);
    if (at == size)
      CHECK(formed == update);

    applied = model;
    CHECK(FormAndApply(applied.data(), bad.data(), bad.data(), TestType(2),
        size) == (at == size));
    CHECK(applied == expected);
    CHECK(AllFinite(bad.data(), size) == (at == size));
  }
}

TEST_CASE("the report says what happened, and when to share dynamically",
    "[core]")
{
  Report report;
  std::ostringstream empty;
  empty << report;
  CHECK(empty.str().find("No run") != std::string::npos);

  report.algorithm = "DASGD";
  report.topology = "ring";
  report.ranks.resize(2);
  report.ranks[0].computed = 10;
  report.ranks[0].secondsIdle = 9;
  report.ranks[1].computed = 20;
  report.ranks[1].points = 640;
  report.ranks[1].deviation = 1e-15;
  report.ranks[1].staleness.Add(3);
  report.seconds = 10;
  report.maxIterations = 600;
  report.reason = StopReason::Callback;
  report.stopRank = 1;
  report.stopStep = 7;
  report.stopText = "a \"quoted\"\nline";
  CHECK(report.Gradients() == 30);
  CHECK(report.Overrun() == 40);
  CHECK(report.StalenessAverage() == 3);
  CHECK(report.StalenessMax() == 3);
  CHECK(report.Deviation() == 1e-15);

  std::ostringstream table;
  table << report;
  CHECK(table.str().find("2 ranks, topology ring") != std::string::npos);
  CHECK(table.str().find("rank 1, step 7") != std::string::npos);
  CHECK(table.str().find("Sharing::Dynamic") != std::string::npos);
  CHECK(report.Json().find("a \\\"quoted\\\"\\nline") !=
      std::string::npos);
  report.objective = std::numeric_limits<double>::quiet_NaN();
  CHECK(report.Json().find("\"objective\": null") != std::string::npos);

  report.sharing = Sharing::Dynamic;
  std::ostringstream other;
  other << report;
  CHECK(other.str().find("waited long") == std::string::npos);
}
