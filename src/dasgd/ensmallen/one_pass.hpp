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

//! Call compute(begin, end) for parts of `update` that fit the cache; false if
//! one of them is not finite.
template<typename ElemType, typename ComputeType>
bool ByParts(const ElemType* update,
             const size_t elements,
             ComputeType&& compute)
{
  constexpr size_t part = 1024;
  bool finite = true;
  for (size_t begin = 0; begin < elements; begin += part)
  {
    const size_t size = std::min(part, elements - begin);
    compute(begin, begin + size);
    finite = AllFinite(update + begin, size) && finite;
  }
  return finite;
}

/**
 * What look_ahead::Update() subtracts from the iterate, but for rounding.
 *
 * @param parameters What `policy` goes by.
 * @param update Where it is to stand.
 * @return False if it is not finite.
 */
template<typename UpdatePolicyType, typename PolicyType, typename MatType>
bool Form(const UpdatePolicyType& parameters,
          PolicyType& policy,
          const double step,
          const MatType& gradient,
          const double rounds,
          typename MatType::elem_type* const update)
{
  using ElemType = typename MatType::elem_type;
  const look_ahead::Weights weights = look_ahead::Mix<MatType>(parameters,
      policy, step, rounds);
  const ElemType left = ElemType(weights.left), in = ElemType(weights.after);
  const ElemType decay = ElemType(look_ahead::Decay(parameters, 0));
  const ElemType* const g = gradient.memptr();
  ElemType* const m = (policy.*Reach(memory::Member<PolicyType,
      memory::FirstMoment>())).memptr();

  if constexpr (std::is_same<UpdatePolicyType, ens::MomentumUpdate>::value)
  {
    const ElemType length = ElemType(step);
    return ByParts(update, gradient.n_elem, [=](const size_t begin,
                                                const size_t end)
    {
      for (size_t i = begin; i < end; ++i)
      {
        const ElemType velocity = decay * m[i] - length * g[i];
        update[i] = -(left * velocity + in * g[i]);
        m[i] = velocity;
      }
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
    return ByParts(update, gradient.n_elem, [=](const size_t begin,
                                                const size_t end)
    {
      for (size_t i = begin; i < end; ++i)
      {
        const ElemType mean = decay * m[i] + (1 - decay) * g[i];
        const ElemType square = beta2 * v[i] + (1 - beta2) * (g[i] * g[i]);
        update[i] = length * (left * mean + in * g[i]) /
            (std::sqrt(square) + epsilon);
        m[i] = mean;
        v[i] = square;
      }
    });
  }
}

} // namespace one_pass
} // namespace dasgd

#endif
