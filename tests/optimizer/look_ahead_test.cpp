/**
 * @file look_ahead_test.cpp
 *
 * Policies that look ahead: their algebra against formulas written out here,
 * and how far they look.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/optimizer/simulate.hpp>

#include "probe.hpp"

#include "catch.hpp"

#include <cmath>
#include <sstream>

using namespace tests;

namespace {

constexpr size_t elements = 5;
constexpr size_t steps = 12;
constexpr double stepSize = 0.07;

//! Some gradients.
std::vector<arma::mat> Gradients()
{
  dasgd::Random random(5);
  std::vector<arma::mat> all(steps, arma::mat(elements, 1));
  for (arma::mat& gradient : all)
  {
    for (double& value : gradient)
      value = random.Uniform(-1, 1.5);
  }
  return all;
}

//! What a policy that looks ahead by so many rounds does to zeros, step by
//! step; 0 rounds is the policy itself.
template<typename UpdatePolicyType>
std::vector<arma::mat> Path(UpdatePolicyType parameters, const double rounds)
{
  typename UpdatePolicyType::template Policy<arma::mat, arma::mat> policy(
      parameters, elements, 1);
  std::vector<arma::mat> path;
  arma::mat iterate(elements, 1, arma::fill::zeros);
  for (const arma::mat& gradient : Gradients())
  {
    dasgd::look_ahead::Update(parameters, policy, iterate, stepSize, gradient,
        rounds);
    path.push_back(iterate);
  }
  return path;
}

//! The same by a formula: what a step subtracts, of the gradient and the number
//! of steps with this one.
template<typename FormulaType>
std::vector<arma::mat> PathBy(FormulaType&& formula)
{
  std::vector<arma::mat> path;
  arma::mat iterate(elements, 1, arma::fill::zeros);
  for (const arma::mat& gradient : Gradients())
  {
    iterate -= formula(gradient, double(path.size() + 1));
    path.push_back(iterate);
  }
  return path;
}

void CheckEqual(const std::vector<arma::mat>& path,
                const std::vector<arma::mat>& expected)
{
  for (size_t i = 0; i < steps; ++i)
  {
    INFO("step " << i);
    // Rounding of a few operations on numbers around 1.
    CHECK(arma::abs(path[i] - expected[i]).max() < 1e-12);
  }
}

/**
 * A policy with an average that is corrected for its beginning with zeros.
 *
 * @param denominator What the mean is divided by, of the gradient, the mean
 *     (not corrected) and the number of steps.
 */
template<typename DenominatorType>
std::vector<arma::mat> AveragedPath(const double beta1,
                                    const double rounds,
                                    DenominatorType&& denominator)
{
  arma::mat mean(elements, 1, arma::fill::zeros);
  return PathBy([&](const arma::mat& gradient, const double t)
  {
    mean = beta1 * mean + (1 - beta1) * gradient;
    const double left = std::pow(beta1, rounds);
    const arma::mat ahead = left * mean / (1 - std::pow(beta1, t)) +
        (1 - left) * gradient;
    return arma::mat(stepSize * ahead / denominator(gradient, mean, t));
  });
}

} // namespace

TEST_CASE("Momentum looks ahead by any number of rounds, and one round is "
    "Nesterov's", "[ahead]")
{
  const double momentum = 0.8;
  for (const double rounds : { 0.0, 0.5, 1.0, 2.0, 3.7 })
  {
    INFO("rounds " << rounds);
    arma::mat velocity(elements, 1, arma::fill::zeros);
    const std::vector<arma::mat> expected = PathBy([&](
        const arma::mat& gradient, double)
    {
      velocity = momentum * velocity + gradient;
      const double left = std::pow(momentum, rounds);
      return arma::mat(stepSize * (left * velocity + (1 - left) /
          (1 - momentum) * gradient));
    });
    CheckEqual(Path(ens::MomentumUpdate(momentum), rounds), expected);
    // Nesterov's looks ahead by one round in any case.
    if (rounds >= 1)
      CheckEqual(Path(ens::NesterovMomentumUpdate(momentum), rounds), expected);
  }
  CheckEqual(Path(ens::MomentumUpdate(momentum), 1),
      Path(ens::NesterovMomentumUpdate(momentum), 0));
  // QH weighs its velocity by v, and its gradient by what is left.
  CheckEqual(Path(ens::QHUpdate(0.9, momentum), 2),
      Path(ens::QHUpdate(0.9 * momentum * momentum, momentum), 0));
}

