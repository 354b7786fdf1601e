/**
 * @file look_ahead.hpp
 *
 * Update policies that remember gradients, on several ranks: they look ahead to
 * where the model will be when their update is applied.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_LOOK_AHEAD_HPP
#define DASGD_OPTIMIZER_LOOK_AHEAD_HPP

#include "policy_memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace dasgd {
namespace look_ahead {

/**
 * How much of its gradients a policy remembers from step to step.
 *
 * Of MatType, since it is a private member that is reached for some types only;
 * see memory::Member.  SWATS is left out: it derives a step from its average.
 */
template<typename UpdatePolicyType, typename MatType>
constexpr bool Remembers()
{
  return memory::Exists<memory::Member<typename UpdatePolicyType::template
      Policy<MatType, MatType>, memory::FirstMoment>>::value;
}

//! Policies with a velocity call its decay Momentum(), those with an average
//! Beta1().
template<typename UpdatePolicyType>
auto Decay(const UpdatePolicyType& policy, int) -> decltype(policy.Beta1())
{ return policy.Beta1(); }
template<typename UpdatePolicyType>
auto Decay(const UpdatePolicyType& policy, long) -> decltype(policy.Momentum())
{ return policy.Momentum(); }

//! Is it a velocity, a sum of steps in place of an average of gradients?
template<typename UpdatePolicyType>
constexpr bool IsVelocity =
    std::is_same<UpdatePolicyType, ens::MomentumUpdate>::value ||
    std::is_same<UpdatePolicyType, ens::NesterovMomentumUpdate>::value;

//! By how many rounds a policy looks ahead by itself.
template<typename UpdatePolicyType>
constexpr double OwnRounds =
    std::is_same<UpdatePolicyType, ens::NesterovMomentumUpdate>::value ||
    std::is_same<UpdatePolicyType, ens::NadamUpdate>::value ||
    std::is_same<UpdatePolicyType, ens::NadaMaxUpdate>::value;

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
  return Remembers<UpdatePolicyType, MatType>() || Offered<
      typename UpdatePolicyType::template Policy<MatType, MatType>,
      MatType>::value;
}

/**
 * The step of a policy that is to look ahead by so many rounds of its rank.
 *
 * Let m be what the policy remembers, after this gradient g, and decay the
 * factor by which it shrinks in each step.  What m still has to give in the next
 * k rounds has the weight 1 - f, with f = decay^k.  The policy takes that from g
 * instead, and subtracts what it would with f m + (1 - f) g (for a velocity: g
 * stands for -step g / (1 - decay), which the velocity of a constant gradient
 * approaches).  With k = 1 heavy-ball momentum is Nesterov's.
 *
 * The policy's own code does it: g is mixed into m before, and taken out after,
 * so that m is then what it would have been.
 *
 * @param parameters What `policy` was made of.
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
  if constexpr (Remembers<UpdatePolicyType, MatType>())
  {
    using ElemType = typename MatType::elem_type;
    const double decay = Decay(parameters, 0);
    // A smaller part than this could not be found again in the sum.
    const double left = std::max(1e-3, std::pow(decay,
        std::max(0.0, rounds - OwnRounds<UpdatePolicyType>)));
    if (!(left < 1))
    {
      policy.Update(iterate, step, gradient);
      return;
    }
    // What g counts for before the policy's step, and after it.
    double before = 1 - left, after = 1 - left;
    using CountType = memory::Member<PolicyType, memory::StepCount>;
    if constexpr (IsVelocity<UpdatePolicyType>)
      before = after *= -step / (1 - decay);
    else if constexpr (memory::Exists<CountType>::value)
    {
      // Averages that begin with zero, and are corrected for that.
      const double steps = double(policy.*Reach(CountType()));
      before *= 1 - std::pow(decay, steps);
      after *= 1 - std::pow(decay, steps + 1);
    }

    MatType& moment = policy.*Reach(memory::Member<PolicyType,
        memory::FirstMoment>());
    ElemType* const m = moment.memptr();
    const ElemType* const g = gradient.memptr();
    const size_t elements = gradient.n_elem;
    const ElemType part = ElemType(left), in = ElemType(before),
        out = ElemType(after);
    if constexpr (std::is_same<UpdatePolicyType, ens::AdaBeliefUpdate>::value)
    {
      // Its variance is that of g around m, and not around what is mixed.
      ElemType* const s = (policy.*Reach(memory::Member<PolicyType,
          memory::Variance>())).memptr();
      const ElemType beta1 = ElemType(decay);
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
