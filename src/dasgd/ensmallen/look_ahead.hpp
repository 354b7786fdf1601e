/**
 * @file look_ahead.hpp
 *
 * Update policies that remember gradients, on several ranks: they look ahead to
 * where the model will be when their update is applied.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_LOOK_AHEAD_HPP
#define DASGD_ENSMALLEN_LOOK_AHEAD_HPP

#include "policy_memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace dasgd {
namespace look_ahead {

/**
 * Does an instantiated policy remember gradients, where they can be reached?
 * See memory::Member.  SWATS is left out: it derives a step from its average.
 */
template<typename PolicyType>
constexpr bool Remembers = memory::Exists<memory::Member<PolicyType,
    memory::FirstMoment>>::value;

//! Is it a policy of ensmallen, or derived from it?
template<typename PolicyType, typename UpdatePolicyType, typename MatType>
constexpr bool IsOf = std::is_same<PolicyType,
    typename UpdatePolicyType::template Policy<MatType, MatType>>::value;

//! Policies with a velocity call its decay Momentum(), those with an average
//! Beta1().
template<typename UpdatePolicyType>
auto Decay(const UpdatePolicyType& policy, int) -> decltype(policy.Beta1())
{ return policy.Beta1(); }
template<typename UpdatePolicyType>
auto Decay(const UpdatePolicyType& policy, long) -> decltype(policy.Momentum())
{ return policy.Momentum(); }

//! Is it a velocity, a sum of steps in place of an average of gradients?
template<typename PolicyType, typename MatType>
constexpr bool IsVelocity = IsOf<PolicyType, ens::MomentumUpdate, MatType> ||
    IsOf<PolicyType, ens::NesterovMomentumUpdate, MatType>;

//! By how many rounds a policy looks ahead by itself.
template<typename PolicyType, typename MatType>
constexpr double OwnRounds =
    IsOf<PolicyType, ens::NesterovMomentumUpdate, MatType> ||
    IsOf<PolicyType, ens::NadamUpdate, MatType> ||
    IsOf<PolicyType, ens::NadaMaxUpdate, MatType>;

//! Does a policy of the user's own look ahead, if it is told how far?
template<typename PolicyType, typename MatType, typename = void>
struct Offered : std::false_type { };
template<typename PolicyType, typename MatType>
struct Offered<PolicyType, MatType, std::void_t<
    decltype(std::declval<PolicyType&>().Update(std::declval<MatType&>(), 1.0,
        std::declval<const MatType&>(), 1.0))>> : std::true_type { };

//! Is there a form of the policy that looks ahead?
template<typename UpdatePolicyType, typename MatType>
constexpr bool Exists()
{
  using PolicyType = typename UpdatePolicyType::template Policy<MatType,
      MatType>;
  return Remembers<PolicyType> || Offered<PolicyType, MatType>::value;
}

//! What a policy that looks ahead subtracts in place of what it remembers.
struct Weights
{
  //! What it remembers, after this gradient, counts for.
  double left;
  //! What the gradient counts for besides: mixed in before the policy's own
  //! step, and in the result.
  double before, after;
};

/**
 * The weights of a policy that is to look ahead by so many rounds of its rank.
 *
 * Let m be what the policy remembers, after this gradient g, and decay the
 * factor by which it shrinks in each step.  What m still has to give in the
 * next k rounds has the weight 1 - f, with f = decay^k.  The policy takes that
 * from g instead, and subtracts what it would with f m + (1 - f) g (for a
 * velocity: g stands for -step g / (1 - decay), which the velocity of a
 * constant gradient approaches).  With k = 1 heavy-ball momentum is Nesterov's.
 *
 * @param parameters What `policy` goes by, before its step.
 */
template<typename MatType, typename UpdatePolicyType, typename PolicyType>
Weights Mix(const UpdatePolicyType& parameters,
            const PolicyType& policy,
            const double step,
            const double rounds)
{
  const double decay = Decay(parameters, 0);
  // A smaller part than this could not be found again in the sum.
  const double left = std::max(1e-3, std::pow(decay,
      std::max(0.0, rounds - OwnRounds<PolicyType, MatType>)));
  if (!(left < 1))
    return { 1, 0, 0 };
  Weights mix{ left, 1 - left, 1 - left };
  using CountType = memory::Member<PolicyType, memory::StepCount>;
  if constexpr (IsVelocity<PolicyType, MatType>)
    mix.before = mix.after *= -step / (1 - decay);
  else if constexpr (memory::Exists<CountType>::value)
  {
    // Averages that begin with zero, and are corrected for that.
    const double steps = double(policy.*Reach(CountType()));
    mix.before *= 1 - std::pow(decay, steps);
    mix.after *= 1 - std::pow(decay, steps + 1);
  }
  return mix;
}

/**
 * The step of a policy that is to look ahead by so many rounds of its rank; see
 * Mix().  The policy's own code does it: g is mixed into what it remembers
 * before, and taken out after, so that this is then what it would have been.
 *
 * @param parameters What `policy` goes by.
 */
template<typename UpdatePolicyType, typename PolicyType, typename MatType>
void Update(const UpdatePolicyType& parameters,
            PolicyType& policy,
            MatType& iterate,
            const double step,
            const MatType& gradient,
            const double rounds)
{
  (void) parameters;
  if constexpr (Remembers<PolicyType>)
  {
    using ElemType = typename MatType::elem_type;
    Weights mix = Mix<MatType>(parameters, policy, step, rounds);
    constexpr bool belief = IsOf<PolicyType, ens::AdaBeliefUpdate, MatType>;
    if constexpr (belief)
    {
      // Its variance has no past that could be corrected.
      if (parameters.Beta2() == 0)
        mix.left = 1;
    }
    if (!(mix.left < 1))
    {
      policy.Update(iterate, step, gradient);
      return;
    }

    MatType& moment = policy.*Reach(memory::Member<PolicyType,
        memory::FirstMoment>());
    ElemType* const m = moment.memptr();
    const ElemType* const g = gradient.memptr();
    const size_t elements = gradient.n_elem;
    const ElemType part = ElemType(mix.left), in = ElemType(mix.before),
        out = ElemType(mix.after);
    if constexpr (belief)
    {
      // Its variance is that of g around m, and not around what is mixed.
      ElemType* const s = (policy.*Reach(memory::Member<PolicyType,
          memory::Variance>())).memptr();
      const ElemType beta1 = ElemType(Decay(parameters, 0));
      const ElemType beta2 = ElemType(parameters.Beta2());
      const ElemType weight = (1 - beta2) / beta2;
      for (size_t i = 0; i < elements; ++i)
      {
        const ElemType mean = beta1 * m[i] + (1 - beta1) * g[i];
        const ElemType off = g[i] - mean;
        const ElemType offMixed = g[i] - part * mean - out * g[i];
        s[i] += weight * (off * off - offMixed * offMixed);
      }
    }
    for (size_t i = 0; i < elements; ++i)
      m[i] = part * m[i] + in * g[i];
    policy.Update(iterate, step, gradient);
    for (size_t i = 0; i < elements; ++i)
      m[i] = (m[i] - out * g[i]) / part;
  }
  else if constexpr (Offered<PolicyType, MatType>::value)
    policy.Update(iterate, step, gradient, rounds);
  else
  {
    (void) rounds;
    policy.Update(iterate, step, gradient);
  }
}

} // namespace look_ahead
} // namespace dasgd

#endif
