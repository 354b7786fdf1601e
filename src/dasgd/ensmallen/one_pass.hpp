/**
 * @file one_pass.hpp
 *
 * The updates of Adam and of momentum in one pass over memory.  ensmallen's own
 * code reads and writes the same vectors several times, which takes as long as
 * the gradient of a small batch if the model does not fit the cache.
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
#include <stdexcept>
#include <string>
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
 * A mean whose gradients are 0, as those of pixels that are always black, fades
 * until it is a subnormal number, and stays one: in double precision from the
 * 6,700th step of Adam on.  Processors compute much slower with these, so a
 * mean that no longer matters becomes 0.
 */
template<typename ElemType>
ElemType Faded(const ElemType mean, const ElemType least)
{ return (std::abs(mean) < least) ? ElemType(0) : mean; }

//! What a policy remembers; it may have been made for another shape.
template<size_t index, typename PolicyType, typename MatType>
typename MatType::elem_type* Memory(PolicyType& policy, const MatType& gradient)
{
  auto& memory = policy.*Reach(memory::Member<PolicyType, index>());
  if (memory.n_elem != gradient.n_elem)
  {
    throw std::logic_error("DASGD: the update policy was made for " +
        std::to_string(memory.n_elem) + " elements, but the gradient has " +
        std::to_string(gradient.n_elem) + "; leave InstUpdatePolicy() as it "
        "is, or give it a policy of this size.");
  }
  return memory.memptr();
}

/**
 * A policy's step that looks ahead; see look_ahead::Update().
 *
 * @param parameters What `policy` was made with, or goes by.
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
  // So far above the subnormal numbers that products with it are none, either.
  constexpr ElemType least = std::numeric_limits<ElemType>::min() /
      std::numeric_limits<ElemType>::epsilon();
  const ElemType* const g = gradient.memptr();
  ElemType* const m = Memory<memory::FirstMoment>(policy, gradient);

  if constexpr (std::is_same<UpdatePolicyType, ens::MomentumUpdate>::value)
  {
    const ElemType length = ElemType(step);
    return byParts([=](const size_t i)
    {
      const ElemType velocity = Faded(decay * m[i] - length * g[i], least);
      put(i, -(left * velocity + in * g[i]));
      m[i] = velocity;
    });
  }
  else
  {
    ElemType* const v = Memory<memory::Variance>(policy, gradient);
    size_t& steps = policy.*Reach(memory::Member<PolicyType,
        memory::StepCount>());
    ++steps;
    const ElemType beta2 = ElemType(parameters.Beta2());
    ElemType epsilon = ElemType(parameters.Epsilon());
    if (epsilon == 0 && parameters.Epsilon() != 0)
      epsilon = 10 * std::numeric_limits<ElemType>::epsilon();
    // As the averages are, with decays that were rounded to elements.
    const ElemType length = ElemType(step *
        std::sqrt(1 - std::pow(double(beta2), double(steps))) /
        (1 - std::pow(double(decay), double(steps))));
    return byParts([=](const size_t i)
    {
      const ElemType mean = Faded(decay * m[i] + (1 - decay) * g[i], least);
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