TEST_CASE("Adam and its siblings look ahead", "[ahead]")
{
  const double beta1 = 0.8, beta2 = 0.95, epsilon = 1e-4;
  // A variance without memory is left alone.
  CheckEqual(Path(ens::AdaBeliefUpdate(epsilon, beta1, 0), 2),
      Path(ens::AdaBeliefUpdate(epsilon, beta1, 0), 0));
  for (const double rounds : { 0.0, 1.0, 2.5 })
  {
    INFO("rounds " << rounds);
    arma::mat square(elements, 1, arma::fill::zeros);
    const auto meanSquare = [&](const arma::mat& g, const arma::mat&, double t)
    {
      square = beta2 * square + (1 - beta2) * arma::square(g);
      return arma::mat((arma::sqrt(square) + epsilon) /
          std::sqrt(1 - std::pow(beta2, t)));
    };
    CheckEqual(Path(ens::AdamUpdate(epsilon, beta1, beta2), rounds),
        AveragedPath(beta1, rounds, meanSquare));

    square.zeros();
    arma::mat largest = square;
    CheckEqual(Path(ens::AMSGradUpdate(epsilon, beta1, beta2), rounds),
        AveragedPath(beta1, rounds, [&](const arma::mat& g, const arma::mat&,
        double t)
    {
      square = beta2 * square + (1 - beta2) * arma::square(g);
      largest = arma::max(largest, square);
      return arma::mat((arma::sqrt(largest) + epsilon) /
          std::sqrt(1 - std::pow(beta2, t)));
    }));

    square.zeros();
    CheckEqual(Path(ens::AdaMaxUpdate(epsilon, beta1, beta2), rounds),
        AveragedPath(beta1, rounds, [&](const arma::mat& g, const arma::mat&,
        double)
    {
      square = arma::max(beta2 * square, arma::abs(g));
      return arma::mat(square + epsilon);
    }));

    // The variance around the mean, whatever is looked ahead.
    square.zeros();
    CheckEqual(Path(ens::AdaBeliefUpdate(epsilon, beta1, beta2), rounds),
        AveragedPath(beta1, rounds, [&](const arma::mat& g,
        const arma::mat& mean, double t)
    {
      square = beta2 * square + (1 - beta2) * arma::square(g - mean) + epsilon;
      return arma::mat(arma::sqrt(square / (1 - std::pow(beta2, t))) + epsilon);
    }));

    // What QHAdam does with a smaller weight of its mean.
    CheckEqual(Path(ens::QHAdamUpdate(epsilon, beta1, beta2, 0.7, 1), rounds),
        Path(ens::QHAdamUpdate(epsilon, beta1, beta2,
        0.7 * std::pow(beta1, rounds), 1), 0));
  }
}

namespace {

//! After steps that look ahead, a policy goes on as if it had not.
template<typename UpdatePolicyType>
void CheckMemory(UpdatePolicyType parameters)
{
  INFO(dasgd::TypeName<UpdatePolicyType>());
  CHECK(dasgd::look_ahead::Exists<UpdatePolicyType, arma::mat>());
  CHECK(dasgd::look_ahead::Exists<UpdatePolicyType, arma::fmat>());
  using PolicyType = typename UpdatePolicyType::template Policy<arma::mat,
      arma::mat>;
  // Two of them, since some policies change what they are made of.
  UpdatePolicyType same = parameters;
  PolicyType plain(parameters, elements, 1), ahead(same, elements, 1);
  arma::mat first(elements, 1, arma::fill::zeros), second = first;
  bool differed = false;
  for (const arma::mat& gradient : Gradients())
  {
    plain.Update(first, stepSize, gradient);
    dasgd::look_ahead::Update(same, ahead, second, stepSize, gradient, 3);
    differed = differed || arma::abs(first - second).max() > 1e-3;
  }
  CHECK(differed);
  // OptimisticAdam remembers its last step, too, which was another one.
  const size_t forget = std::is_same<UpdatePolicyType,
      ens::OptimisticAdamUpdate>::value ? 1 : 0;
  for (size_t i = 0; i < forget + 1; ++i)
  {
    first.zeros();
    second.zeros();
    plain.Update(first, stepSize, Gradients()[i]);
    ahead.Update(second, stepSize, Gradients()[i]);
  }
  CHECK(arma::abs(first - second).max() < 1e-12);
}

//! Momentum by another name.
struct DerivedUpdate : ens::MomentumUpdate
{
  using ens::MomentumUpdate::MomentumUpdate;
};

//! A policy of a user's own that can look ahead.
struct OwnUpdate
{
  double farthest = 0;

