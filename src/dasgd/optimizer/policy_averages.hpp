/**
 * @file policy_averages.hpp
 *
 * Update policies that average over gradients, when there are several ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_POLICY_AVERAGES_HPP
#define DASGD_OPTIMIZER_POLICY_AVERAGES_HPP

#include "ensmallen.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>

namespace dasgd {

/**
 * Does an update policy keep two running averages of gradients, as Adam does?
 * Not SWATS: it derives a step size from its average.
 */
template<typename PolicyType, typename = void>
struct AveragesLikeAdam : std::false_type { };
template<typename PolicyType>
struct AveragesLikeAdam<PolicyType, std::void_t<
    decltype(std::declval<PolicyType&>().Beta1() = 0.5),
    decltype(std::declval<PolicyType&>().Beta2() = 0.5)>> : std::true_type { };
template<>
struct AveragesLikeAdam<ens::SWATSUpdate> : std::false_type { };
template<typename PolicyType>
struct AveragesLikeAdam<ens::GradientClipping<PolicyType>> :
    AveragesLikeAdam<PolicyType> { };

/**
 * A policy averages over the gradients of its rank, which are one of n.  So that
 * the mean gradient is as fresh as on one rank, its average is as long as there,
 * counted in gradients of all ranks: it decays by the n-th power for each of its
 * own.  The mean square changes slowly and gains from a long average.
 */
template<typename PolicyType>
void ShortenAverage(PolicyType& policy, const size_t ranks)
{ policy.Beta1() = std::pow(policy.Beta1(), double(ranks)); }

template<typename PolicyType>
void ShortenAverage(ens::GradientClipping<PolicyType>& policy,
                    const size_t ranks)
{ ShortenAverage(policy.UpdatePolicy(), ranks); }

/**
 * The update policy that each rank runs: the user's own, or a copy of it with a
 * shorter average.
 */
template<typename PolicyType>
class PolicyForRanks
{
 public:
  /**
   * @param given The user's; it must outlive what is made of it.
   * @param shorten Is this an algorithm whose ranks apply each other's steps?
   */
  PolicyType& Choose(PolicyType& given, const size_t ranks, const bool shorten)
  {
    if constexpr (AveragesLikeAdam<PolicyType>::value)
    {
      if (shorten && ranks > 1)
      {
        copy.emplace(given);
        ShortenAverage(*copy, ranks);
        return *copy;
      }
    }
    (void) ranks;
    (void) shorten;
    return given;
  }

 private:
  std::optional<PolicyType> copy;
};

} // namespace dasgd

#endif
