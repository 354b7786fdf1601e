/**
 * @file old_step_test.cpp
 *
 * A program that asks ensmallen for steps that are not divided by the batch
 * size gets them from dasgd, too.  This is a program of its own, since the
 * macro must be the same in all of its files.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef ENS_OLD_SEPARABLE_STEP_BEHAVIOR
#define ENS_OLD_SEPARABLE_STEP_BEHAVIOR
#endif
#include "../probe.cpp"

#include "../one_rank.hpp"

using namespace tests;

static_assert(!dasgd::ensmallen::dividesStep, "");

TEST_CASE("With ENS_OLD_SEPARABLE_STEP_BEHAVIOR one rank is ens::SGD", "[old]")
{
  for (const size_t batchSize : { 8, 7, 60, 100 })
  {
    Call call;
    call.batchSize = batchSize;
    call.stepSize = 0.001;
    CompareWithSGD<arma::mat>(call, ens::VanillaUpdate());
    CompareWithSGD<arma::mat>(call, ens::AdamUpdate());
  }
}

TEST_CASE("With ENS_OLD_SEPARABLE_STEP_BEHAVIOR ranks step by the sum",
    "[old]")
{
  Probe probe(12 * Ranks(), 3, Probe::Linear);
  arma::mat iterate(3, 1, arma::fill::zeros);
  const arma::mat expected = -probe.FullGradient(iterate);
  FixedDASGD optimizer(1, 4, probe.NumFunctions(), -1);
  Optimize(optimizer, probe, iterate);
  CHECK(arma::approx_equal(iterate, expected, "absdiff", 0));
}