  template<typename MatType, typename GradType>
  struct Policy
  {
    OwnUpdate& parent;
    Policy(OwnUpdate& parent, size_t, size_t) : parent(parent) { }
    void Update(MatType& iterate, const double step, const GradType& gradient)
    { iterate -= step * gradient; }
    void Update(MatType& iterate,
                const double step,
                const GradType& gradient,
                const double rounds)
    {
      parent.farthest = std::max(parent.farthest, rounds);
      iterate -= step * gradient;
    }
  };
};

} // namespace

TEST_CASE("Looking ahead leaves what a policy remembers as it is", "[ahead]")
{
  CheckMemory(ens::MomentumUpdate(0.9));
  CheckMemory(ens::NesterovMomentumUpdate(0.9));
  CheckMemory(ens::QHUpdate(0.8, 0.9));
  CheckMemory(ens::AdamUpdate());
  CheckMemory(ens::AdaMaxUpdate());
  CheckMemory(ens::AMSGradUpdate());
  CheckMemory(ens::NadamUpdate());
  CheckMemory(ens::NadaMaxUpdate());
  CheckMemory(ens::OptimisticAdamUpdate());
  CheckMemory(ens::PadamUpdate());
  CheckMemory(ens::QHAdamUpdate());
  CheckMemory(ens::AdaBoundUpdate());
  CheckMemory(ens::AMSBoundUpdate());
  CheckMemory(ens::AdaBeliefUpdate());
  CheckMemory(ens::YogiUpdate());
  CheckMemory(DerivedUpdate(0.9));
  CHECK(!dasgd::look_ahead::Exists<ens::SWATSUpdate, arma::mat>());
  CHECK(!dasgd::look_ahead::Exists<ens::VanillaUpdate, arma::mat>());
  CHECK(!dasgd::look_ahead::Exists<ens::RMSPropUpdate, arma::mat>());
  CHECK(dasgd::look_ahead::Exists<OwnUpdate, arma::mat>());
}

namespace {

//! The one pass takes the steps that the policy's own code does, and leaves the
//! policy the same memory.
template<typename MatType, typename UpdatePolicyType>
void CheckOnePass(UpdatePolicyType parameters,
                  const double rounds,
                  const double tolerance)
{
  INFO(dasgd::TypeName<UpdatePolicyType>() << ", rounds " << rounds);
  REQUIRE(dasgd::one_pass::Exists<UpdatePolicyType, MatType>());
  using PolicyType = typename UpdatePolicyType::template Policy<MatType,
      MatType>;
  // More than two parts of the pass, and a rest.
  constexpr size_t size = 2 * 1024 + 77;
  PolicyType own(parameters, size, 1), inOnePass(parameters, size, 1),
      applied(parameters, size, 1);
  MatType first(size, 1, arma::fill::zeros), second = first, third = first,
      update = first;
  dasgd::Random random(9);
  const auto step = [&](const bool last)
  {
    MatType gradient(size, 1);
    for (auto& value : gradient)
      value = typename MatType::elem_type(random.Uniform(-1, 1.5));
    dasgd::look_ahead::Update(parameters, own, first, stepSize, gradient,
        rounds);
    if (last)
    {
      dasgd::look_ahead::Update(parameters, inOnePass, second, stepSize,
          gradient, rounds);
    }
    else
    {
      CHECK(dasgd::one_pass::Form(parameters, inOnePass, stepSize, gradient,
          rounds, update.memptr()));
      second -= update;
    }
    CHECK(double(arma::abs(first - second).max()) < tolerance);
    if (rounds == 0)
    {
      CHECK(dasgd::one_pass::Apply(parameters, applied, third, stepSize,
          gradient));
      CHECK(double(arma::abs(first - third).max()) < tolerance);
    }
  };
  for (size_t i = 0; i < steps; ++i)
    step(false);
  step(true);
  CHECK(double(arma::abs(first).max()) > 0.1);
}

} // namespace

