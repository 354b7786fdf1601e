/**
 * @file family_test.cpp
 *
 * dasgd::Adam and all its siblings are ensmallen's at one rank, to the last
 * bit; at several ranks they train, and all ranks end with one model.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "one_rank.hpp"

using namespace tests;

namespace {

//! All attributes of an optimizer, with their values.
template<typename OptimizerType>
std::string Attributes(const OptimizerType& optimizer)
{
  std::ostringstream text;
  text << Exact(optimizer.StepSize()) << ' ' << optimizer.BatchSize() << ' '
      << optimizer.MaxIterations() << Exact(optimizer.Tolerance()) << ' '
      << optimizer.Shuffle() << optimizer.ResetPolicy()
      << optimizer.ExactObjective();
  for (const auto& [name, value] : dasgd::Parameters("", optimizer))
    text << ' ' << name << value;
  return text.str();
}

template<typename AnyType>
struct Type { using type = AnyType; };

/**
 * Compare an optimizer with ensmallen's, and let it train.
 *
 * @tparam TheirType Of ensmallen.
 * @tparam OurType Of dasgd.
 * @param arguments Of the constructors; not the defaults.
 */
template<typename TheirType, typename OurType, typename... ArgumentTypes>
void Compare(const ArgumentTypes... arguments)
{
  INFO(dasgd::TypeName<TheirType>());
  CHECK(Attributes(OurType()) == Attributes(TheirType()));
  TheirType theirs(arguments...);
  OurType ours(arguments...);
  CHECK(Attributes(ours) == Attributes(theirs));
  CHECK(Attributes(ours) != Attributes(OurType()));

  const SixtyPoints<arma::mat> problem;
  Call call;
  if (Ranks() == 1)
  {
    CHECK(Record(ours, problem.function, problem.start, call) ==
        Record(theirs, problem.function, problem.start, call));
  }
  else
  {
    // All ranks hold what rank 0 holds, and it is better than the start.
    arma::arma_rng::set_seed(7);
    ProbeType<arma::mat> function = problem.function;
    arma::mat iterate = problem.start;
    // So few steps should not be shorter, too.
    ours.StalenessDamping() = 0;
    ours.Optimize(function, iterate);
    CHECK(Same(iterate));
    CHECK(function.Objective(iterate) < function.Objective(problem.start));
    // All points as often as at one rank, in all.
    SumUp(function.visits);
    CHECK(function.visits == std::vector<size_t>(60, 480 / 60));
  }
}

} // namespace

TEST_CASE("Adam and those of its shape are ensmallen's", "[one][family]")
{
  const auto compare = [](auto theirs, auto ours)
  {
    // Step, batch, two rates, epsilon, points, tolerance, shuffle, policy.
    Compare<typename decltype(theirs)::type, typename decltype(ours)::type>(
        0.01, size_t(8), 0.8, 0.9, 1e-7, size_t(480), -1.0, true, false);
  };
#define DASGD_COMPARE(NAME) \
  compare(Type<ens::NAME>(), Type<dasgd::NAME>());
  DASGD_COMPARE(Adam)
  DASGD_COMPARE(AdaMax)
  DASGD_COMPARE(AMSGrad)
  DASGD_COMPARE(Nadam)
  DASGD_COMPARE(NadaMax)
  DASGD_COMPARE(OptimisticAdam)
  DASGD_COMPARE(AdaBelief)
  DASGD_COMPARE(SWATS)
  DASGD_COMPARE(Yogi)
#undef DASGD_COMPARE
}

TEST_CASE("The other adaptive optimizers are ensmallen's", "[one][family]")
{
  const size_t batch = 8, points = 480;
  Compare<ens::AdaBound, dasgd::AdaBound>(0.01, batch, 0.2, 2e-3, 0.8, 0.9,
      1e-7, points, -1.0, true, false);
  Compare<ens::AMSBound, dasgd::AMSBound>(0.01, batch, 0.2, 2e-3, 0.8, 0.9,
      1e-7, points, -1.0, true, false);
  Compare<ens::AdaDelta, dasgd::AdaDelta>(0.9, batch, 0.9, 1e-5, points, -1.0,
      true, false);
  Compare<ens::AdaGrad, dasgd::AdaGrad>(0.02, batch, 1e-7, points, -1.0, true,
      false);
  Compare<ens::AdaSqrt, dasgd::AdaSqrt>(0.02, batch, 1e-7, points, -1.0, true,
      false);
  Compare<ens::Padam, dasgd::Padam>(0.01, batch, 0.8, 0.9, 0.2, 1e-7, points,
      -1.0, true, false);
  Compare<ens::QHAdam, dasgd::QHAdam>(0.01, batch, 0.6, 0.9, 0.8, 0.9, 1e-7,
      points, -1.0, true, false);
  Compare<ens::RMSProp, dasgd::RMSProp>(0.01, batch, 0.9, 1e-7, points, -1.0,
      true, false);
  Compare<ens::SMORMS3, dasgd::SMORMS3>(0.01, batch, 1e-15, points, -1.0, true,
      false);
  Compare<ens::WNGrad, dasgd::WNGrad>(0.5, batch, points, -1.0, true, false);
}

