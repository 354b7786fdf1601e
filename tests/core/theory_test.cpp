/**
 * @file theory_test.cpp
 *
 * The paper's formulas against values computed by hand.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/staleness/theory.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <vector>

#include "catch.hpp"

using namespace dasgd;
using namespace dasgd::theory;

namespace {

//! A few roundings of values near 1.
Approx Near(const double value)
{
  return Approx(value).epsilon(1e-14);
}

//! L = 2, sigma = 3, r_0 = 5, Q = 7: no two can be mixed up.
const Problem example = { 2, 3, 5, 7 };

//! No noise, so that every error can be reached.
const Problem silent = { 2, 0, 5, 0 };

//! All four bounds of a problem, with a staleness of 2 (and 1 and 4: the root
//! of their product is 2) and a step of 1/16 = 1 / (4 * 2 * 2).
std::vector<Bound> AllBounds(const Problem& problem)
{
  return { BoundedFixedStep(problem, 2, 0.0625), FixedStep(problem, 0.0625),
      BoundedBestStep(problem, 2), BestStep(problem, 1, 4) };
}

std::string MessageOf(const std::function<void()>& action)
{
  try
  {
    action();
  }
  catch (const std::invalid_argument& e)
  {
    return e.what();
  }
  return "nothing was thrown";
}

} // namespace

TEST_CASE("Theorem 1, step limit of equation (11): 1 / (4 L S_avg)",
    "[theory]")
{
  // 1 / (4 * 4 * 2) = 1 / 32
  CHECK(BoundedStepLimit(4, 2) == 1.0 / 32);
  // 1 / (4 * 2 * 1.5) = 1 / 12
  CHECK(BoundedStepLimit(2, 1.5) == Near(1.0 / 12));
}

TEST_CASE("Theorem 1, step limit of equation (12): "
    "1 / (4 L sqrt(Savg Smax))", "[theory]")
{
  // 1 / (4 * 4 * sqrt(2 * 8)) = 1 / 64
  CHECK(StepLimit(4, 2, 8) == 1.0 / 64);
  // 1 / (4 * 3 * sqrt(1.5 * 6)) = 1 / 36
  CHECK(StepLimit(3, 1.5, 6) == Near(1.0 / 36));
}

TEST_CASE("Descent lemma: no step limit is above 1 / (2 L)", "[theory]")
{
  for (const double staleness : { 0.0, 0.25, 0.5 })
  {
    INFO("staleness " << staleness);
    // 1 / (2 * 4) = 1 / 8
    CHECK(BoundedStepLimit(4, staleness) == 0.125);
    CHECK(StepLimit(4, staleness, staleness) == 0.125);
  }
  CHECK(StepLimit(4, 0, 9) == 0.125);
  CHECK(BoundedStepLimit(4, 0.51) < 0.125);
  CHECK(StepLimit(4, 0.5, 0.6) < 0.125);
}

TEST_CASE("Assumption 3: L below 1 counts as 1", "[theory]")
{
  for (const double smoothness : { 0.0, 0.3, 1.0 })
  {
    INFO("L = " << smoothness);
    // 1 / (4 * 1 * 2) = 1 / 8
    CHECK(BoundedStepLimit(smoothness, 2) == 0.125);
    CHECK(StepLimit(smoothness, 2, 2) == 0.125);
    const std::vector<Bound> bounds = AllBounds({ smoothness, 3, 5, 7 });
    const std::vector<Bound> ones = AllBounds({ 1, 3, 5, 7 });
    for (size_t i = 0; i < bounds.size(); ++i)
      CHECK(bounds[i](9) == ones[i](9));
  }
  CHECK(BoundedStepLimit(1.01, 2) < 0.125);
}

TEST_CASE("Discussion, expected staleness of the complete topology and the "
    "ring", "[theory]")
{
  // (8 + 1) / 2 and 8
  const StalenessPair complete = ExpectedStaleness("complete", 8);
  CHECK(complete.average == 4.5);
  CHECK(complete.max == 8);
  CHECK(complete.fromPaper);

  // (8^2 + 1) / 2 and 8^2, although 4 hops are enough here
  const StalenessPair ring = ExpectedStaleness("ring", 8);
  CHECK(ring.average == 32.5);
  CHECK(ring.max == 64);
  CHECK(ring.fromPaper);
}

TEST_CASE("Discussion, carried on: n h for topologies with h hops",
    "[theory]")
{
  // From corner to corner: 2 + 3 hops; (12 * 5 + 1) / 2 and 12 * 5
  const StalenessPair mesh = ExpectedStaleness("mesh:3x4", 12);
  CHECK(mesh.average == 30.5);
  CHECK(mesh.max == 60);
  CHECK_FALSE(mesh.fromPaper);

  // Offset 7 = 4 + 2 + 1 takes 3 hops; (8 * 3 + 1) / 2 and 8 * 3
  const StalenessPair exponential = ExpectedStaleness("exponential", 8);
  CHECK(exponential.average == 12.5);
  CHECK(exponential.max == 24);
  CHECK_FALSE(exponential.fromPaper);

  // Leaf to leaf over the root: 2 + 2 hops; (7 * 4 + 1) / 2 and 7 * 4
  const StalenessPair tree = ExpectedStaleness("tree:2", 7);
  CHECK(tree.average == 14.5);
  CHECK(tree.max == 28);
  CHECK_FALSE(tree.fromPaper);

  // A path of three hops; (4 * 3 + 1) / 2 and 4 * 3
  const StalenessPair path = ExpectedStaleness("graph:0-1,1-2,2-3", 4);
  CHECK(path.average == 6.5);
  CHECK(path.max == 12);
  CHECK_FALSE(path.fromPaper);

  // One hop, like the complete topology: (3 * 1 + 1) / 2 and 3 * 1
  const StalenessPair triangle = ExpectedStaleness("graph:0-1,1-2,0-2", 3);
  CHECK(triangle.average == 2);
  CHECK(triangle.max == 3);
  CHECK_FALSE(triangle.fromPaper);
}

TEST_CASE("One rank expects no staleness on any topology", "[theory]")
{
  for (const Topology topology : { "complete", "ring", "mesh:1x1",
      "exponential", "tree", "graph:" })
  {
    INFO(topology.Name());
    const StalenessPair pair = ExpectedStaleness(topology, 1);
    CHECK(pair.average == 0);
    CHECK(pair.max == 0);
    CHECK_FALSE(pair.fromPaper);
  }
}

TEST_CASE("A topology that does not fit has no expected staleness", "[theory]")
{
  CHECK_THROWS_AS(ExpectedStaleness("mesh:2x2", 3), std::invalid_argument);
  CHECK_THROWS_AS(ExpectedStaleness("ring", 0), std::invalid_argument);
}

TEST_CASE("Proof of (11), fixed step: "
    "2 r0 / (eta (T+1)) + 3 L eta sigma^2 + L^2 Savg^2 eta^2 Q^2", "[theory]")
{
  // With S_avg = 1.5, eta = 1/16 and T = 9:
  // 2 * 5 / (10 / 16)          = 16
  // 3 * 2 * 1/16 * 9           =  3.375
  // 4 * 2.25 * 1/256 * 49      =  1.72265625
  const Bound bound = BoundedFixedStep(example, 1.5, 0.0625);
  CHECK(bound(9) == Near(16 + 3.375 + 1.72265625));
  // Ten times the steps: a tenth of the first term.
  CHECK(bound(99) == Near(1.6 + 3.375 + 1.72265625));
}

TEST_CASE("Proof of (12), fixed step: "
    "7 r0 / (3 eta (T+1)) + 14/3 L eta sigma^2", "[theory]")
{
  // With eta = 1/16 and T = 13:
  // 7 * 5 / (3 * 14 / 16)      = 560 / 42 = 40/3
  // 14/3 * 2 * 1/16 * 9        = 5.25
  const Bound bound = FixedStep(example, 0.0625);
  CHECK(bound(13) == Near(40.0 / 3 + 5.25));
  CHECK(bound(139) == Near(4.0 / 3 + 5.25));
}

TEST_CASE("Proof of (11), best step: 2 (3 L sigma^2 r0 / (T+1))^(1/2) + "
    "2 (L^2 Savg^2 Q^2)^(1/3) (r0 / (T+1))^(2/3) + 4 L r0 Savg / (T+1)",
    "[theory]")
{
  // L = 3, sigma = 2, r_0 = 16, Q = 9, S_avg = 8 and T = 127:
  // 2 * sqrt(3 * 3 * 4 * 16 / 128)  = 2 * sqrt(4.5)
  // 2 * cbrt(9 * 64 * 81) * (1/8)^(2/3) = 2 * 36 * 1/4 = 18
  //   (9 * 64 * 81 = 46656 = 36^3)
  // 4 * 3 * 16 * 8 / 128            = 12
  const Bound bound = BoundedBestStep({ 3, 2, 16, 9 }, 8);
  CHECK(bound(127) == Near(2 * std::sqrt(4.5) + 18 + 12));
  // 1024 = 8 * 128 steps: 1 / sqrt(8), 1/4 and 1/8 of the terms.
  CHECK(bound(1023) == Near(2 * std::sqrt(4.5 / 8) + 4.5 + 1.5));
}

TEST_CASE("Proof of (12), best step: 2 (14 L sigma^2 r0 / (3 (T+1)))^(1/2) + "
    "4 L r0 sqrt(Savg Smax) / (T+1)", "[theory]")
{
  // L = 2, sigma = 3, r_0 = 21, Savg = 2, Smax = 8 and T = 19:
  // 2 * sqrt(14 * 2 * 9 * 21 / (3 * 20)) = 2 * sqrt(88.2) = 2 * 9.391...
  //   (28 * 9 * 21 = 5292)
  // 4 * 2 * 21 * 4 / 20                  = 33.6
  const Bound bound = BestStep({ 2, 3, 21 }, 2, 8);
  CHECK(bound(19) == Near(2 * std::sqrt(88.2) + 33.6));
  // 80 steps: half and a quarter of the terms.
  CHECK(bound(79) == Near(std::sqrt(88.2) + 8.4));
}

TEST_CASE("Descent lemma: the best step of a fresh gradient is 1 / (2 L)",
    "[theory]")
{
  // Without noise and drift r_0 / (eta (T+1)) = 2 L r_0 / (T+1) is left of both
  // best-step bounds: 2 * 2 * 5 / 10 = 2.
  for (const double staleness : { 0.0, 0.4, 0.5 })
  {
    CHECK(BoundedBestStep(silent, staleness)(9) == Near(2));
    CHECK(BestStep(silent, staleness, staleness)(9) == Near(2));
  }
  // The drift is that of the real staleness: none at 0.
  CHECK(BoundedBestStep({ 2, 0, 5, 7 }, 0)(9) == Near(2));
}

TEST_CASE("All bounds fall with T and grow with noise, gap, smoothness and "
    "staleness", "[theory]")
{
  const std::vector<Bound> bounds = AllBounds(example);
  const std::vector<Bound> smoother = AllBounds({ 1.5, 3, 5, 7 });
  const std::vector<Bound> quieter = AllBounds({ 2, 2.9, 5, 7 });
  const std::vector<Bound> nearer = AllBounds({ 2, 3, 4.9, 7 });
  for (size_t i = 0; i < bounds.size(); ++i)
  {
    INFO("bound " << i);
    for (std::uint64_t T = 0; T < 2000; ++T)
    {
      if (bounds[i](T + 1) >= bounds[i](T))
        FAIL("grows at " << T);
    }
    CHECK(smoother[i](50) < bounds[i](50));
    CHECK(quieter[i](50) < bounds[i](50));
    CHECK(nearer[i](50) < bounds[i](50));
  }

  const Problem flatter = { 2, 3, 5, 6.9 };
  CHECK(BoundedFixedStep(flatter, 2, 0.01)(50) <
      BoundedFixedStep(example, 2, 0.01)(50));
  CHECK(BoundedBestStep(flatter, 2)(50) < BoundedBestStep(example, 2)(50));
  CHECK(BoundedFixedStep(example, 1.9, 0.01)(50) <
      BoundedFixedStep(example, 2, 0.01)(50));
  CHECK(BoundedBestStep(example, 1.9)(50) < BoundedBestStep(example, 2)(50));
  CHECK(BestStep(example, 1.9, 4)(50) < BestStep(example, 2, 4)(50));
  CHECK(BestStep(example, 2, 3.9)(50) < BestStep(example, 2, 4)(50));
}

TEST_CASE("Theorem 1, iterations: by hand", "[theory]")
{
  // Fixed step 1/16, no noise.  2 * 5 * 16 / (T+1) <= 1 from T = 159 on, and
  // 7 * 5 * 16 / (3 (T+1)) = 186.67 / (T+1) <= 1 from T = 186 on.
  CHECK(*BoundedFixedStep(silent, 2, 0.0625).Iterations(1) == 159);
  CHECK(*FixedStep(silent, 0.0625).Iterations(1) == 186);
  // Best step, no noise: 4 * 2 * 5 * 2 / (T+1) = 80 / (T+1) <= 1 from 79 on.
  CHECK(*BoundedBestStep(silent, 2).Iterations(1) == 79);
  CHECK(*BestStep(silent, 1, 4).Iterations(1) == 79);
  // An error that the first step has already.
  CHECK(*BestStep(silent, 1, 4).Iterations(80) == 0);
  CHECK(*BestStep(silent, 1, 4).Iterations(79.9) == 1);
  // No gap: nothing to do.
  CHECK(*FixedStep({ 2, 0, 0 }, 0.0625).Iterations(1e-300) == 0);
}

TEST_CASE("Theorem 1, iterations: T is the smallest that will do", "[theory]")
{
  const double gaps[] = { 1e-3, 0.7, 5, 1e4 };
  for (const double noise : { 0.0, 0.1, 3.0 })
  {
    for (const double gap : gaps)
    {
      for (const Bound& bound : AllBounds({ 2, noise, gap, noise }))
      {
        for (double epsilon = 1e3; epsilon > 1e-4; epsilon /= 7)
        {
          INFO("noise " << noise << ", gap " << gap << ", epsilon " << epsilon);
          const std::optional<std::uint64_t> T = bound.Iterations(epsilon);
          REQUIRE(T.has_value() == (bound.floor < epsilon));
          if (!T)
            continue;
          REQUIRE(bound(*T) <= epsilon);
          if (*T > 0)
            REQUIRE(bound(*T - 1) > epsilon);
        }
      }
    }
  }
}

TEST_CASE("Theorem 1, iterations: a fixed step does not get below its floor",
    "[theory]")
{
  // 3 * 2 * 1/16 * 9 + 4 * 4 * 1/256 * 49 = 3.375 + 3.0625; 14/3 * 2 * 9 / 16
  // = 5.25
  const Bound bounded = BoundedFixedStep(example, 2, 0.0625);
  const Bound general = FixedStep(example, 0.0625);
  CHECK(bounded.floor == Near(6.4375));
  CHECK(general.floor == Near(5.25));
  const Bound close = FixedStep({ 2, 3, 1e-3 }, 0.0625);
  REQUIRE(close(std::uint64_t(1) << 53) == close.floor);
  for (const Bound& bound : { bounded, general, close })
  {
    CHECK_FALSE(bound.Iterations(bound.floor / 2).has_value());
    // It only comes close, even where rounding no longer tells the difference.
    CHECK_FALSE(bound.Iterations(bound.floor).has_value());
    CHECK(bound.Iterations(bound.floor * 1.001).has_value());
  }
  // The best step gets as low as one likes, but not within 2^53 steps.
  CHECK(BestStep(example, 1, 4).Iterations(1e-4).has_value());
  CHECK_FALSE(BestStep(example, 1, 4).Iterations(1e-9).has_value());
  CHECK(BestStep(silent, 1, 4).Iterations(1e-9).has_value());
}

TEST_CASE("Theory: arguments without a meaning are refused, with their value",
    "[theory]")
{
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : { -0.125, nan, infinite, -infinite })
  {
    INFO("value " << bad);
    const std::vector<std::function<void()>> actions = {
        [=]() { BoundedStepLimit(bad, 1); },
        [=]() { BoundedStepLimit(1, bad); },
        [=]() { StepLimit(bad, 1, 1); },
        [=]() { StepLimit(1, bad, 1); },
        [=]() { StepLimit(1, 1, bad); },
        [=]() { BoundedFixedStep({ bad, 1, 1, 1 }, 1, 1); },
        [=]() { BoundedFixedStep({ 1, bad, 1, 1 }, 1, 1); },
        [=]() { BoundedFixedStep({ 1, 1, bad, 1 }, 1, 1); },
        [=]() { BoundedFixedStep({ 1, 1, 1, bad }, 1, 1); },
        [=]() { BoundedFixedStep({ 1, 1, 1, 1 }, bad, 1); },
        [=]() { BoundedFixedStep({ 1, 1, 1, 1 }, 1, bad); },
        [=]() { FixedStep({ bad, 1, 1 }, 1); },
        [=]() { FixedStep({ 1, bad, 1 }, 1); },
        [=]() { FixedStep({ 1, 1, bad }, 1); },
        [=]() { FixedStep({ 1, 1, 1 }, bad); },
        [=]() { BoundedBestStep({ bad, 1, 1, 1 }, 1); },
        [=]() { BoundedBestStep({ 1, bad, 1, 1 }, 1); },
        [=]() { BoundedBestStep({ 1, 1, bad, 1 }, 1); },
        [=]() { BoundedBestStep({ 1, 1, 1, bad }, 1); },
        [=]() { BoundedBestStep({ 1, 1, 1, 1 }, bad); },
        [=]() { BestStep({ bad, 1, 1 }, 1, 1); },
        [=]() { BestStep({ 1, bad, 1 }, 1, 1); },
        [=]() { BestStep({ 1, 1, bad }, 1, 1); },
        [=]() { BestStep({ 1, 1, 1 }, bad, 1); },
        [=]() { BestStep({ 1, 1, 1 }, 1, bad); },
        [=]() { FixedStep(example, 1).Iterations(bad); } };
    std::ostringstream value;
    value << " is " << bad << ";";
    for (size_t i = 0; i < actions.size(); ++i)
    {
      INFO("action " << i);
      CHECK_THAT(MessageOf(actions[i]),
          Catch::Matchers::ContainsSubstring(value.str()));
    }
  }

  // A step or an error of 0, and a problem that says too little.
  CHECK_THROWS_AS(FixedStep(example, 0), std::invalid_argument);
  CHECK_THROWS_AS(BoundedFixedStep(example, 1, 0), std::invalid_argument);
  CHECK_THROWS_AS(FixedStep(example, 1).Iterations(0), std::invalid_argument);
  CHECK_THROWS_AS(BoundedBestStep({ 1, 1, 1 }, 1), std::invalid_argument);
  CHECK_THROWS_AS(BestStep(Problem(), 1, 1), std::invalid_argument);
  CHECK_THAT(MessageOf([]() { BoundedBestStep({ 1, 1, 1 }, 1); }),
      Catch::Matchers::ContainsSubstring("the gradient bound Q"));
}
