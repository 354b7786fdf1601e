/**
 * @file refusals_test.cpp
 *
 * What these optimizers cannot do is said before anything starts, on all ranks
 * alike: what is wrong, and what to do about it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "baselines.hpp"

#include "catch.hpp"

#include <limits>

using namespace tests;

namespace {

//! A run that would end if it were not refused.
template<typename OptimizerType>
struct Short : public Endless<OptimizerType>
{
  Short() { this->optimizer.MaxIterations() = 20; }
};

template<typename OptimizerType>
void CheckRefused(Endless<OptimizerType>& run,
                  const std::vector<std::string>& parts)
{
  const Ending ending = run.Run();
  INFO(ending);
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(Same(ending.text));
  CHECK(ending.Says(NameOf(run.optimizer) + "::Optimize(): rank"));
  for (const std::string& part : parts)
  {
    INFO("expected: " << part);
    CHECK(ending.Says(part));
  }
  CHECK(run.hooks.begins == 0);
  CHECK(run.probe.calls == 0);
  CHECK(StillWorks());
}

//! The same mistake everywhere.
template<typename OptimizerType>
void CheckMistake(const std::function<void(OptimizerType&)>& mistake,
                  const std::vector<std::string>& parts)
{
  Short<OptimizerType> run;
  mistake(run.optimizer);
  CheckRefused(run, parts);
}

//! The last rank does otherwise than rank 0.
template<typename OptimizerType>
void CheckMismatch(const std::function<void(OptimizerType&)>& change,
                   std::vector<std::string> parts)
{
  if (Ranks() == 1)
    return;
  Short<OptimizerType> run;
  if (Rank() + 1 == Ranks())
    change(run.optimizer);
  parts.push_back("ranks 0 and " + std::to_string(Ranks() - 1) + " disagree");
  parts.push_back("give every rank the same");
  CheckRefused(run, parts);
}

} // namespace

TEMPLATE_TEST_CASE("A topology is refused where there is no choice of it",
    "[refusals]", DASGD_BASELINES_WITHOUT)
{
  CheckMistake<TestType>([](TestType& o) { o.Topology() = "ring"; },
      { "Topology() is ring", "leave it at auto" });
  CheckMistake<TestType>([](TestType& o) { o.Topology() = "tree"; },
      { "Topology() is tree:2", "leave it at auto" });
}

TEMPLATE_TEST_CASE("Settings that only DASGD knows are refused", "[refusals]",
    DASGD_BASELINES)
{
  CheckMistake<TestType>([](TestType& o) { o.ExchangeShare() = 1; },
      { "ExchangeShare() is 1", "leave it at 0.1" });
  CheckMistake<TestType>([](TestType& o) { o.StalenessDamping() = 2; },
      { "StalenessDamping() is 2", "leave it at Automatic" });
  CheckMistake<TestType>([](TestType& o) { o.LookAhead() = 0; },
      { "LookAhead() is 0", "leave it at Automatic" });
  CheckMistake<TestType>([](TestType& o) { o.WireFormat() = "float32"; },
      { "WireFormat() is float32", "leave it at exact" });
  CheckMistake<TestType>([](TestType& o) { o.RecordHistory() = true; },
      { "RecordHistory() is true", "leave it at false" });
  CheckMistake<TestType>([](TestType& o) { o.Checkpoint("a_file"); },
      { "Checkpoint() has a file", "leave it empty" });
  CheckMistake<TestType>([](TestType& o) { o.StepSize() = dasgd::AutoStep; },
      { "StepSize() is AutoStep", "give a number" });
}

TEMPLATE_TEST_CASE("Settings that make no sense are refused", "[refusals]",
    DASGD_BASELINES)
{
  CheckMistake<TestType>([](TestType& o) { o.StepSize() = -0.1; },
      { "StepSize()", "-0.1" });
  CheckMistake<TestType>([](TestType& o) { o.BatchSize() = 0; },
      { "BatchSize() is 0", "at least 1" });
}

TEMPLATE_TEST_CASE("Ranks that disagree on a setting are refused",
    "[refusals]", DASGD_BASELINES)
{
  CheckMismatch<TestType>([](TestType& o) { o.StepSize() = 0.5; },
      { "StepSize()", " and 0.5" });
  CheckMismatch<TestType>([](TestType& o) { o.MaxIterations() = 5; },
      { "MaxIterations()", ": 20 and 5" });
}

TEST_CASE("A Period() of 0, or one that differs, is refused", "[refusals]")
{
  using Local = dasgd::LocalSGD<>;
  CheckMistake<Local>([](Local& o) { o.Period() = 0; },
      { "Period() is 0", "must be from 1" });
  CheckMistake<Local>([](Local& o) { o.Period() = 65537; },
      { "Period() is 65537", "to 65536" });
  CheckMismatch<Local>([](Local& o) { o.Period() = 3; },
      { "Period()", ": 8 and 3" });

  using Diloco = dasgd::DiLoCo<>;
  CheckMistake<Diloco>([](Diloco& o) { o.Period() = 0; },
      { "Period() is 0", "must be from 1" });
  CheckMistake<Diloco>([](Diloco& o) { o.OuterStepSize() = -1; },
      { "OuterStepSize() is -1", "above 0" });
  CheckMistake<Diloco>([](Diloco& o) { o.OuterMomentum() = 1; },
      { "OuterMomentum() is 1", "less than 1" });
  CheckMismatch<Diloco>([](Diloco& o) { o.OuterMomentum() = 0.5; },
      { "OuterMomentum()", ": 0.9 and 0.5" });

  using Swift = dasgd::SWIFT<>;
  CheckMistake<Swift>([](Swift& o) { o.Period() = 0; },
      { "Period() is 0", "at least 1" });
  CheckMismatch<Swift>([](Swift& o) { o.Period() = 3; },
      { "Period()", ": 1 and 3" });
}

TEST_CASE("A server that there cannot be is refused", "[refusals]")
{
  using Server = dasgd::ParameterServerSGD<>;
  const std::string ranks = std::to_string(Ranks());
  CheckMistake<Server>([](Server& o) { o.ServerRank() = Ranks(); },
      { "ServerRank() is " + ranks, "the ranks are 0 to " +
      std::to_string(Ranks() - 1) });
  CheckMistake<Server>([](Server& o)
      { o.MaxDistance() = std::numeric_limits<double>::quiet_NaN(); },
      { "MaxDistance() is ", "nan", "must be a finite number" });
  CheckMistake<Server>([](Server& o)
      { o.MaxDistance() = std::numeric_limits<double>::infinity(); },
      { "MaxDistance() is inf", "must be a finite number" });
  CheckMistake<Server>([](Server& o) { o.MaxDistance() = -1; },
      { "MaxDistance() is -1", "0 to use all" });
}

TEST_CASE("Ranks that disagree on the server are refused", "[refusals]")
{
  using Server = dasgd::ParameterServerSGD<>;
  CheckMismatch<Server>([](Server& o) { o.ServerRank() = 1; },
      { "ServerRank()", ": 0 and 1" });
  CheckMismatch<Server>([](Server& o) { o.DelayAdaptive() = true; },
      { "DelayAdaptive()", ": false and true" });
  CheckMismatch<Server>([](Server& o) { o.MaxDistance() = 2; },
      { "MaxDistance()", ": 0 and 2" });
}

TEST_CASE("A server that holds points of its own is refused", "[refusals]")
{
  if (Ranks() == 1)
    return;
  for (const size_t server : { size_t(0), Ranks() - 1 })
  {
    Short<dasgd::ParameterServerSGD<>> run;
    run.optimizer.Data() = dasgd::Data::Sharded;
    run.optimizer.ServerRank() = server;
    CheckRefused(run, { "rank " + std::to_string(server), "holds " +
        std::to_string(2 * Ranks()) + " points", "ServerRank()",
        "give them to other ranks" });
  }
}

TEMPLATE_TEST_CASE("A rank that computes must hold points", "[refusals]",
    DASGD_BASELINES)
{
  // The last one; the server is the first.
  Short<TestType> run;
  run.optimizer.Data() = dasgd::Data::Sharded;
  const bool empty = (Rank() + 1 == Ranks()) || !Computes<TestType>();
  Probe probe(empty ? 0 : 5, 3);
  const Ending ending = Try([&]()
  { return Optimize(run.optimizer, probe, run.iterate); });
  INFO(ending);
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(Same(ending.text));
  CHECK(ending.Says("rank " + std::to_string(Ranks() - 1)));
  CHECK(ending.Says("no data"));
  CHECK(StillWorks());
}

TEST_CASE("Ranks that run different optimizers are refused", "[refusals]")
{
  if (Ranks() == 1)
    return;
  Short<dasgd::AllreduceSGD<>> one;
  Short<dasgd::SWIFT<>> other;
  const Ending ending = (Rank() == 0) ? one.Run() : other.Run();
  INFO(ending);
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(ending.Says("ranks 0 and 1 disagree on the algorithm"));
  CHECK(ending.Says("AllreduceSGD"));
  CHECK(ending.Says("SWIFT"));
  CHECK(StillWorks());
}
