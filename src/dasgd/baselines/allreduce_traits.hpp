/**
 * @file allreduce_traits.hpp
 *
 * The mean of all gradients in each step.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_ALLREDUCE_TRAITS_HPP
#define DASGD_BASELINES_ALLREDUCE_TRAITS_HPP

#include "../algorithms/round_worker.hpp"

namespace dasgd {

//! Mini-batch SGD: one step for all, along the mean of all ranks' gradients.
struct AllreduceTraits
{
  static const char* Name() { return "AllreduceSGD"; }
  static constexpr Averaged averaged = Averaged::Gradients;

  //! It has no options of its own.
  struct Options { };
  static std::string Validate(const Options&) { return ""; }
  template<typename HandshakeType>
  static void Agree(const Options&, HandshakeType&) { }
  //! Gradients of each rank in a round.
  static size_t Period(const Options&) { return 1; }
  static OuterStep Outer(const Options&) { return OuterStep(); }
};

} // namespace dasgd

#endif
