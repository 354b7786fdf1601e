/**
 * @file allreduce_sgd.hpp
 *
 * The mean of all gradients in each step.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_ALLREDUCE_SGD_HPP
#define DASGD_BASELINES_ALLREDUCE_SGD_HPP

#include "../algorithms/round_worker.hpp"

namespace dasgd {

/**
 * Synchronous mini-batch SGD: in every round each rank computes a gradient, all
 * are averaged by MPI_Allreduce(), and all ranks take the same step.  With n
 * ranks it does what ens::SGD does with n times the batch size, and waits for
 * the slowest rank in every round.
 */
struct AllreduceTraits
{
  static constexpr const char* Name() { return "AllreduceSGD"; }
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