TEST_CASE("In one pass, policies take the steps of ensmallen's code", "[ahead]")
{
  for (const double rounds : { 0.0, 0.5, 1.0, 3.7 })
  {
    CheckOnePass<arma::mat>(ens::AdamUpdate(), rounds, 1e-12);
    CheckOnePass<arma::mat>(ens::AdamUpdate(1e-3, 0.8, 0.9), rounds, 1e-12);
    CheckOnePass<arma::mat>(ens::AdamUpdate(1e-8, 0, 0.9), rounds, 1e-12);
    CheckOnePass<arma::mat>(ens::MomentumUpdate(0.8), rounds, 1e-12);
    CheckOnePass<arma::mat>(ens::MomentumUpdate(0), rounds, 1e-12);
    CheckOnePass<arma::mat>(ens::MomentumUpdate(1), rounds, 1e-12);
    // ensmallen rounds the corrections of the first steps to float, too.
    CheckOnePass<arma::fmat>(ens::AdamUpdate(), rounds, 1e-5);
    CheckOnePass<arma::fmat>(ens::MomentumUpdate(0.8), rounds, 1e-5);
  }
  CHECK(!dasgd::one_pass::Exists<ens::NadamUpdate, arma::mat>());
  // What it is derived for may be another step.
  CHECK(!dasgd::one_pass::Exists<DerivedUpdate, arma::mat>());
}

namespace {

//! A mean without gradients is 0 in the end, and subnormal at no time.
template<typename MatType, typename UpdatePolicyType>
void CheckFading(UpdatePolicyType parameters, const size_t steps)
{
  INFO(dasgd::TypeName<UpdatePolicyType>());
  using PolicyType = typename UpdatePolicyType::template Policy<MatType,
      MatType>;
  constexpr size_t size = 3;
  PolicyType policy(parameters, size, 1);
  const auto* const mean = dasgd::one_pass::Memory<
      dasgd::memory::FirstMoment>(policy, MatType(size, 1));
  MatType gradient(size, 1, arma::fill::ones), update(size, 1);
  gradient[1] = -1;
  size_t subnormal = 0;
  for (size_t i = 0; i < steps; ++i)
  {
    CHECK(dasgd::one_pass::Form(parameters, policy, 0.001, gradient, 2,
        update.memptr()));
    gradient.zeros();
    for (size_t j = 0; j < size; ++j)
      subnormal += (std::fpclassify(mean[j]) == FP_SUBNORMAL);
    if (i == 10)
      CHECK(mean[1] != 0);
  }
  CHECK(subnormal == 0);
  CHECK(std::max(std::abs(mean[0]), std::abs(mean[1])) == 0);
}

} // namespace

TEST_CASE("In one pass, a mean fades to 0", "[ahead]")
{
  CheckFading<arma::mat>(ens::AdamUpdate(), 7500);
  CheckFading<arma::mat>(ens::MomentumUpdate(0.9), 7500);
  CheckFading<arma::fmat>(ens::AdamUpdate(), 1000);
  CheckFading<arma::fmat>(ens::MomentumUpdate(0.9), 1000);
}

TEST_CASE("In one pass, an update that is not finite is found", "[ahead]")
{
  constexpr size_t size = 3000;
  // In the first part, at its ends, and in the last one.
  for (const size_t at : { size_t(0), size_t(1023), size_t(1024), size - 1 })
  {
    ens::MomentumUpdate velocity(0.9);
    ens::MomentumUpdate::Policy<arma::mat, arma::mat> policy(velocity, size, 1);
    arma::mat gradient(size, 1, arma::fill::ones), x(size, 1);
    CHECK(dasgd::one_pass::Form(velocity, policy, 1.0, gradient, 1,
        x.memptr()));
    gradient(at) = 1e308;
    CHECK(!dasgd::one_pass::Form(velocity, policy, 100.0, gradient, 1,
        x.memptr()));
    x.zeros();
    CHECK(!dasgd::one_pass::Apply(velocity, policy, x, 100.0, gradient));

    // Divides by zero where nothing has ever been.
    ens::AdamUpdate adam(0);
    ens::AdamUpdate::Policy<arma::mat, arma::mat> average(adam, size, 1);
    gradient(at) = 1;
    CHECK(dasgd::one_pass::Form(adam, average, 1.0, gradient, 1, x.memptr()));
    ens::AdamUpdate::Policy<arma::mat, arma::mat> fresh(adam, size, 1);
    gradient(at) = 0;
    CHECK(!dasgd::one_pass::Form(adam, fresh, 1.0, gradient, 1, x.memptr()));
  }
}

