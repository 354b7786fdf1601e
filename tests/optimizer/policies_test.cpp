/**
 * @file policies_test.cpp
 *
 * One rank behaves as ens::SGD does with every update policy that ensmallen has;
 * those that are used most are called in more ways in one_rank_test.cpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "one_rank.hpp"

using namespace tests;

namespace {

template<typename... UpdateTypes>
void Compare(const UpdateTypes&... updates)
{
  Call call;
  call.maxIterations = 170;
  (CompareWithSGD<arma::mat>(call, updates), ...);
}

} // namespace

TEST_CASE("One rank with a policy of Adam's family is ens::SGD", "[one]")
{
  Compare(ens::AMSGradUpdate(), ens::NadamUpdate(), ens::QHAdamUpdate(),
      ens::AdaBeliefUpdate(), ens::SWATSUpdate());
}

TEST_CASE("One rank with any other policy is ens::SGD", "[one]")
{
  // Not ens::FTMLUpdate: it counts iterations from a number that it does not
  // initialize, so that it differs from itself.
  Compare(ens::QHUpdate(), ens::AdaGradUpdate(), ens::RMSPropUpdate(),
      ens::DemonSGDUpdate());
}
