/**
 * @file policy_memory.hpp
 *
 * What ensmallen's update policies remember from step to step.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_POLICY_MEMORY_HPP
#define DASGD_ENSMALLEN_POLICY_MEMORY_HPP

#include "ensmallen.hpp"

#include <cstdint>
#include <type_traits>

namespace dasgd {
namespace memory {

/**
 * A member of an instantiated policy, by number.  ensmallen keeps them private
 * and offers no way to save them.  But an explicit instantiation may name
 * private members, and a friend that it defines may hand them out.
 */
template<typename PolicyType, size_t index>
struct Member;

//! The numbers of members that looking ahead needs; those that a checkpoint
//! holds are numbered from 0 on.
constexpr size_t FirstMoment = 100;
constexpr size_t StepCount = 101;
constexpr size_t Variance = 102;

template<typename MemberType, typename MemberType::Type pointer>
struct Opener
{
  friend typename MemberType::Type Reach(MemberType) { return pointer; }
};

#define DASGD_MEMBER(POLICY, MAT, INDEX, TYPE, NAME) \
  template<> \
  struct Member<ens::POLICY::Policy<MAT, MAT>, INDEX> \
  { \
    using Type = TYPE ens::POLICY::Policy<MAT, MAT>::*; \
    friend Type Reach(Member); \
  }; \
  template struct Opener<Member<ens::POLICY::Policy<MAT, MAT>, INDEX>, \
      &ens::POLICY::Policy<MAT, MAT>::NAME>;

#define DASGD_VECTOR(POLICY, INDEX, NAME) \
  DASGD_MEMBER(POLICY, arma::mat, INDEX, arma::mat, NAME) \
  DASGD_MEMBER(POLICY, arma::fmat, INDEX, arma::fmat, NAME)

#define DASGD_NUMBER(POLICY, INDEX, NAME) \
  DASGD_MEMBER(POLICY, arma::mat, INDEX, size_t, NAME) \
  DASGD_MEMBER(POLICY, arma::fmat, INDEX, size_t, NAME)

// The names are those of ensmallen 2.21 to 3.11.  Later ones may differ; there
// policies start afresh, and do not look ahead, rather than that nothing
// compiles.
#if ENS_VERSION_MAJOR == 2 || \
    (ENS_VERSION_MAJOR == 3 && ENS_VERSION_MINOR <= 11)
DASGD_VECTOR(MomentumUpdate, 0, velocity)
DASGD_VECTOR(NesterovMomentumUpdate, 0, velocity)
DASGD_VECTOR(AdamUpdate, 0, m)
DASGD_VECTOR(AdamUpdate, 1, v)
DASGD_NUMBER(AdamUpdate, 2, iteration)
DASGD_VECTOR(AdaMaxUpdate, 0, m)
DASGD_VECTOR(AdaMaxUpdate, 1, u)
DASGD_NUMBER(AdaMaxUpdate, 2, iteration)
DASGD_VECTOR(AMSGradUpdate, 0, m)
DASGD_VECTOR(AMSGradUpdate, 1, v)
DASGD_VECTOR(AMSGradUpdate, 2, vImproved)
DASGD_NUMBER(AMSGradUpdate, 3, iteration)
DASGD_VECTOR(RMSPropUpdate, 0, meanSquaredGradient)
DASGD_VECTOR(AdaGradUpdate, 0, squaredGradient)

DASGD_VECTOR(MomentumUpdate, FirstMoment, velocity)
DASGD_VECTOR(NesterovMomentumUpdate, FirstMoment, velocity)
DASGD_VECTOR(QHUpdate, FirstMoment, velocity)
DASGD_VECTOR(YogiUpdate, FirstMoment, m)
#define DASGD_CORRECTED_AVERAGE(POLICY) \
  DASGD_VECTOR(POLICY, FirstMoment, m) \
  DASGD_NUMBER(POLICY, StepCount, iteration)
DASGD_CORRECTED_AVERAGE(AdamUpdate)
DASGD_CORRECTED_AVERAGE(AdaMaxUpdate)
DASGD_CORRECTED_AVERAGE(AMSGradUpdate)
DASGD_CORRECTED_AVERAGE(NadamUpdate)
DASGD_CORRECTED_AVERAGE(NadaMaxUpdate)
DASGD_CORRECTED_AVERAGE(OptimisticAdamUpdate)
DASGD_CORRECTED_AVERAGE(PadamUpdate)
DASGD_CORRECTED_AVERAGE(QHAdamUpdate)
DASGD_CORRECTED_AVERAGE(AdaBoundUpdate)
DASGD_CORRECTED_AVERAGE(AMSBoundUpdate)
DASGD_CORRECTED_AVERAGE(AdaBeliefUpdate)
#undef DASGD_CORRECTED_AVERAGE
DASGD_VECTOR(AdamUpdate, Variance, v)
DASGD_VECTOR(AdaBeliefUpdate, Variance, s)
#endif

#undef DASGD_NUMBER
#undef DASGD_VECTOR
#undef DASGD_MEMBER

template<typename Type, typename = void>
struct Exists : std::false_type { };
template<typename Type>
struct Exists<Type, std::void_t<decltype(sizeof(Type))>> : std::true_type { };

//! Call action(member) for each, in order.
template<size_t index = 0, typename PolicyType, typename ActionType>
void Visit(PolicyType& policy, ActionType&& action)
{
  if constexpr (Exists<Member<PolicyType, index>>::value)
  {
    action(policy.*Reach(Member<PolicyType, index>()));
    Visit<index + 1>(policy, action);
  }
}

} // namespace memory
} // namespace dasgd

#endif
