/**
 * @file parameters_test.cpp
 *
 * The parameters of ensmallen's policies, which all ranks must agree on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <ensmallen.hpp>

#include <dasgd/ensmallen/policy_parameters.hpp>

#include "catch.hpp"

namespace {

//! The names of a policy's parameters.
template<typename PolicyType>
std::string Names(const PolicyType& policy)
{
  std::string names;
  for (const auto& [name, value] : dasgd::Parameters("P", policy))
    names += (names.empty() ? "" : " ") + name.substr(2);
  return names;
}

//! A policy of a user's own.
struct Own
{
  bool V1() const { return true; }
  int Alpha() const { return 3; }
  float Beta1() const { return 0.5f; }
  arma::mat Momentum() const { return arma::mat(); }
  double& Epsilon() { return epsilon; } // A const policy does not have it.
  double epsilon = 0;
};

} // namespace

TEST_CASE("The parameters of every policy are found", "[parameters]")
{
  CHECK(Names(ens::VanillaUpdate()) == "");
  CHECK(Names(ens::NoDecay()) == "");
  CHECK(Names(ens::MomentumUpdate()) == "Momentum()");
  CHECK(Names(ens::NesterovMomentumUpdate()) == "Momentum()");
  CHECK(Names(ens::QHUpdate()) == "Momentum() V()");
  CHECK(Names(ens::AdamUpdate()) == "Beta1() Beta2() Epsilon()");
  CHECK(Names(ens::AdaMaxUpdate()) == "Beta1() Beta2() Epsilon()");
  CHECK(Names(ens::AMSGradUpdate()) == "Beta1() Beta2() Epsilon()");
  CHECK(Names(ens::OptimisticAdamUpdate()) == "Beta1() Beta2() Epsilon()");
  CHECK(Names(ens::NadamUpdate()) ==
      "Beta1() Beta2() Epsilon() ScheduleDecay()");
  CHECK(Names(ens::NadaMaxUpdate()) ==
      "Beta1() Beta2() Epsilon() ScheduleDecay()");
  CHECK(Names(ens::AdaBeliefUpdate()) == "Beta1() Beta2() Epsilon()");
  CHECK(Names(ens::AdaBoundUpdate()) ==
      "Beta1() Beta2() Epsilon() FinalLr() Gamma()");
  CHECK(Names(ens::AMSBoundUpdate()) ==
      "Beta1() Beta2() Epsilon() FinalLr() Gamma()");
  CHECK(Names(ens::AdaDeltaUpdate()) == "Epsilon() Rho()");
  CHECK(Names(ens::AdaGradUpdate()) == "Epsilon()");
  CHECK(Names(ens::AdaSqrtUpdate()) == "Epsilon()");
  CHECK(Names(ens::FTMLUpdate()) == "Beta1() Beta2() Epsilon()");
  CHECK(Names(ens::PadamUpdate()) == "Beta1() Beta2() Epsilon() Partial()");
  CHECK(Names(ens::YogiUpdate()) == "Beta1() Beta2() Epsilon()");
  CHECK(Names(ens::QHAdamUpdate()) == "Beta1() Beta2() Epsilon() V1() V2()");
  CHECK(Names(ens::RMSPropUpdate()) == "Alpha() Epsilon()");
  CHECK(Names(ens::SMORMS3Update()) == "Epsilon()");
  CHECK(Names(ens::DemonSGDUpdate()) == "Momentum() MomentumIterations()");
  CHECK(Names(ens::SnapshotEnsembles(1, 2, 3, 4, 5)) ==
      "MultFactor() SnapshotEpochs() StepSize()");
  CHECK(Names(ens::CyclicalDecay(1, 2, 3)) == "MultFactor() StepSize()");
  // What they have besides, a run changes.
  CHECK(Names(ens::SWATSUpdate()) == "Beta1() Beta2() Epsilon()");
  CHECK(Names(ens::WNGradUpdate()) == "");
#if ENS_VERSION_MAJOR >= 3
  CHECK(Names(ens::DeltaBarDeltaUpdate(1, 1, 1, 1, 1)) ==
      "InitialStepSize() Kappa() MinStepSize() Phi() Theta()");
  CHECK(Names(ens::MomentumDeltaBarDeltaUpdate(1, 1, 1, 1)) ==
      "Kappa() MinGain() Momentum() Phi()");
#endif
}

TEST_CASE("The parameters of a wrapped policy are found, too", "[parameters]")
{
  ens::MomentumUpdate momentum;
  CHECK(Names(ens::GradientClipping<ens::MomentumUpdate>(-1, 1, momentum)) ==
      "MinGradient() MaxGradient() UpdatePolicy().Momentum()");
}

TEST_CASE("What is no number or not there is left out", "[parameters]")
{
  CHECK(Names(Own()) == "Alpha() Beta1() V1()");
}