TEST_CASE("In one pass, a policy of another shape is refused", "[ahead]")
{
  ens::AdamUpdate parameters;
  ens::AdamUpdate::Policy<arma::mat, arma::mat> policy(parameters, 3, 1);
  const arma::mat gradient(4, 1, arma::fill::ones);
  arma::mat update(4, 1);
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(dasgd::one_pass::Form(parameters, policy, 1.0, gradient, 1,
      update.memptr()), ContainsSubstring("was made for 3 elements") &&
      ContainsSubstring("the gradient has 4") &&
      ContainsSubstring("InstUpdatePolicy()"));
}

namespace {

//! What UpdateStep wants to know of an optimizer.
struct FixedStep
{
  double StepSize() const { return stepSize; }
};

//! An update that is formed for the board is not applied before it is posted;
//! one that is applied and shown is both.
template<typename UpdatePolicyType, bool vanilla = false>
void CheckForming(UpdatePolicyType parameters)
{
  INFO(dasgd::TypeName<UpdatePolicyType>());
  arma::mat iterate(elements, 1, arma::fill::ones), scratch, shown = iterate;
  arma::mat gradient = Gradients()[0];
  FixedStep optimizer;
  using PolicyType = typename UpdatePolicyType::template Policy<arma::mat,
      arma::mat>;
  PolicyType policy(parameters, elements, 1), other(parameters, elements, 1);
  using DecayType = ens::NoDecay::Policy<arma::mat, arma::mat>;
  ens::NoDecay none;
  DecayType decay(none);
  using StepType = dasgd::UpdateStep<FixedStep, arma::mat, UpdatePolicyType,
      ens::NoDecay, vanilla>;
  dasgd::StepScale scale;
  scale.factor = 0.25;
  scale.lookAhead = 2;
  const double* update = nullptr;
  double factor = 0;
  REQUIRE(StepType(optimizer, iterate, gradient, scratch, parameters, policy,
      decay).Form(1, scale, update, factor));
  CHECK(arma::all(arma::vectorise(iterate) == 1));
  arma::mat formed(update, elements, 1);
  formed *= factor;
  CHECK(arma::abs(formed).max() > 1e-3);

  arma::mat out(elements, 1);
  REQUIRE(StepType(optimizer, shown, gradient, scratch, parameters, other,
      decay).ApplyAndShow(1, scale, out.memptr(), nullptr, update));
  CHECK(arma::abs(arma::mat(update, elements, 1) - formed).max() < 1e-14);
  CHECK(arma::abs(1 - shown - formed).max() < 1e-14);
}

} // namespace

TEST_CASE("An update is formed without touching the iterate", "[ahead]")
{
  CheckForming(ens::AdamUpdate());
  CheckForming(ens::MomentumUpdate(0.9));
  CheckForming(ens::AMSGradUpdate());
  CheckForming(ens::RMSPropUpdate());
  CheckForming<ens::VanillaUpdate, true>(ens::VanillaUpdate());
}

TEST_CASE("Ranks in lockstep take the steps of the formula", "[ahead]")
{
  if (Ranks() > 1)
    return; // It would be the same on each.
  // Equal ranks, on a network that takes less than a gradient: a rank computes
  // on all of its own updates, and on those of others up to the round before.
  const size_t ranks = 4, rounds = 9;
  const double momentum = 0.7, ahead = 2, step = 0.05, start = 3;
  std::vector<double> velocity(ranks, 0), own(ranks, start), last(ranks, 0);
  for (size_t round = 0; round < rounds; ++round)
  {
    std::vector<double> update(ranks);
    for (size_t i = 0; i < ranks; ++i)
    {
      // Of x^2 / 2.
      const double gradient = own[i];
      velocity[i] = momentum * velocity[i] + gradient;
      const double left = std::pow(momentum, ahead);
      update[i] = step * (left * velocity[i] + (1 - left) / (1 - momentum) *
          gradient);
    }
    for (size_t i = 0; i < ranks; ++i)
    {
      own[i] -= update[i];
      for (size_t j = 0; j < ranks; ++j)
        own[i] -= (j == i) ? 0 : last[j];
    }
    last = update;
  }
  double expected = own[0];
  for (size_t j = 1; j < ranks; ++j)
    expected -= last[j];

  struct Parabola
  {
    size_t NumFunctions() const { return ranks * rounds; }
    void Shuffle() { }
    double Evaluate(const arma::mat& x, size_t, size_t)
    { return x[0] * x[0] / 2; }
    void Gradient(const arma::mat& x, size_t, arma::mat& gradient, size_t)
    { gradient = x; }
  };
  dasgd::SimCluster machine;
  machine.computeSeconds.assign(ranks, 1e-3);
  machine.link = [](size_t, size_t)
  {
    dasgd::SimLink link;
    link.latency = 1e-4;
    return link;
  };
  std::vector<Parabola> functions(ranks);
  arma::mat iterate(1, 1, arma::fill::value(start));
  dasgd::MomentumSGD optimizer(step, 1, ranks * rounds, -1, false,
      ens::MomentumUpdate(momentum));
  optimizer.Topology() = "complete";
  optimizer.LookAhead() = ahead;
  optimizer.StalenessDamping() = 0;
  dasgd::Simulate(optimizer, functions, iterate, machine);
  CHECK(iterate[0] == Approx(expected).epsilon(1e-12));
  CHECK(optimizer.Report().LookAhead() == ahead);
}

