/**
 * @file one_pass.hpp
 *
 * The updates of Adam and of momentum in one pass over memory.  ensmallen's own
 * code reads and writes the same vectors several times, and a model that does
 * not fit the cache is then slower to update than to compute a gradient of.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_ONE_PASS_HPP
#define DASGD_ENSMALLEN_ONE_PASS_HPP

#include "../core/vector_ops.hpp"
#include "look_ahead.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace dasgd {
namespace one_pass {

//! Is there such a form of the policy?
template<typename UpdatePolicyType, typename MatType>
constexpr bool Exists()
{
  using PolicyType = typename UpdatePolicyType::template Policy<MatType,
      MatType>;
  return look_ahead::Remembers<PolicyType> &&
      (std::is_same<UpdatePolicyType, ens::AdamUpdate>::value ||
       std::is_same<UpdatePolicyType, ens::MomentumUpdate>::value);
}

/**
 * A policy's step that looks ahead; see look_ahead::Update().
 *
 * @param parameters What `policy` goes by.
 * @param put Called as put(i, u) with each element u of the update.
 * @param result What is checked, part by part, after put().
 * @return False if the result is not finite.
 */
template<typename UpdatePolicyType,
         typename PolicyType,
         typename MatType,
         typename PutType>
bool Update(const UpdatePolicyType& parameters,
            PolicyType& policy,
            const double step,
            const MatType& gradient,
            const double rounds,
            PutType&& put,
            const typename MatType::elem_type* const result)
{
  using ElemType = typename MatType::elem_type;
  // A part fits the cache.
  const auto byParts = [&](const auto& compute)
  {
    constexpr size_t part = 1024;
    bool finite = true;
    for (size_t begin = 0; begin < gradient.n_elem; begin += part)
    {
      const size_t size = std::min<size_t>(part, gradient.n_elem - begin);
      for (size_t i = begin; i < begin + size; ++i)
        compute(i);
      finite = AllFinite(result + begin, size) && finite;
    }
    return finite;
  };
  const look_ahead::Weights mix = look_ahead::Mix<MatType>(parameters, policy,
      step, rounds);
  const ElemType left = ElemType(mix.left), in = ElemType(mix.after);
  const ElemType decay = ElemType(look_ahead::Decay(parameters, 0));
  const ElemType* const g = gradient.memptr();
  ElemType* const m = (policy.*Reach(memory::Member<PolicyType,
      memory::FirstMoment>())).memptr();

  if constexpr (std::is_same<UpdatePolicyType, ens::MomentumUpdate>::value)
  {
    const ElemType length = ElemType(step);
    return byParts([=](const size_t i)
    {
      const ElemType velocity = decay * m[i] - length * g[i];
      put(i, -(left * velocity + in * g[i]));
      m[i] = velocity;
    });
  }
  else
  {
    ElemType* const v = (policy.*Reach(memory::Member<PolicyType,
        memory::Variance>())).memptr();
    size_t& steps = policy.*Reach(memory::Member<PolicyType,
        memory::StepCount>());
    ++steps;
    const ElemType beta2 = ElemType(parameters.Beta2());
    ElemType epsilon = ElemType(parameters.Epsilon());
    if (epsilon == 0 && parameters.Epsilon() != 0)
      epsilon = 10 * std::numeric_limits<ElemType>::epsilon();
    const ElemType length = ElemType(step *
        std::sqrt(1 - std::pow(parameters.Beta2(), double(steps))) /
        (1 - std::pow(parameters.Beta1(), double(steps))));
    return byParts([=](const size_t i)
    {
      const ElemType mean = decay * m[i] + (1 - decay) * g[i];
      const ElemType square = beta2 * v[i] + (1 - beta2) * (g[i] * g[i]);
      put(i, length * (left * mean + in * g[i]) /
          (std::sqrt(square) + epsilon));
      m[i] = mean;
      v[i] = square;
    });
  }
}

//! What look_ahead::Update() subtracts from the iterate, but for rounding;
//! false if it is not finite.
template<typename UpdatePolicyType, typename PolicyType, typename MatType>
bool Form(const UpdatePolicyType& parameters,
          PolicyType& policy,
          const double step,
          const MatType& gradient,
          const double rounds,
          typename MatType::elem_type* const update)
{
  return Update(parameters, policy, step, gradient, rounds,
      [update](const size_t i, const typename MatType::elem_type u)
      { update[i] = u; }, update);
}

//! The policy's own step; false if the iterate is not finite then.
template<typename UpdatePolicyType, typename PolicyType, typename MatType>
bool Apply(const UpdatePolicyType& parameters,
           PolicyType& policy,
           MatType& iterate,
           const double step,
           const MatType& gradient)
{
  typename MatType::elem_type* const x = iterate.memptr();
  return Update(parameters, policy, step, gradient, 0,
      [x](const size_t i, const typename MatType::elem_type u) { x[i] -= u; },
      x);
}

} // namespace one_pass
} // namespace dasgd

#endif