TEST_CASE("SGD with momentum and its kind is ensmallen's", "[one][family]")
{
  const size_t batch = 8, points = 480;
  Compare<ens::MomentumSGD, dasgd::MomentumSGD>(0.02, batch, points, -1.0, true,
      ens::MomentumUpdate(0.4), ens::NoDecay(), false);
  Compare<ens::NesterovMomentumSGD, dasgd::NesterovMomentumSGD>(0.02, batch,
      points, -1.0, true, ens::NesterovMomentumUpdate(0.4), ens::NoDecay(),
      false);
  Compare<ens::QHSGD, dasgd::QHSGD>(0.02, batch, points, -1.0, true,
      ens::QHUpdate(0.6, 0.9), ens::NoDecay(), false);
  Compare<ens::SGDR<>, dasgd::SGDR<>>(size_t(5), 1.5, batch, 0.02, points, -1.0,
      true, ens::MomentumUpdate(0.4), false);
}

TEST_CASE("Policies whose steps others cannot apply are known", "[family]")
{
  using dasgd::ensmallen::StepsAreDifferences;
  // They set the iterate anew, or shrink it, in every step.
  CHECK(!StepsAreDifferences<ens::FTMLUpdate>::value);
  CHECK(!StepsAreDifferences<ens::DemonSGDUpdate>::value);
  CHECK(!StepsAreDifferences<ens::DemonAdamUpdate<ens::AdamUpdate>>::value);
  CHECK(!StepsAreDifferences<ens::DemonAdamUpdate<ens::AdaMaxUpdate>>::value);
  CHECK(!StepsAreDifferences<ens::GradientClipping<ens::FTMLUpdate>>::value);
  CHECK(StepsAreDifferences<ens::GradientClipping<ens::AdamUpdate>>::value);
}

TEST_CASE("Sparse iterates are left to ensmallen", "[family]")
{
  ens::test::SphereFunction function(2);
  arma::sp_mat start(2, 1);
  start(0, 0) = 1;
  start(1, 0) = 2;
  arma::sp_mat ours = start, theirs = start;
  dasgd::Adam optimizer(0.1, 2, 0.7, 0.9, 1e-8, 2000, 1e-9, false);
  ens::Adam serial(0.1, 2, 0.7, 0.9, 1e-8, 2000, 1e-9, false);
  std::ostringstream said;
  std::streambuf* before = std::cerr.rdbuf(said.rdbuf());
  const double objective = optimizer.Optimize(function, ours);
  std::cerr.rdbuf(before);
  CHECK(objective == serial.Optimize(function, theirs));
  CHECK(arma::approx_equal(arma::mat(ours), arma::mat(theirs), "absdiff", 0));
  CHECK((said.str().find("not decentralized") != std::string::npos) ==
      (Ranks() > 1 && Rank() == 0));
}

namespace {

//! Halves the step after every ten steps of all ranks.
class HalveAfterTen
{
 public:
  template<typename MatType, typename GradType>
  class Policy
  {
   public:
    explicit Policy(HalveAfterTen&) { }

    void Update(MatType&, double& stepSize, const GradType&)
    {
      if (++steps % 10 == 0)
        stepSize /= 2;
    }

   private:
    size_t steps = 0;
  };
};

} // namespace

TEST_CASE("A decay policy counts the steps of all ranks", "[family]")
{
  Probe probe(10 * Ranks(), 3);
  arma::mat iterate(3, 1, arma::fill::zeros);
  dasgd::DASGD<ens::VanillaUpdate, HalveAfterTen> optimizer(1.0 / 1024, 1,
      2 * probe.NumFunctions(), -1);
  optimizer.Optimize(probe, iterate);
  CHECK(optimizer.StepSize() == std::ldexp(1.0, -10 - 2 * int(Ranks())));
}