TEST_CASE("How far policies look ahead follows staleness", "[ahead]")
{
  for (const double rounds : { dasgd::Automatic, 0.0, 1.5 })
  {
    Probe probe(64 * Ranks(), 4);
    arma::mat iterate(4, 1, arma::fill::ones);
    dasgd::Adam optimizer(MeanStep(0.01, 4), 4, 0.9, 0.999, 1e-8,
        4 * 64 * Ranks(), -1);
    optimizer.LookAhead() = rounds;
    optimizer.Optimize(probe, iterate);
    CHECK(Same(iterate));
    const dasgd::Report& report = optimizer.Report();
    std::ostringstream text;
    text << report;
    const bool said = text.str().find("looked ahead by") != std::string::npos;
    CHECK(said == (Ranks() > 1 && rounds != 0));
    CHECK(report.damping == (Ranks() == 1 ? 0 : rounds == 0 ? 3 : 6));
    if (Ranks() == 1 || rounds == 0)
      CHECK(report.LookAhead() == 0);
    else if (rounds == dasgd::Automatic)
      CHECK(report.LookAhead() > 1);
    else
      CHECK(report.LookAhead() == rounds);
  }
}

TEST_CASE("A policy of the user's own is told how far to look, if it asks",
    "[ahead]")
{
  Probe probe(16 * Ranks(), 4);
  arma::mat iterate(4, 1, arma::fill::ones);
  dasgd::DASGD<OwnUpdate> optimizer(MeanStep(0.01, 4), 4, 16 * Ranks(), -1);
  optimizer.LookAhead() = 2.5;
  optimizer.Optimize(probe, iterate);
  CHECK(Same(iterate));
  CHECK(optimizer.UpdatePolicy().farthest == (Ranks() > 1 ? 2.5 : 0));
}

namespace {

//! Changes the momentum after each step, if it does.
struct Change
{
  bool changes;
  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType& optimizer, FunctionType&, MatType&)
  {
    if (changes)
      optimizer.UpdatePolicy().Momentum() = 0.2;
    return false;
  }
};

} // namespace

TEST_CASE("A callback that changes the momentum does not spoil the velocity",
    "[ahead]")
{
  if (Ranks() > 1)
    return; // It would be the same on each.
  // The function is flat from the second gradient on, so that models move by
  // what the velocities have left.
  struct Flat
  {
    size_t NumFunctions() const { return 40; }
    void Shuffle() { }
    double Evaluate(const arma::mat&, size_t, size_t) { return 0; }
    void Gradient(const arma::mat&, size_t, arma::mat& gradient, size_t)
    { gradient.set_size(1, 1); gradient[0] = (computed++ == 0) ? 1 : 0; }
    size_t computed = 0;
  };
  const auto train = [](const bool changes)
  {
    dasgd::SimCluster machine;
    machine.computeSeconds.assign(2, 1e-3);
    std::vector<Flat> functions(2);
    std::vector<Change> callbacks(2, Change{ changes });
    arma::mat iterate(1, 1, arma::fill::zeros);
    dasgd::MomentumSGD optimizer(0.1, 1, 40, -1, false,
        ens::MomentumUpdate(0.9));
    optimizer.StalenessDamping() = 0;
    dasgd::Simulate(optimizer, functions, iterate, machine, callbacks);
    return iterate[0];
  };
  // Policies of ensmallen 3 keep the momentum that they were made with.
  if (dasgd::ensmallen::copiesParameters)
    CHECK(train(true) == Approx(train(false)).epsilon(1e-12));
  else
    CHECK(std::abs(train(true)) < std::abs(train(false)));
}
