/**
 * @file asynchronous_baseline.hpp
 *
 * A baseline whose ranks go at their own pace.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_ASYNCHRONOUS_BASELINE_HPP
#define DASGD_BASELINES_ASYNCHRONOUS_BASELINE_HPP

#include "../dasgd/dasgd_algorithm.hpp"

namespace dasgd {

/**
 * An asynchronous algorithm that DASGD is compared with.  On one rank all of
 * them are the same.
 *
 * @tparam TraitsType See Asynchronous.
 */
template<typename TraitsType>
struct AsynchronousBaseline : public Asynchronous<TraitsType>
{
  //! See Asynchronous.
  template<typename ElemType>
  static void Run(const MpiCommunicator& comm,
                  const RunSettings& settings,
                  const typename TraitsType::Options& options,
                  const size_t elements,
                  RankTask<ElemType>& task,
                  Outcome& outcome)
  {
    if (comm.Size() > 1)
    {
      Asynchronous<TraitsType>::Run(comm, settings, options, elements, task,
          outcome);
    }
    else
    {
      DasgdAlgorithm::Run(comm, settings, DasgdAlgorithm::Options(), elements,
          task, outcome);
    }
  }
};

} // namespace dasgd

#endif
